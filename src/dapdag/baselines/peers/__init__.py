"""What a user who knows of sites would set up: random effects, or the sites' moments as columns."""

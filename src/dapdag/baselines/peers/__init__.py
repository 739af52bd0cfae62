"""Boosting as a user who knows of sites would set it up: random effects, or the sites' moments."""

"""Off-the-shelf models on the pooled rows of all sources."""

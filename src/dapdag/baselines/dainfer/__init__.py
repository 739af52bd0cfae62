"""DA-Infer (Zhang et al. 2020): a graph over features, label and domain, then inference on it."""

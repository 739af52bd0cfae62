"""Validation as biostatisticians report it: statistics with intervals, pooled over sites."""

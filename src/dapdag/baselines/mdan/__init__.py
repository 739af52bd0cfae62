"""MDAN (Zhao et al. 2018): features that a classifier of domains cannot tell apart."""

"""Hyper-parameters of the baselines, chosen by leaving sources out."""

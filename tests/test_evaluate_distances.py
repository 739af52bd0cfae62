"""Distances between domains: of means, and of whole tables by optimal transport."""

import numpy as np
import pandas as pd
import pytest

from dapdag.datasets import DomainData
from dapdag.evaluate.distances import (
    describe_targets,
    mean_difference,
    sinkhorn_distance,
    sinkhorn_divergences,
)


def test_difference_of_means():
    rng = np.random.default_rng(0)
    a, shift = rng.normal(size=(1000, 2)), np.array([2, 0])
    assert mean_difference(a, a) == 0
    assert mean_difference(a + shift, a) == pytest.approx(1.0, abs=0.02)
    holes = a.copy()
    holes[:, 1] = np.nan
    assert mean_difference(holes + shift, a) == pytest.approx(2.0, abs=0.04)
    assert np.isnan(mean_difference(a * np.nan, a))


def test_the_shifted_domain_is_farthest():
    pytest.importorskip("ot", reason="POT (extra: bench) is not installed")
    domain = np.repeat(np.arange(4), 50)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["x1", "x2"])
    X.loc[domain == 2, "x1"] += 3
    X["kind"] = pd.Categorical(np.where(domain == 2, "new", "old"))
    X.loc[::7, "kind"] = None
    X.loc[::5, "x2"] = np.nan
    data = DomainData(X, pd.Series(rng.normal(size=200), name="y"), domain, "regression", "small")
    found = describe_targets(data, data.domains)
    assert found["smd"].idxmax() == 2
    assert found["sinkhorn"].idxmax() == 2
    assert (found["sinkhorn"] >= 0).all()
    assert found["missing"].between(0.1, 0.2).all()
    assert found["n_rows"].tolist() == [50] * 4


def test_heavy_tails_have_a_distance_too():
    pytest.importorskip("ot", reason="POT (extra: bench) is not installed")
    rng = np.random.default_rng(0)
    clouds = [rng.standard_cauchy(size=(60, 7)) for _ in range(4)]
    found = sinkhorn_divergences(clouds)
    assert np.isfinite(found).all() and (found[~np.eye(4, dtype=bool)] > 0).all()


def test_sinkhorn_distance_of_shifted_rows_is_the_shift():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    assert sinkhorn_distance(rows, rows + np.array([30.0, 0.0, 0.0])) == pytest.approx(30, rel=0.02)
    assert sinkhorn_distance(rows, rows + 5) == pytest.approx(sinkhorn_distance(rows + 5, rows))
    assert sinkhorn_distance(np.ones((5, 2)), np.ones((4, 2))) == 0


def test_sinkhorn_distance_survives_far_outliers():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    far = rows.copy()
    far[0] = 1e4
    exact = np.sqrt(((far - rows) ** 2).sum(1).mean())
    assert sinkhorn_distance(rows, far) == pytest.approx(exact, rel=0.05)

"""Estimates that decide which parent sets are scored in full."""

import numpy as np
import pandas as pd
import pytest

from dapdag.datasets import make_random_sem_domains
from dapdag.structure import constants as c
from dapdag.structure.columns import encode
from dapdag.structure.dictionary import fit_features
from dapdag.structure.parent_sets import score_parents
from dapdag.structure.summary import summarise
from dapdag.structure.targets import target_of


def _features(seed, binary=False):
    data = make_random_sem_domains(n_variables=6, n_domains=4, n_samples=200, random_state=seed)
    X = data.X.assign(**{data.y.name: data.y})
    if binary:
        X = X.assign(**{name: X[name] > X[name].median() for name in list(X)[:3]})
    return fit_features(encode(summarise(X, data.sample_domain).table(), seed=0))


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_screening_keeps_the_best_parent_sets(monkeypatch, seed, binary):
    features = _features(seed, binary)
    d = features.table.n_columns
    others = [tuple(k for k in range(d) if k != j) for j in range(d)]
    quick = [score_parents(features, j, others[j], (), 4) for j in range(d)]
    monkeypatch.setattr(c, "SCREEN_MARGIN", np.inf)
    whole = [score_parents(features, j, others[j], (), 4) for j in range(d)]
    for a, b in zip(quick, whole, strict=True):
        assert a.best_within[1][-1] == b.best_within[1][-1]
        assert a.raw.max() == pytest.approx(b.raw.max(), abs=1e-6)


def test_an_estimate_shows_a_parent_that_adds_and_one_that_does_not():
    rng = np.random.default_rng(0)
    a, b, noise = rng.normal(size=(3, 600))
    X = pd.DataFrame({"a": a, "b": b, "z": noise, "y": a + b + 0.5 * rng.normal(size=600)})
    table = encode(summarise(X, np.repeat([0, 1, 2], 200)).table(), seed=0)
    number = {name: k for k, name in enumerate(table.names)}
    target = number["y"]
    candidates = tuple(k for k in range(4) if k != target)
    scorer = target_of(fit_features(table), target, candidates)
    scorer.scores([()])
    alone = scorer.scores([(k,) for k in candidates]).max()
    useful = tuple(sorted((number["a"], number["b"])))
    useless = tuple(sorted((number["a"], number["z"])))
    estimate = scorer.estimates([useful, useless])
    score = scorer.scores([useful, useless])
    assert estimate[0] > alone + 100 and score[0] > alone + 100
    assert estimate[1] < alone
    assert estimate[1] == pytest.approx(score[1], abs=3.0)


def test_only_further_parents_of_an_approximate_mechanism_cost_evidence():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 600))
    y = np.tanh(3 * a) + np.tanh(3 * b) + 0.1 * rng.normal(size=600)
    table = encode(summarise(pd.DataFrame({"a": a, "b": b, "y": y}), None).table(), seed=0)
    target = table.names.index("y")
    both = tuple(k for k in range(3) if k != target)
    scorer = target_of(fit_features(table), target, both)
    for parents, share in ((both[:1], 0.0), (both, c.MISFIT)):
        value = scorer.model(parents)[1].value[0]
        gained = value - scorer.model(())[1].value[0]
        assert scorer.scores([parents])[0] == pytest.approx(value - share * gained, abs=1e-6)


def test_scales_compete_under_the_same_noise():
    """Noise that differs between sites must not decide for the scale on which it was tried."""
    rng = np.random.default_rng(0)
    site, x = np.repeat(np.arange(4), 150), rng.normal(size=600)
    noise = np.array([0.1, 0.3, 1.0, 2.0])[site] * rng.normal(size=600)
    X = pd.DataFrame({"x": x, "y": np.exp(0.4 * (x + noise))})
    table = encode(summarise(X, site).table(), seed=0)
    y = table.names.index("y")
    _, choice = target_of(fit_features(table), y, (1 - y,)).model((1 - y,))
    assert choice.target[0] == 1
    assert choice.unequal_noise[0]

"""Evidence of binary and categorical variables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import dblquad

from dapdag.structure import constants as c
from dapdag.structure.columns import encode
from dapdag.structure.dictionary import build_dictionary, fit_features
from dapdag.structure.discrete import discrete_evidence, discrete_rows
from dapdag.structure.summary import summarise


def _dictionary(n_levels, n_rows=300, n_sites=3, effect=1.0):
    rng = np.random.default_rng(n_levels)
    site = np.repeat(np.arange(n_sites), n_rows // n_sites)
    a, b = rng.normal(size=(2, n_rows))
    logits = effect * np.outer(a, rng.normal(size=n_levels))
    y = (logits + rng.gumbel(size=(n_rows, n_levels))).argmax(axis=1)
    X = pd.DataFrame({"a": a, "b": b, "y": [f"level {k}" for k in y]})
    table = encode(summarise(X, site).table(), seed=0)
    names = list(table.names)
    j = names.index("y")
    others = tuple(sorted((names.index("a"), names.index("b"))))
    return build_dictionary(fit_features(table), j, others, c.N_PRODUCTS)


def test_evidence_without_parents_is_the_integral_over_the_shares():
    dictionary = _dictionary(3, n_sites=1)
    rows = discrete_rows(dictionary)
    count = np.bincount(rows.code)
    contrasts = np.array([[2, -1, -1], [0, 1, -1]]).T / np.sqrt([6, 2])
    sd = np.sqrt(c.INTERCEPT_VARIANCE / 2)
    peak = count @ np.log(count / count.sum())

    def density(s, t):
        logits = contrasts @ [s, t]
        fit = count @ (logits - np.log(np.exp(logits).sum())) - peak
        return np.exp(fit - 0.5 * (s**2 + t**2) / sd**2) / (2 * np.pi * sd**2)

    integral = dblquad(density, -2, 2, -2, 2, epsabs=1e-12)[0]
    assert discrete_evidence(dictionary, rows, ())[0] == pytest.approx(
        peak + np.log(integral), abs=0.02
    )


@pytest.mark.parametrize("n_levels", [2, 3, 5])
@pytest.mark.parametrize("parents", [(), (0,), (0, 1)])
def test_evidence_does_not_depend_on_the_numbers_of_the_levels(n_levels, parents):
    dictionary = _dictionary(n_levels)
    rows = discrete_rows(dictionary)
    turned = replace(rows, code=(rows.code + 1) % n_levels)
    expected = discrete_evidence(dictionary, rows, parents)
    assert discrete_evidence(dictionary, turned, parents) == pytest.approx(expected, abs=0.01)


def test_the_cause_of_a_categorical_variable_has_the_highest_evidence():
    dictionary = _dictionary(4, effect=2.0)
    rows = discrete_rows(dictionary)
    a = dictionary.features.table.names.index("a")
    best = {p: discrete_evidence(dictionary, rows, p).max() for p in ((), (0,), (1,), (0, 1))}
    cause = (dictionary.candidates.index(a),)
    assert best[cause] > best[()] + 30
    assert max(best, key=best.get) == cause


def test_alike_rows_count_once():
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=(2, 300))
    y = np.where(rng.random(300) < 0.7, a, b)
    X = pd.DataFrame({"a": a, "b": b, "y": y}).astype(str)
    table = encode(summarise(X, np.repeat([0, 1], 150)).table(), seed=0)
    dictionary = build_dictionary(fit_features(table), 2, (0, 1), c.N_PRODUCTS)
    rows = discrete_rows(dictionary)
    each = replace(rows, parent_codes=np.full_like(rows.parent_codes, -1))
    expected = discrete_evidence(dictionary, each, (0, 1))
    assert discrete_evidence(dictionary, rows, (0, 1)) == pytest.approx(expected, abs=1e-3)

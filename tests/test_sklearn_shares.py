"""What a prediction consists of is said in numbers and in words; effects have a sign."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dapdag import DAPDAGRegressor
from dapdag._sklearn.shares import (
    DOES_NOT_ADAPT,
    between_sites_in_words,
    parts_in_words,
    prediction_parts,
)
from dapdag.inference.recalibration import Calibration

N = 240


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=N)
    X = pd.DataFrame({"cause": cause, "falls": -2 * cause + 0.3 * rng.normal(size=N)})
    y = X["falls"].to_numpy() + 0.5 * rng.normal(size=N)
    site = np.repeat([0, 1, 2], N // 3)
    return DAPDAGRegressor(n_members=1, hidden=8, max_epochs=40).fit(X, y, sample_domain=site)


def with_weights(model, weights):
    """The same model, its experts with other weights."""
    combination = replace(model.fitted_.model.combination, weights=np.array(weights))
    fitted = replace(model.fitted_, model=replace(model.fitted_.model, combination=combination))
    other = DAPDAGRegressor(**model.get_params())
    other._adopt(fitted, model.sources_)
    return other


@pytest.mark.parametrize(
    "weights, adapts, words",
    [
        ([1.0, 0.0, 0.0], False, f"Prediction: 100 % networks without E.\nT{DOES_NOT_ADAPT[1:]}."),
        ([0.7, 0.3, 0.0], True, "Prediction: 70 % networks without E and 30 % networks with E."),
        ([0.0, 0.0, 1.0], True, "Prediction: 100 % the graph."),
    ],
)
def test_shares_of_the_experts_are_told(model, weights, adapts, words):
    other = with_weights(model, weights)
    found = prediction_parts(other)
    assert list(found["experts"].values()) == weights == other.expert_weights_.tolist()
    assert found["adapts"] is adapts and 0 <= found["site_slope"] <= 1 and found["tau2"] >= 0
    assert parts_in_words(other) == words


@pytest.mark.parametrize(
    "calibration, words",
    [
        (Calibration(np.zeros(1)), "Between sites: too few sources to leave any out."),
        (
            Calibration(np.zeros(1), slope=0.8, tau2=0.25, n_sites=3),
            r"Between sites \(3 left out\): slope 0.80 of the mean, deviation left \S+\.",
        ),
    ],
)
def test_what_is_known_about_new_sites_is_told(model, calibration, words):
    fitted = replace(model.fitted_, model=replace(model.fitted_.model, calibration=calibration))
    other = DAPDAGRegressor(**model.get_params())
    other._adopt(fitted, model.sources_)
    assert re.fullmatch(words, between_sites_in_words(other))


def test_effects_have_the_sign_of_the_slope(model):
    graph = model.graph_
    assert {frozenset(edge) for edge in graph.edges} >= {frozenset(["cause", "falls"])}
    for a, b, effect in graph.edges(data="effect"):
        assert (effect < 0) == ({a, b} == {"cause", "falls"} or {a, b} == {"cause", "y"}), (a, b)
    assert min(abs(effect) for *_, effect in graph.edges(data="effect")) > 0

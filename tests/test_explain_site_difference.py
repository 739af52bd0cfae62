"""Why a site differs: parts that add up, and that are the true ones where they are known."""

import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from test_site_model import classes, numbers  # noqa: F401

from dapdag import DAPDAGRegressor
from dapdag.explain import site_difference
from dapdag.explain.site_difference import shapley_values

SITES, N = 16, 200


def simulated(rng, case_mix, shift):
    """Y = X + shift + noise, where the shift of a site also shows in two other columns."""
    x = rng.normal(case_mix, 1.0, N)
    marks = {f"Z{k}": rng.normal(shift, 0.5, N) for k in (1, 2)}
    return pd.DataFrame({"X": x, **marks}), x + shift + rng.normal(0, 0.3, N)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    sites = [simulated(rng, *rng.normal(size=2)) for _ in range(SITES)]
    X = pd.concat([s[0] for s in sites], ignore_index=True)
    y = pd.Series(np.concatenate([s[1] for s in sites]), name="Y")
    graph = nx.DiGraph([("X", "Y")])
    graph.add_nodes_from(["Z1", "Z2"])
    est = DAPDAGRegressor(structure=graph, max_epochs=100, hidden=8, n_predictors=2)
    return est.fit(X, y, sample_domain=np.repeat(range(SITES), N))


@pytest.mark.parametrize(
    ("case_mix", "shift"), [(1.0, 0.0), (0.0, 1.0), (1.0, -1.0)], ids=["rows", "E", "both"]
)
def test_the_parts_are_the_true_ones(model, case_mix, shift):
    rng = np.random.default_rng(1)
    reference, site = simulated(rng, 0.0, 0.0)[0], simulated(rng, case_mix, shift)[0]
    found = site_difference(model, site, reference)
    parts = found.parts["contribution"]
    # the label's shift by E reaches the prediction through E and through the columns that show it
    assert parts.sum() == pytest.approx(found.difference, abs=1e-6)
    assert found.difference == pytest.approx(case_mix + shift, abs=0.3)
    if shift == 0:
        assert parts["case mix"] == pytest.approx(case_mix, abs=0.3)
        assert abs(parts["E"]) < 0.3
    if case_mix == 0:
        assert parts["E"] > 0.5 * shift
    assert (found.parts["sd"] >= 0).all() and (found.parts["sd"] < 0.3).all()


def test_a_site_does_not_differ_from_itself(numbers):  # noqa: F811
    est, X, _ = numbers
    found = site_difference(est, X, reference=X)
    assert found.difference == 0
    assert (found.parts["contribution"] == 0).all()


@pytest.mark.filterwarnings("ignore::dapdag.warnings.ContradictionWarning")
def test_parts_add_up_for_classes_and_for_known_sites(classes):  # noqa: F811
    est, X, y = classes
    site, reference = est.at(X[:60], y[:60]), est.at(X[60:])
    found = site_difference(est, site, reference, of=1)
    assert found.parts["contribution"].sum() == pytest.approx(found.difference, abs=1e-9)
    assert found.site == pytest.approx(site.predict_proba(X[:60])[:, 1].mean(), abs=1e-5)
    assert found.of == 1 and "share of 1" in found.sentence()
    parts = found.sentence().partition("comes from")[2]
    decimals = [len(d) for d in re.findall(r"\d\.(\d+)", parts)]
    assert len(decimals) > 1 and len(set(decimals)) == 1 and "e" not in parts.split("(")[1]
    other = site_difference(est, site, reference, of=0)
    assert other.difference == pytest.approx(-found.difference, abs=1e-9)


def test_what_is_refused(numbers, classes):  # noqa: F811
    est, X, _ = numbers
    with pytest.raises(ValueError, match="of='a' names a class, and 'Y' is a number"):
        site_difference(est, X, X, of="a")
    with pytest.raises(ValueError, match="of=9 is no class of 'died'"):
        site_difference(classes[0], classes[1], classes[1], of=9)
    with pytest.raises(ValueError, match="a site of another model"):
        site_difference(est, X, classes[0].at(classes[1]))


class Game:
    """Worth of coalitions, for the arithmetic alone."""

    def scores(self, coalition):
        bits = [coalition >> k & 1 for k in range(10)]
        return np.array([3.0 * bits[0] + bits[1] * bits[2] + bits[8]])


@pytest.mark.parametrize("n", [3, 10])
def test_shapley_values_of_a_known_game(n):
    game = Game()
    weights = shapley_values(game, n, np.random.default_rng(0))
    found = sum(w * (game.scores(a) - game.scores(b)) for (a, b), w in weights.items())
    expected = np.zeros(n)
    expected[:3] = 3.0, 0.5, 0.5
    if n > 8:
        expected[8] = 1.0
    np.testing.assert_allclose(found, expected, atol=1e-9 if n == 3 else 0.2)
    np.testing.assert_allclose(found.sum(), expected.sum())

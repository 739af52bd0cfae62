"""Parent sets next to those of the best graph."""

import numpy as np
import pandas as pd
import pytest

from dapdag.structure.columns import encode
from dapdag.structure.dictionary import fit_features
from dapdag.structure.parent_sets import score_parents
from dapdag.structure.parents import ParentScores
from dapdag.structure.refinement import Refinement
from dapdag.structure.summary import summarise


@pytest.fixture(scope="module")
def products():
    """Two causes of y that act by their product only, with another sign at each site, and noise."""
    rng = np.random.default_rng(0)
    site = np.repeat([0, 1, 2], 200)
    a, b, noise = rng.normal(size=(3, 600))
    y = 0.5 * a + np.array([1.0, -1.0, 0.8])[site] * a * b + rng.normal(size=600)
    X = pd.DataFrame({"a": a, "b": b, "noise": noise, "y": y})
    return fit_features(encode(summarise(X, site).table(), seed=0))


def _refined(features, allowed=None, max_parents=6):
    names = features.table.names
    a, y = names.index("a"), names.index("y")
    scores = score_parents(features, y, (a,), (), max_parents)
    everything = np.ones(len(names), dtype=bool)
    refinement = Refinement.of(features)
    return scores, refinement.refine(
        y, scores, (a,), everything if allowed is None else allowed, (), max_parents
    )


def test_a_cause_that_screening_missed_is_found_in_the_residuals(products):
    names = products.table.names
    before, after = _refined(products)
    b = names.index("b")
    assert b not in before.candidates and b in after.candidates
    pair = after.mask(tuple(sorted((names.index("a"), b))))
    assert after.raw[pair] > before.raw.max() + 50
    assert names.index("noise") not in after.candidates


def test_only_what_is_allowed_is_added(products):
    names = products.table.names
    allowed = np.array([name != "b" for name in names])
    assert names.index("b") not in _refined(products, allowed)[1].candidates
    assert names.index("b") not in _refined(products, max_parents=1)[1].candidates


def test_subsets_that_the_beam_left_out_are_scored(products):
    names = products.table.names
    y = names.index("y")
    both = tuple(sorted((names.index("a"), names.index("b"))))
    scores = score_parents(products, y, both, (), 6)
    forgotten = scores.raw.copy()
    forgotten[1] = -np.inf
    holed = ParentScores(scores.candidates, forgotten, scores.penalty, scores.models)
    everything = np.ones(len(names), dtype=bool)
    again = Refinement.of(products).refine(y, holed, both, everything, (), 6)
    assert again.raw[1] == pytest.approx(scores.raw[1], abs=1e-6)


def test_more_candidates_keep_the_scores_of_the_known_sets():
    raw = np.array([0.0, 1.0, 2.0, 3.0])
    more = ParentScores((2, 5), raw, 1.0).with_candidates([3, 5])
    assert more.candidates == (2, 3, 5)
    for own, value in (((), 0.0), ((2,), 1.0), ((5,), 2.0), ((2, 5), 3.0)):
        assert more.raw[more.mask(own)] == value
    assert more.raw[more.mask((3,))] == -np.inf
    assert more.penalty == 1.0


def test_a_cause_takes_the_place_of_a_parent_that_stands_for_it():
    rng = np.random.default_rng(1)
    a, b, cause = rng.normal(size=(3, 600))
    proxy = cause + 0.7 * rng.normal(size=600)
    y = a + b + cause + 0.5 * rng.normal(size=600)
    X = pd.DataFrame({"a": a, "b": b, "cause": cause, "proxy": proxy, "y": y})
    features = fit_features(encode(summarise(X, np.repeat([0, 1], 300)).table(), seed=0))
    place = features.table.names.index
    parents = tuple(sorted(map(place, ("a", "b", "proxy"))))
    scores = score_parents(features, place("y"), parents, (), 3)
    everything = np.ones(len(X.columns), dtype=bool)
    after = Refinement.of(features).refine(place("y"), scores, parents, everything, (), 3)
    causes = tuple(sorted(map(place, ("a", "b", "cause"))))
    assert after.raw[after.mask(causes)] > after.raw[after.mask(parents)] + 100

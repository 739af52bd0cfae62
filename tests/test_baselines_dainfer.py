"""DA-Infer: what changes is found, the target's θ is inferred, and both improve the prediction."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import log_loss

from dapdag.baselines.dainfer.estimator import DAInferClassifier, DAInferRegressor

N_SOURCES, ROWS = 6, 150
QUICK: dict[str, Any] = {"n_steps": 600, "hidden": 8}


@dataclass(frozen=True)
class Case:
    """Sources, and the last domain as the target."""

    X: pd.DataFrame
    y: pd.Series
    domain: np.ndarray

    @property
    def is_target(self) -> np.ndarray:
        return self.domain < 0

    @property
    def target(self) -> tuple[pd.DataFrame, pd.Series]:
        return self.X[self.is_target], self.y[self.is_target]

    def fit(self, model: Any) -> Any:
        return model.fit(self.X, self.y.mask(self.is_target, -1), self.domain)


def case(label: Any, first: Any, seed: int = 0) -> Case:
    """`label(shift)` and `first(y, shift)` may change with the domain; the others follow y."""
    rng = np.random.default_rng(seed)
    shifts = np.array([-2.0, 0.5, 1.5, -1.0, 2.0, -0.3, 1.0])
    domain = np.repeat([*range(N_SOURCES), -1], ROWS)
    shift = shifts[domain]
    y = label(rng, shift)
    centred = 2.0 * y - 1.0 if set(np.unique(y)) == {0, 1} else y
    X = pd.DataFrame({"a": first(rng, centred, shift)})
    X["b"] = centred + rng.normal(size=len(y))
    X["c"] = np.tanh(centred) - rng.normal(size=len(y))
    return Case(X, pd.Series(y, name="y"), domain)


@pytest.fixture(scope="module")
def changing_child() -> Case:
    return case(
        lambda rng, shift: rng.normal(size=shift.size),
        lambda rng, y, shift: y + shift + 0.3 * rng.normal(size=y.size),
    )


@pytest.fixture(scope="module")
def target_shift() -> Case:
    return case(
        lambda rng, shift: (rng.normal(size=shift.size) < 1.2 * shift).astype(int),
        lambda rng, y, shift: y + rng.normal(size=y.size),
    )


@pytest.fixture(scope="module")
def regressor(changing_child: Case) -> DAInferRegressor:
    return changing_child.fit(DAInferRegressor(**QUICK))


@pytest.fixture(scope="module")
def classifier(target_shift: Case) -> DAInferClassifier:
    return target_shift.fit(DAInferClassifier(**QUICK))


def test_graph_tells_which_module_changes(
    regressor: DAInferRegressor, classifier: DAInferClassifier
) -> None:
    children = {("y", "a"), ("y", "b"), ("y", "c")}
    assert set(regressor.graph_.edges) == children
    assert regressor.graph_.graph["changing"] == ["a"]
    assert set(classifier.graph_.edges) >= children
    assert classifier.graph_.graph["changing"] == ["y"]


def test_latent_follows_what_changes(regressor: DAInferRegressor, changing_child: Case) -> None:
    shifts = changing_child.X["a"].groupby(changing_child.domain).mean().drop(-1)
    theta = regressor.latents_
    assert list(theta) == ["a θ1"] and list(theta.index) == list(range(N_SOURCES))
    assert abs(np.corrcoef(theta["a θ1"], shifts)[0, 1]) > 0.97


def test_adapts_to_a_changed_child(regressor: DAInferRegressor, changing_child: Case) -> None:
    X, y = changing_child.target
    without = changing_child.fit(DAInferRegressor(latent_dim=0, **QUICK))
    assert regressor.score(X, y) > 0.85
    assert regressor.score(X, y) > without.score(X, y) + 0.1


def test_adapts_to_target_shift(classifier: DAInferClassifier, target_shift: Case) -> None:
    X, y = target_shift.target
    without = target_shift.fit(DAInferClassifier(latent_dim=0, **QUICK))
    adapted, pooled = (log_loss(y, m.predict_proba(X)) for m in (classifier, without))
    assert adapted < pooled - 0.03
    assert abs(classifier.predict_proba(X)[:, 1].mean() - y.mean()) < 0.06
    assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)
    assert_array_equal(classifier.classes_, [0, 1])
    assert (classifier.predict(X) == y).mean() > 0.8


def test_labels_of_the_target_are_not_looked_at(
    regressor: DAInferRegressor, changing_child: Case
) -> None:
    X, _ = changing_child.target
    wrong = changing_child.y.mask(changing_child.is_target, 77.0)
    again = clone(regressor).fit(changing_child.X, wrong, changing_child.domain)
    assert_array_equal(again.predict(X), regressor.predict(X))


def test_intervals_are_about_right(regressor: DAInferRegressor, changing_child: Case) -> None:
    X, y = changing_child.target
    mean, std = regressor.predict(X, return_std=True)
    assert 0.5 < (np.abs(y - mean) < std).mean() < 0.85


def test_a_domain_that_fit_has_not_seen_gets_its_own_latent(
    regressor: DAInferRegressor, changing_child: Case
) -> None:
    X, y = changing_child.target
    moved = X.assign(a=X["a"] - 2.0)
    named = regressor.predict(moved, sample_domain=["new"] * len(X))
    assert np.corrcoef(named, y)[0, 1] ** 2 > 0.85
    assert np.abs((named - y).mean()) < 0.25
    # Without a name the rows belong to the fitted target, whose θ stands.
    assert np.abs((regressor.predict(moved) - y).mean()) > 1.0
    both = regressor.predict(pd.concat([X, moved]), sample_domain=[-1] * len(X) + ["new"] * len(X))
    # θ is found by descent, whose sums depend on the order of rows in the last digits
    assert_allclose(both, np.concatenate([regressor.predict(X), named]), atol=1e-3)


def test_missing_cells_and_levels(regressor: DAInferRegressor, changing_child: Case) -> None:
    X, y = changing_child.target
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    assert np.isfinite(regressor.predict(holes)).all()
    assert regressor.score(holes, y) > 0.5
    grade = pd.cut(changing_child.X["b"], [-np.inf, -1, 1, np.inf], labels=["low", "mid", "high"])
    mixed = Case(changing_child.X.assign(b=grade), changing_child.y, changing_child.domain)
    model = mixed.fit(DAInferRegressor(**QUICK))
    assert model.score(*mixed.target) > 0.7


def test_without_a_blanket_all_features_predict(changing_child: Case) -> None:
    unrelated = np.random.default_rng(1).permutation(changing_child.y)
    lonely = Case(changing_child.X, pd.Series(unrelated, name="y"), changing_child.domain)
    with pytest.warns(UserWarning, match="nothing is next to 'y'"):
        model = lonely.fit(DAInferRegressor(alpha=1e-4, **QUICK))
    X, y = lonely.target
    assert ((model.predict(X) - y) ** 2).mean() < 1.2 * y.var()


def test_says_how_to_get_causal_learn(
    changing_child: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "causallearn.utils.cit", None)
    with pytest.raises(ValueError, match=r"pip install 'dapdag\[bench\]'"):
        changing_child.fit(DAInferRegressor())


def test_wrong_setting_is_named(changing_child: Case) -> None:
    with pytest.raises(ValueError, match="latent_dim must be at least 0"):
        changing_child.fit(DAInferRegressor(latent_dim=-1))


def test_says_how_to_get_optax(changing_child: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optax", None)
    with pytest.raises(ValueError, match=r"needs the package optax: pip install"):
        changing_child.fit(DAInferRegressor(**QUICK))

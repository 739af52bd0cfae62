"""The registry: every method has one face, one budget, and learns what is easy to learn."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import log_loss

from dapdag._sklearn.checks import training_sample
from dapdag.baselines import registry
from dapdag.baselines.pooled.columns import Columns
from dapdag.baselines.pooled.estimators import PracticeClassifier, PracticeRegressor
from dapdag.baselines.search.grids import N_CANDIDATES, grid_of
from dapdag.baselines.search.search import (
    DomainSearchClassifier,
    DomainSearchRegressor,
    source_folds,
)
from dapdag.baselines.skada import SkadaClassifier, SkadaRegressor

SOURCE_ROWS, TARGET_ROWS = 240, 80
DOMAIN = np.concatenate([np.arange(SOURCE_ROWS) % 4, np.full(TARGET_ROWS, -1)])
IS_TARGET = DOMAIN < 0
# Enough to learn something, and no more.
QUICK = {"n_members": 1, "hidden": 8, "max_epochs": 40, "n_steps": 300, "n_estimators": 20}
# Each compiles for many seconds and is fitted in tests of its own; one per task is fitted here.
FORMS = {"dapdag", "dapdag-b", "dapdag-paper", "dapdag-b-paper"}
NETWORKS = FORMS | {"mlp", "castle", "brm", "mdan", "mdan-hard"}
NETWORKS |= set(registry.available("regression", "site-aware"))


def fitted_here(task: str, network: str) -> list[str]:
    return [n for n in registry.available(task) if n not in NETWORKS or n == network]


def table(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers, one of them with missing cells, and text; the label follows all of them."""
    rng = np.random.default_rng(seed)
    n = len(DOMAIN)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["group"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    y = 2 * X["a"] - X["b"] + 2 * (X["group"] == "red") + 0.3 * rng.normal(size=n)
    X.loc[rng.random(n) < 0.05, "b"] = np.nan
    return X, y.rename("y")


def quick(name: str, task: str) -> Any:
    model = registry.make(name, task, random_state=1)
    return model.set_params(**{k: v for k, v in QUICK.items() if k in model.get_params()})


def hidden_from(y: pd.Series, wrong: Any) -> pd.Series:
    return y.mask(IS_TARGET, wrong)


@pytest.mark.parametrize("name", fitted_here("regression", "dapdag-b"))
def test_every_regressor_learns(name: str) -> None:
    X, y = table()
    model = quick(name, "regression").fit(X, hidden_from(y, np.nan), sample_domain=DOMAIN)
    predicted = model.predict(X[IS_TARGET])
    assert predicted.shape == (TARGET_ROWS,)
    assert ((predicted - y[IS_TARGET]) ** 2).mean() < 0.5 * y[IS_TARGET].var()
    assert_allclose(model.predict(X[IS_TARGET], sample_domain=DOMAIN[IS_TARGET]), predicted, 1e-3)


@pytest.mark.parametrize("task", registry.TASKS)
def test_every_method_has_the_common_face(task: str) -> None:
    for name in registry.available(task):
        model = registry.make(name, task, random_state=7)
        methods = ["fit", "predict"] + ["predict_proba"] * (task == "classification")
        for method in methods:
            assert "sample_domain" in inspect.signature(getattr(model, method)).parameters
        assert clone(model).get_params()["random_state"] == 7
        assert getattr(model, "needs_target", False) == registry.METHODS[name].needs_target, name


@pytest.mark.parametrize("name", fitted_here("classification", "mdan"))
def test_every_classifier_learns(name: str) -> None:
    X, y = table()
    label = pd.Series(np.where(y > 0.7, "yes", "no"), name="y")
    model = quick(name, "classification")
    model.fit(X, hidden_from(label.astype(object), None), sample_domain=DOMAIN)
    probability = model.predict_proba(X[IS_TARGET], sample_domain=DOMAIN[IS_TARGET])
    assert_array_equal(model.classes_, ["no", "yes"])
    assert_allclose(probability.sum(axis=1), 1.0, atol=1e-5)
    truth = label[IS_TARGET]
    share = np.full(TARGET_ROWS, (label[~IS_TARGET] == "yes").mean())
    probability = np.clip(probability / probability.sum(axis=1, keepdims=True), 1e-6, 1 - 1e-6)
    assert log_loss(truth == "yes", probability[:, 1]) < 0.8 * log_loss(truth == "yes", share)
    assert set(model.predict(X[IS_TARGET])) <= {"no", "yes"}


@pytest.mark.parametrize("task", registry.TASKS)
def test_every_grid_is_of_one_size_and_takes_the_default_first(task: str) -> None:
    for name in registry.available(task):
        grid = grid_of(name, task)
        assert len(grid) == N_CANDIDATES
        model = registry.make(name, task)
        default = {k: v for k, v in grid[0].items() if v}
        assert all(model.get_params()[k] == v for k, v in default.items())
        for candidate in grid:
            clone(model).set_params(**candidate)


def test_nothing_of_the_paper_is_missing() -> None:
    ours = ["dapdag", "dapdag-b", "dapdag-paper", "dapdag-b-paper"]
    paper = ["mlp", "castle", "brm", "mdan", "mdan-hard", "missforest", "dainfer"]
    practice = ["boosting", "lightgbm", "forest", "linear"]
    assert registry.available("regression", kinds=["ours", "paper", "practice"]) == [
        *ours,
        *paper,
        *practice,
    ]
    assert registry.make("dapdag-b", "regression").bayesian
    for name in FORMS:
        form = "paper" if name.endswith("paper") else "search"
        assert registry.make(name, "regression").structure == form
    assert not registry.make("dapdag", "classification").bayesian
    assert registry.available("regression", "adaptation")
    assert "skada-jcpot" not in registry.available("regression")


def test_methods_without_their_package_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import util

    real = util.find_spec
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "skada" else real(name))
    assert not [n for n in registry.available("regression") if n.startswith("skada")]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: registry.make("nonsense", "regression"), "unknown method 'nonsense'"),
        (lambda: registry.make("linear", "ranking"), "task must be"),
        (lambda: registry.make("skada-jcpot", "regression"), "is for classification"),
        (lambda: registry.make("linear", "regression", n_candidates=0), "between 1 and 6"),
        (lambda: registry.available("regression", ["others"]), "unknown kinds"),
    ],
)
def test_wrong_requests_are_explained(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_search_picks_the_obviously_better_candidate() -> None:
    X, y = table()
    candidates = ({"settings": {"alpha": 1e6}}, {"settings": {"alpha": 0.1}})
    search = DomainSearchRegressor(
        estimator=PracticeRegressor(model="linear"), candidates=candidates
    ).fit(X, y, DOMAIN)
    assert search.best_index_ == 1
    assert search.results_["loss"].idxmin() == 1 and search.results_["loss"][0] > 0.9
    plain = PracticeRegressor(model="linear", settings={"alpha": 0.1}).fit(X, y, DOMAIN)
    assert_array_equal(search.predict(X), plain.predict(X))


def test_search_of_classes() -> None:
    X, y = table()
    candidates = ({"settings": {"C": 1e-6}}, {"settings": {"C": 1.0}}, {"scale": "rank"})
    search = DomainSearchClassifier(
        estimator=PracticeClassifier(model="linear"), candidates=candidates
    ).fit(X, y > 0.7, DOMAIN)
    assert search.best_index_ > 0
    assert search.results_["loss"][0] > 0.6 > search.results_["loss"].min()
    assert search.score(X, y > 0.7) > 0.9


def test_search_holds_out_whole_domains() -> None:
    """Each site has its own offset: what was learned by heart of a site is worth nothing."""
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(8), 40)
    X = pd.DataFrame({"site": site + 0.01 * rng.normal(size=320), "x": rng.normal(size=320)})
    y = pd.Series(X["x"] + 3 * rng.normal(size=8)[site], name="y")
    candidates = (
        {"settings": {"min_samples_leaf": 1, "max_features": 1.0, "n_estimators": 10}},
        {"settings": {"min_samples_leaf": 120, "max_features": 1.0, "n_estimators": 10}},
    )
    forest = PracticeRegressor(model="forest")
    by_site = DomainSearchRegressor(estimator=forest, candidates=candidates).fit(X, y, site)
    by_row = DomainSearchRegressor(estimator=forest, candidates=candidates).fit(X, y)
    assert (by_site.best_index_, by_row.best_index_) == (1, 0)


def test_folds_are_few_and_cover_every_source_once() -> None:
    X, y = table()
    sample = training_sample(PracticeRegressor(), X, y, np.arange(len(X)) % 13, True)
    folds = source_folds(sample, 5, 0)
    assert len(folds) == 5
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(X)))
    held = [set(sample.domain[fold]) for fold in folds]
    assert sum(map(len, held)) == len(set.union(*held)) == 13


def test_search_serves_methods_that_need_a_target() -> None:
    X, y = table()
    search = registry.make("skada-coral", "regression", n_candidates=2)
    assert search.needs_target and len(search.candidates) == 2
    search.fit(X, hidden_from(y, np.nan), sample_domain=DOMAIN)
    assert np.isfinite(search.results_["loss"]).all()
    assert ((search.predict(X[IS_TARGET]) - y[IS_TARGET]) ** 2).mean() < 0.5 * y[IS_TARGET].var()


def test_a_candidate_that_fails_is_left_out() -> None:
    X, y = table()
    search = DomainSearchRegressor(
        estimator=PracticeRegressor(model="linear"),
        candidates=({"scale": "nonsense"}, {}),
    )
    with pytest.warns(UserWarning, match="'nonsense'.* failed and is left out"):
        search.fit(X, y, DOMAIN)
    assert search.best_index_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="every candidate"):
            clone(search).set_params(candidates=({"scale": "no"}, {"scale": "nor"})).fit(X, y)


def test_columns_are_learned_on_the_sources() -> None:
    X, y = table()
    X.loc[IS_TARGET, "a"] += 1e6
    X.loc[0, "group"] = None
    sample = training_sample(PracticeRegressor(), X.assign(k=1.0), y, DOMAIN, True)
    columns = Columns.learn(sample)
    Z = columns.encode(sample.X, "standard")
    assert Z.shape == (len(X), 1 + 2 + 3)  # a; b with its indicator; three colours; k tells nothing
    assert np.abs(Z[sample.is_source].mean(axis=0)[:1]).max() < 0.05
    assert Z[~sample.is_source, 0].max() < 4
    assert_array_equal(Z[:, 2], sample.X["b"].isna())
    assert_array_equal(Z[:, 3:].sum(axis=1), sample.X["group"].notna())
    assert sample.X["group"].isna().sum() == 1
    assert_array_equal(columns.encode(sample.X, "raw")[:, 1], sample.X["b"])


def test_skada_wants_a_target_and_leaves_scikit_learn_as_it_was() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="negative integers in sample_domain"):
        SkadaRegressor().fit(X[~IS_TARGET], y[~IS_TARGET], DOMAIN[~IS_TARGET])
    SkadaRegressor().fit(X, hidden_from(y, np.nan), DOMAIN)
    assert not sklearn.get_config()["enable_metadata_routing"]
    with pytest.raises(ValueError, match="'jcpot' is for classes"):
        SkadaRegressor(method="jcpot").fit(X, y, DOMAIN)


def test_alignment_undoes_a_moved_target() -> None:
    """The target's instrument reads other units: aligned sources predict, pooled ones do not."""
    rng = np.random.default_rng(0)
    n = len(DOMAIN)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({"a": 2.0 * y + rng.normal(size=n), "b": rng.normal(size=n)})
    X.loc[IS_TARGET, "a"] = 2.0 * X["a"][IS_TARGET] - 4.0
    truth = y[IS_TARGET]
    accuracy = {
        method: SkadaClassifier(method=method).fit(X, y, DOMAIN).score(X[IS_TARGET], truth)
        for method in ("monge", "coral")
    }
    pooled = PracticeClassifier(model="linear").fit(X, y, DOMAIN).score(X[IS_TARGET], truth)
    assert accuracy["monge"] > pooled + 0.1


def test_names_load_when_used() -> None:
    code = (
        "import sys; from dapdag.baselines import registry; registry.available('regression'); "
        "sys.exit(any(m in sys.modules for m in ('jax', 'skada', 'lightgbm', 'causallearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

"""The generalisation bound: each term is what the theorem says, and moves as it says."""

from copy import copy
from dataclasses import FrozenInstanceError, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm
from scipy.special import log_softmax
from sklearn.exceptions import NotFittedError

from dapdag import DAPDAGClassifier, DAPDAGRegressor
from dapdag.bound import Bound, cyclicity, generalisation_bound
from dapdag.inference.site import Site
from dapdag.model.parameters import unravel

SMALL = {"hidden": 4, "max_epochs": 10, "n_members": 2, "n_draws": 4, "steps": 2}
SITES = np.repeat(["a", "b", "c"], 40)
TERMS = ["continuous", "discrete", "environment", "dag", "weights", "confidence", "constant"]
GIVEN = {
    "continuous_loss": 2.0,
    "discrete_loss": 0.7,
    "squared_env": 1.5,
    "cyclicity": 0.5,
    "squared_weights": 30.0,
    "n_rows": 50,
}


def features(seed: int = 0, n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "dose": age + rng.exponential(size=n),
            "ward": rng.choice(["a", "b", "c"], n),
            "smokes": rng.random(n) < 0.5,
        }
    )


def numbers(X: pd.DataFrame) -> np.ndarray:
    return (X["dose"] + (X["ward"] == "a")).to_numpy()


def classes(X: pd.DataFrame, levels: list[Any]) -> np.ndarray:
    bins = np.linspace(-1, 2, len(levels) + 1)[1:-1]
    return np.asarray(levels)[np.digitize(numbers(X), bins)]


@pytest.fixture(scope="module")
def regressor() -> DAPDAGRegressor:
    X = features()
    return DAPDAGRegressor(**SMALL).fit(X, numbers(X), SITES)


@pytest.fixture(scope="module")
def binary() -> DAPDAGClassifier:
    X = features()
    return DAPDAGClassifier(**SMALL, bayesian=False).fit(X, classes(X, [0, 1]), SITES)


@pytest.fixture(scope="module")
def multiclass() -> DAPDAGClassifier:
    X = features()
    y = classes(X, ["low", "mid", "high"])
    return DAPDAGClassifier(**SMALL, structure="paper").fit(X, y, SITES)


@pytest.fixture(params=["regressor", "binary", "multiclass"])
def fitted(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def domain_of(est: Any, seed: int = 5, n: int = 70) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of a new domain, shifted so that its E is not zero."""
    X = features(seed, n).assign(dose=lambda f: f["dose"] + 1)
    return X, numbers(X) if hasattr(est, "predict_interval") else classes(X, list(est.classes_))


def elu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def dense_filters(model: Any, filters: np.ndarray) -> np.ndarray:
    """Filters that gather the inputs of parents, as filters of all inputs."""
    out = np.zeros((len(filters), model.sizes.inputs, filters.shape[-1]))
    reads, known = np.asarray(model.layout.reads), np.asarray(model.layout.reads_any)
    for v, s in np.argwhere(known > 0):
        out[v, reads[v, s]] = filters[v, s]
    return out


def by_hand(est: Any, X: pd.DataFrame, y: np.ndarray) -> dict[str, float]:
    """Every term variable by variable, with loops over the variables of the table."""
    model = est.fitted_.model
    table = model.table
    values, observed = table.encode(X)
    label = table.label.encode(pd.Series(y) if table.label.kind != "continuous" else y)
    variables = [*table.features, table.label]
    blocks, spans, start = [], [], 0
    for v in table.features:
        blocks.append(values[:, start : start + v.width].astype(float))
        spans.append(slice(start, start + v.width))
        start += v.width
    blocks.append(label.astype(float))
    first = model.sizes.columns - model.sizes.label_columns
    spans.append(slice(first, first + table.label.width))
    seen = [*(observed[:, j] > 0 for j in range(observed.shape[1])), np.ones(len(X), bool)]
    place = [*range(len(table.features)), model.sizes.variables - 1]
    inputs = [
        (block - np.asarray(v.center)) * s[:, None]
        for v, block, s in zip(variables, blocks, seen, strict=True)
    ]
    sees = [np.arange(model.sizes.columns)[span] for span in spans]
    if model.sizes.indicators:
        inputs = [np.column_stack([x, ~s]) for x, s in zip(inputs, seen, strict=True)]
        sees = [np.append(c, model.sizes.columns + v) for c, v in zip(sees, place, strict=True)]
    found = []
    for vector, env in zip(model.vectors, Site(model, X).env.mean, strict=True):
        d = unravel(model.sizes, jnp.asarray(vector)).decoder
        filters, env_filters, bias, heads, head_bias = (
            np.asarray(a, dtype=float)
            for a in (d.filters, d.env_filters, d.filter_bias, d.heads, d.head_bias)
        )
        if model.layout.reads is not None:
            filters = dense_filters(model, filters)
        shared = [(np.asarray(w, float), np.asarray(b, float)) for w, b in d.shared]
        continuous = discrete = 0.0
        weights = sum((w**2).sum() + (b**2).sum() for w, b in shared)
        norms = np.zeros((len(variables), len(variables)))
        for j, child in enumerate(variables):
            hidden = env @ env_filters[place[j]] + bias[place[j]]
            weights += (env_filters[place[j]] ** 2).sum() + (bias[place[j]] ** 2).sum()
            for i in range(len(variables)):
                if i != j and model.parents[place[i], place[j]]:
                    block = filters[place[j], sees[i]]
                    hidden = hidden + inputs[i] @ block
                    weights += (block**2).sum()
                    norms[i, j] = np.linalg.norm(block)
            hidden = np.broadcast_to(elu(hidden), (len(X), model.sizes.hidden))
            for w, b in shared:
                hidden = elu(hidden @ w + b)
            out = hidden @ heads[spans[j]].T + head_bias[spans[j]]
            weights += (heads[spans[j]] ** 2).sum() + (head_bias[spans[j]] ** 2).sum()
            if child.kind == "continuous":
                continuous += ((out - blocks[j])[seen[j]] ** 2).mean()
                continue
            if child.kind == "binary":
                logits = np.column_stack([np.zeros(len(X)), out])
                truth = np.column_stack([1 - blocks[j], blocks[j]])
            else:
                logits, truth = out, blocks[j]
            discrete -= (log_softmax(logits, axis=1) * truth).sum(1)[seen[j]].mean()
        found.append(
            {
                "continuous": 4 * continuous,
                "discrete": discrete,
                "environment": 3 / len(X) * (env**2).sum() / est.prior_scale**2,
                "dag": 3 / len(X) * (np.trace(expm(norms**2)) - len(variables)) ** 2,
                "weights": 3 / len(X) * weights / 2.0,
            }
        )
    return pd.DataFrame(found).mean().to_dict()


def test_every_term_is_what_numpy_finds_by_hand(fitted: Any) -> None:
    X, y = domain_of(fitted)
    bound = generalisation_bound(
        fitted, X, y, delta=0.1, weight_variance=2.0, gamma1=1, gamma2=2, s1=3, s2=4
    )
    for term, value in by_hand(fitted, X, y).items():
        assert getattr(bound, term) == pytest.approx(value, rel=1e-4, abs=1e-12), term
    assert bound.confidence == pytest.approx(3 / 70 * np.log(80))
    assert bound.constant == 6 * 1 + 4 * 2 + 9 + 8
    assert bound.n_rows == 70
    assert bound.environment > 0


def test_terms_add_up(fitted: Any) -> None:
    bound = generalisation_bound(fitted, *domain_of(fitted), s1=0.5)
    assert bound.total == pytest.approx(sum(getattr(bound, term) for term in TERMS))
    table = bound.table()
    assert list(table.index) == [*TERMS, "total"]
    assert table["value"].iloc[:-1].sum() == pytest.approx(table.loc["total", "value"])
    lines = str(bound).splitlines()
    assert [line.split()[0] for line in lines] == [*TERMS, "total"]
    assert float(lines[-1].split()[1]) == pytest.approx(bound.total, rel=1e-4)
    with pytest.raises(FrozenInstanceError):
        bound.dag = 0.0  # type: ignore[misc]


def test_more_rows_tighten_the_bound_in_proportion() -> None:
    few, many = Bound.from_terms(**GIVEN), Bound.from_terms(**GIVEN | {"n_rows": 5000})
    for term in ("environment", "dag", "weights", "confidence"):
        assert getattr(many, term) == pytest.approx(getattr(few, term) / 100)
    assert (many.continuous, many.discrete) == (few.continuous, few.discrete) == (8.0, 0.7)


@pytest.mark.parametrize(
    "term, change",
    [
        ("environment", {"squared_env": 2.0}),
        ("environment", {"prior_scale": 0.5}),
        ("dag", {"cyclicity": 0.6}),
        ("weights", {"squared_weights": 31.0}),
        ("weights", {"weight_variance": 0.5}),
        ("confidence", {"delta": 0.01}),
        ("constant", {"constant": 0.1}),
        ("continuous", {"continuous_loss": 2.1}),
        ("discrete", {"discrete_loss": 0.8}),
    ],
    ids=str,
)
def test_each_quantity_raises_its_own_term_alone(term: str, change: dict[str, float]) -> None:
    before, after = Bound.from_terms(**GIVEN), Bound.from_terms(**GIVEN | change)
    assert getattr(after, term) > getattr(before, term)
    assert replace(after, **{term: getattr(before, term)}) == before


def test_smaller_delta_and_prior_give_a_larger_bound(regressor: DAPDAGRegressor) -> None:
    X, y = domain_of(regressor)
    usual = generalisation_bound(regressor, X, y)
    assert generalisation_bound(regressor, X, y, delta=0.01).total > usual.total
    narrow = generalisation_bound(regressor, X, y, prior_scale=0.1)
    assert narrow.environment == pytest.approx(100 * usual.environment)


def test_repeated_rows_have_the_same_losses_under_the_same_environment(
    regressor: DAPDAGRegressor,
) -> None:
    X, y = domain_of(regressor)
    # Without environments E is 0 however many rows there are.
    model = regressor.fitted_.model
    still = with_model(
        regressor, formulation=replace(model.formulation, uses_environment=False), parents=None
    )
    once = generalisation_bound(still, X, y)
    thrice = generalisation_bound(still, pd.concat([X] * 3, ignore_index=True), np.tile(y, 3))
    assert once.environment == 0
    assert thrice.continuous == pytest.approx(once.continuous, rel=1e-5)
    assert thrice.discrete == pytest.approx(once.discrete, rel=1e-5)
    assert thrice.weights == pytest.approx(once.weights / 3)
    assert thrice.total < once.total


def test_rows_in_chunks_give_what_all_rows_give(
    regressor: DAPDAGRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = domain_of(regressor)
    whole = generalisation_bound(regressor, X, y)
    monkeypatch.setattr("dapdag.bound.CHUNK_ROWS", 64)
    parts = generalisation_bound(regressor, X, y)
    assert parts.continuous == pytest.approx(whole.continuous, rel=1e-5)
    assert parts.discrete == pytest.approx(whole.discrete, rel=1e-5)


def with_model(est: Any, parents: np.ndarray | None, **changes: Any) -> Any:
    """A copy of the estimator whose model differs."""
    changed = copy(est)
    parents = est.fitted_.model.parents if parents is None else parents
    changed.fitted_ = replace(
        est.fitted_, model=replace(est.fitted_.model, parents=parents, **changes)
    )
    return changed


def test_a_graph_known_beforehand_has_no_dag_term(regressor: Any, binary: Any) -> None:
    for est in (regressor, binary):
        assert generalisation_bound(est, *domain_of(est)).dag == 0.0


def test_filters_with_cycles_pay_for_them(multiclass: Any) -> None:
    strong = with_model(multiclass, None, vectors=2 * multiclass.fitted_.model.vectors)
    X, y = domain_of(multiclass)
    weak_dag, strong_dag = (generalisation_bound(e, X, y).dag for e in (multiclass, strong))
    assert 0 < weak_dag < strong_dag


def test_cyclicity_is_zero_exactly_on_dags() -> None:
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 30):
        order = rng.permutation(d)
        dag = np.triu(rng.exponential(size=(d, d)), 1)[np.ix_(order, order)]
        assert cyclicity(dag) == 0.0
    full = rng.exponential(size=(5, 5)) / 3
    assert cyclicity(full) == pytest.approx(np.trace(expm(full**2)) - 5)
    assert cyclicity([[0, 1e-2], [1e-2, 0]]) == pytest.approx(1e-8, rel=1e-6)
    assert cyclicity(np.full((3, 3), 100.0)) == np.inf


def test_columns_of_an_unseen_kind_do_not_break_it(regressor: DAPDAGRegressor) -> None:
    X, y = domain_of(regressor)
    without = generalisation_bound(regressor, X.assign(ward="z", age=np.nan), y)
    assert np.isfinite(without.total)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"delta": 0.0}, "delta must lie between 0 and 1, not 0.0"),
        ({"delta": 1}, "delta must lie between 0 and 1"),
        ({"delta": np.nan}, "delta must lie between 0 and 1"),
        ({"weight_variance": 0.0}, "weight_variance must be a positive number"),
        ({"prior_scale": -1.0}, "prior_scale must be a positive number"),
        ({"gamma1": -0.1}, "gamma1 must be a number of at least 0"),
        ({"s2": np.inf}, "s2 must be a number of at least 0"),
    ],
    ids=str,
)
def test_senseless_constants_are_refused(
    regressor: DAPDAGRegressor, change: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        generalisation_bound(regressor, *domain_of(regressor), **change)


def test_senseless_labels_are_refused(regressor: Any, multiclass: Any) -> None:
    X, y = domain_of(regressor)
    with pytest.raises(ValueError, match="X has 70 rows, y has 69"):
        generalisation_bound(regressor, X, y[:-1])
    with pytest.raises(ValueError, match=r"missing or infinite in 1 row\(s\).*position 3"):
        generalisation_bound(regressor, X, np.where(np.arange(70) == 3, np.nan, y))
    with pytest.raises(ValueError, match="must be numbers"):
        generalisation_bound(regressor, X, ["a"] * 70)
    with pytest.raises(ValueError, match=r"1 row\(s\) of y.*'none'.*known are"):
        generalisation_bound(multiclass, X, ["none"] + ["low"] * 69)
    with pytest.raises(NotFittedError):
        generalisation_bound(DAPDAGRegressor(), X, y)
    with pytest.raises(ValueError, match="n_rows must be at least 1"):
        Bound.from_terms(**GIVEN | {"n_rows": 0})

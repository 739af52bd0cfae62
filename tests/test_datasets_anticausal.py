"""Anti-causal sites: the stated mechanisms, an exact oracle, and a relation that turns around."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from dapdag.datasets import make_anticausal_domains

TASKS = ["regression", "classification"]
KINDS = ["numeric", "binary", "mixed"]
MODES = ["as_sources", "reversed", "absent", "same", "intercept"]
TARGET = 8


def loss(task, y, predicted) -> float:
    if task == "regression":
        return float(mean_squared_error(y, predicted))
    return float(log_loss(y, np.clip(predicted, 1e-3, 1 - 1e-3)))


def model_of(task):
    linear = Ridge(1.0) if task == "regression" else LogisticRegression()
    return make_pipeline(StandardScaler(), linear)


def predicted_by(model, task, X):
    return model.predict(X) if task == "regression" else model.predict_proba(X)[:, 1]


def effect_of_label(data, domain, effect) -> float:
    """Slope of an effect on the label among the rows of one site."""
    rows = data.sample_domain == domain
    y, x = data.y[rows].to_numpy(dtype=float), data.X.loc[rows, effect].to_numpy(dtype=float)
    return float(np.cov(x, y)[0, 1] / np.var(y, ddof=1))


def test_columns_sites_and_sizes():
    sizes = [20, 30, 40, 50, 60]
    data = make_anticausal_domains(3, 2, sizes, n_causes=3, n_effects=2)
    assert list(data.X) == ["cause1", "cause2", "cause3", "effect1", "effect2"]
    assert data.y.name == "Y"
    assert data.domains == [0, 1, 2, 3, 4]
    assert data.sources == [0, 1, 2] and data.targets == (3, 4)
    assert np.bincount(data.sample_domain).tolist() == sizes


def test_leaving_a_target_out_keeps_the_other_targets_out_too():
    data = make_anticausal_domains(3, 2, 20)
    split = data.leave_out(4)
    assert set(split.sample_domain) == {0, 1, 2}
    assert len(split.X_target) == 20
    assert set(data.leave_out(1).sample_domain) == {0, 2}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_columns(task, kind):
    data = make_anticausal_domains(2, 1, 200, task=task, effects=kind)
    binary = {name: set(column.unique()) == {0, 1} for name, column in data.X.items()}
    assert binary["effect1"] == (kind == "binary")
    assert binary["effect2"] == (kind in ("binary", "mixed"))
    assert not binary["cause1"] and not binary["cause2"]
    assert (set(data.y.unique()) == {0, 1}) == (task == "classification")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("task", TASKS)
def test_graph_marks_what_differs_between_sites(task, mode):
    graph = make_anticausal_domains(2, 1, 5, task=task, mode=mode).graph
    causes, effects = ["cause1", "cause2"], ["effect1", "effect2"]
    assert set(graph.edges) == {(c, "Y") for c in causes} | {("Y", e) for e in effects}
    perturbed = {name for name, moved in graph.nodes(data="perturbed") if moved}
    expected = set(effects) if mode != "same" else set()
    assert perturbed == expected | ({"Y"} if mode == "intercept" else set())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", TASKS)
def test_signs_at_sources_and_targets(task, kind):
    """The slope at every site has the sign of its strength, times one sign per effect."""
    for mode in MODES:
        data = make_anticausal_domains(4, 2, 3000, task=task, mode=mode, effects=kind, spread=0.5)
        for effect in ("effect1", "effect2"):
            strength = np.array([data.env[d][effect] for d in data.domains])
            slope = np.array([effect_of_label(data, d, effect) for d in data.domains])
            assert (strength[:4] > 0).all()
            reference = np.sign(slope[0])
            if mode == "absent":
                assert (strength[4:] == 0).all() and np.abs(slope[4:]).max() < 0.15
                continue
            assert (np.sign(strength[4:]) == (-1 if mode == "reversed" else 1)).all()
            np.testing.assert_array_equal(np.sign(slope), reference * np.sign(strength))
        if mode == "same":
            assert (strength == 1).all()


@pytest.mark.parametrize("task", TASKS)
def test_strengths_are_the_slopes(task):
    """Numbers: slope / strength is one number for all sites."""
    data = make_anticausal_domains(6, 1, 5000, task=task, effect_size=2.0)
    for effect in ("effect1", "effect2"):
        slopes = np.array([effect_of_label(data, d, effect) for d in data.domains])
        expected = 2.0 * np.array([data.env[d][effect] for d in data.domains])
        scale = 2.0 if task == "classification" else 1.0  # classes count as −1 and 1
        np.testing.assert_allclose(np.abs(slopes), scale * np.abs(expected), atol=0.12)


@pytest.mark.parametrize("task", TASKS)
def test_only_mode_intercept_moves_the_label(task):
    fixed = make_anticausal_domains(6, 1, 50, task=task, mode="as_sources")
    moving = make_anticausal_domains(6, 1, 50, task=task, mode="intercept")
    assert all(fixed.env[d]["Y"] == 0 for d in fixed.domains)
    intercepts = [moving.env[d]["Y"] for d in moving.domains]
    assert len(set(intercepts)) == 7
    levels = [moving.y[moving.sample_domain == d].mean() for d in moving.domains]
    assert np.corrcoef(intercepts, levels)[0, 1] > 0.8


@pytest.mark.parametrize("strength", [2.0, -2.0, [1.0, -1.0]])
def test_strength_at_the_target_may_be_given(strength):
    data = make_anticausal_domains(3, 1, 2000, target_strength=strength, spread=0.5)
    assert data.env[3][["effect1", "effect2"]].tolist() == np.broadcast_to(strength, 2).tolist()
    for effect, given in zip(("effect1", "effect2"), np.broadcast_to(strength, 2), strict=True):
        ratio = effect_of_label(data, 3, effect) / effect_of_label(data, 0, effect)
        assert np.sign(ratio) == np.sign(given)


def test_a_given_strength_makes_the_effects_differ_even_if_sources_are_the_same():
    graph = make_anticausal_domains(2, 1, 5, mode="same", target_strength=0.5).graph
    assert graph.nodes["effect1"]["perturbed"]


def test_the_strength_changes_the_effects_alone():
    plain = make_anticausal_domains(2, 1, 50, mode="as_sources", random_state=4)
    turned = make_anticausal_domains(2, 1, 50, target_strength=-2.0, random_state=4)
    pd.testing.assert_series_equal(plain.y, turned.y)
    causes = ["cause1", "cause2"]
    pd.testing.assert_frame_equal(plain.X[causes], turned.X[causes])
    sources = plain.sample_domain < 2
    pd.testing.assert_frame_equal(plain.X[sources], turned.X[sources])


def test_one_seed_one_table():
    first, again, other = (make_anticausal_domains(2, 1, 30, random_state=s) for s in (5, 5, 6))
    pd.testing.assert_frame_equal(first.X, again.X)
    pd.testing.assert_series_equal(first.y, again.y)
    assert nx.utils.graphs_equal(first.graph, again.graph)
    assert not first.X.equals(other.X)


def row_env(data) -> np.ndarray:
    return np.stack([data.env[d] for d in data.sample_domain])


@pytest.mark.parametrize("kind", ["numeric", "binary"])
def test_class_oracle_is_bayes_rule(kind):
    """Written out from the equations' coefficients, with other formulas than the package's."""
    data = make_anticausal_domains(3, 1, 40, effects=kind, mode="intercept", random_state=2)
    model = data.conditional.args[0]
    weights = model["Y"].function.weights
    logit = data.X[["cause1", "cause2"]].to_numpy() @ weights + row_env(data)[:, 2]
    for k, effect in enumerate(("effect1", "effect2")):
        shift = model[effect].function.slope * row_env(data)[:, k]
        x = data.X[effect].to_numpy()
        if kind == "numeric":
            logit = logit + norm.logpdf(x, shift) - norm.logpdf(x, -shift)
        else:
            p1, p0 = expit(shift), expit(-shift)
            logit = logit + np.log(np.where(x == 1, p1 / p0, (1 - p1) / (1 - p0)))
    np.testing.assert_allclose(data.oracle(data.X, row_env(data)), expit(logit), rtol=1e-8)


def test_number_oracle_against_independent_integration():
    data = make_anticausal_domains(2, 1, 4, task="regression", effects="mixed", random_state=3)
    model, env = data.conditional.args[0], row_env(data)
    mean, std = data.oracle(data.X, env), data.oracle_std(data.X, env)
    for i, row in enumerate(data.X.itertuples()):

        def density(y, row=row, strength=env[i]):
            own = np.dot(model["Y"].function.weights, [row.cause1, row.cause2])
            number = norm.pdf(row.effect1, model["effect1"].function.slope * strength[0] * y)
            p = expit(model["effect2"].function.slope * strength[1] * y)
            return norm.pdf(y, own, model["Y"].law.sd) * number * (p if row.effect2 else 1 - p)

        def integral(f):
            return quad(f, -12, 12, points=[-1, 0, 1], limit=400, epsabs=0, epsrel=1e-10)[0]

        mass = integral(density)
        expected = integral(lambda y: y * density(y)) / mass
        second = integral(lambda y, c=expected: (y - c) ** 2 * density(y)) / mass
        np.testing.assert_allclose([mean[i], std[i]], [expected, np.sqrt(second)], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("mode", ["reversed", "intercept"])
def test_nothing_fitted_on_a_sites_labels_beats_the_oracle(task, kind, mode):
    data = make_anticausal_domains(1, 1, 3000, task=task, effects=kind, mode=mode, random_state=1)
    boosted = HistGradientBoostingRegressor if task == "regression" else None
    candidates = [model_of(task), (boosted or HistGradientBoostingClassifier)(max_iter=40)]
    method = "predict" if task == "regression" else "predict_proba"
    split = data.leave_out(1)
    X, y = split.X_target, split.y_target.to_numpy(dtype=float)
    oracle = data.oracle(X, data.env[1])
    for candidate in candidates:
        with threadpool_limits(1):
            found = cross_val_predict(candidate, X, split.y_target, cv=3, method=method)
        found = found[:, 1] if found.ndim == 2 else found
        gain = _losses(task, y, oracle) - _losses(task, y, found)
        assert gain.mean() < 3 * gain.std() / np.sqrt(len(y))


def _losses(task, y, predicted) -> np.ndarray:
    if task == "regression":
        return (y - predicted) ** 2
    p = np.clip(predicted, 1e-6, 1 - 1e-6)
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


@pytest.mark.parametrize("task", TASKS)
def test_oracle_is_calibrated(task):
    data = make_anticausal_domains(6, 2, 500, task=task, effects="mixed", random_state=9)
    oracle = data.oracle(data.X, row_env(data))
    if task == "regression":
        z = (data.y - oracle) / data.oracle_std(data.X, row_env(data))
        assert abs(z.mean()) < 4 / np.sqrt(len(z)) and abs(np.mean(z**2) - 1) < 0.1
        return
    for low, high in [(0, 0.1), (0.1, 0.9), (0.9, 1.01)]:
        chosen = (oracle >= low) & (oracle < high)
        excess = np.sum(data.y[chosen] - oracle[chosen])
        assert abs(excess) < 4 * np.sqrt(np.sum((oracle * (1 - oracle))[chosen]))


@pytest.mark.parametrize(
    "task,pooled,parents", [("classification", 2.5, 0.30), ("regression", 1.1, 0.24)]
)
def test_pooled_rows_mislead_where_the_effects_turn_around(task, pooled, parents):
    """Loss at a reversed target, 8 sources of 500: far above that of the causes alone."""
    found = []
    for seed in range(12):
        data = make_anticausal_domains(task=task, mode="reversed", random_state=seed)
        split = data.leave_out(TARGET)
        causes = ["cause1", "cause2"]
        every = model_of(task).fit(split.X, split.y)
        few = model_of(task).fit(split.X[causes], split.y)
        found.append(
            (
                loss(task, split.y_target, predicted_by(every, task, split.X_target)),
                loss(task, split.y_target, predicted_by(few, task, split.X_target[causes])),
                loss(task, split.y_target, data.oracle(split.X_target, data.env[TARGET])),
            )
        )
    by_all, by_causes, best = np.mean(found, axis=0)
    assert abs(by_all - pooled) < 0.3 * pooled
    assert abs(by_causes - parents) < 0.03
    assert best < 0.25 * parents


@pytest.mark.parametrize("task", TASKS)
def test_survives_pickling(task):
    data = make_anticausal_domains(2, 1, 10, task=task, effects="mixed")
    again = pickle.loads(pickle.dumps(data))
    env = data.env[2]
    np.testing.assert_array_equal(again.oracle(data.X, env), data.oracle(data.X, env))


def test_oracle_says_how_many_numbers_e_has():
    data = make_anticausal_domains(2, 1, 10)
    with pytest.raises(ValueError, match=r"3 numbers or as many per row \(30\), got shape \(\)"):
        data.oracle(data.X, 1.0)


@pytest.mark.parametrize(
    "options,message",
    [
        ({"task": "ranking"}, "task must be one of .* got 'ranking'"),
        ({"mode": "flipped"}, "mode must be one of .* got 'flipped'"),
        ({"effects": "text"}, "effects must be one of .* got 'text'"),
        ({"n_domains": 0}, "n_domains must be at least 1, got 0"),
        ({"n_targets": -1}, "n_targets must be at least 0, got -1"),
        ({"n_causes": 0}, "n_causes must be at least 1, got 0"),
        ({"n_effects": 0}, "n_effects must be at least 1, got 0"),
        ({"spread": 1.0}, "spread must be at least 0 and below 1, got 1.0"),
        ({"effect_size": -1.0}, "effect_size must be a positive number"),
        ({"intercept_scale": 0.0}, "intercept_scale must be a positive number"),
        ({"n_samples": [5, 5]}, r"one per domain \(9\)"),
        ({"target_strength": [1.0, 2.0, 3.0]}, r"target_strength .* one per effect \(2\)"),
        ({"target_strength": np.nan}, "target_strength must be a finite number"),
    ],
)
def test_errors_name_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        make_anticausal_domains(**options)

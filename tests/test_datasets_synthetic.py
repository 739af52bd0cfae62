"""The simulated data obey the paper's (or its author's) equations, restated here by hand."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import kstest, norm

from dapdag.datasets import make_classification_domains, make_regression_domains
from dapdag.datasets.equations import ENV
from dapdag.datasets.simulation import AUTHOR_GRID
from dapdag.datasets.synthetic import classification_model, regression_model

VARIANTS = ["paper", "author"]
REGRESSION_EDGES = "X1-X2 X2-X3 X1-Y X2-Y X1-X4 X4-X5 Y-X5 X3-X6 Y-X6 X6-X7"
SHARED_EDGES = "X1-X5 X2-X5 X6-X7 X6-X8 X7-X8 " + " ".join(f"X{i}-Y" for i in range(1, 9))
EDGES = {
    ("regression", "paper"): REGRESSION_EDGES,
    ("regression", "author"): REGRESSION_EDGES,
    ("classification", "paper"): SHARED_EDGES + " X3-X4 X3-X5",
    ("classification", "author"): SHARED_EDGES + " X4-X3 X4-X5",
}
PERTURBED = {
    ("regression", "paper"): "X1 X3 Y X4 X5 X7",
    ("regression", "author"): "X1 X3 Y X4 X5 X7",
    ("classification", "paper"): "X1 X2 X4 X5 X6 Y",
    ("classification", "author"): "X1 X2 X3 X5 X6 Y",
}
MAKERS = {
    "regression": make_regression_domains,
    "classification": make_classification_domains,
}
MODELS = {"regression": regression_model, "classification": classification_model}


def whole_table(data) -> tuple[pd.DataFrame, np.ndarray]:
    """All variables side by side, and each row's true E."""
    return data.X.join(data.y), np.array([data.env[k] for k in data.sample_domain])


def regression_means(v, e, variant) -> dict:
    paper = variant == "paper"
    linear_y = 0.3 * v.X1 + 0.7 * v.X2
    log_y = np.log(0.3 * v.X1**2 + 0.7 * v.X2**2)
    return {
        "X1": 0.8 * e,
        "X2": 0.4 * v.X1**2,
        "X3": 0.3 * e + 0.1 * (np.exp(v.X2) if paper else v.X2**2),
        "Y": -0.5 * e**2 + (log_y if paper else linear_y),
        "X4": 0.1 * v.X1 * (np.exp(e / 2) if paper else e),
        "X5": -0.25 * e * v.X4 + 0.6 * v.Y,
        "X6": -1 + 0.2 * v.X3 * v.Y,
        "X7": -0.6 * e + (3 if paper else 1) * v.X6,
    }


def classification_rates(v, e, variant) -> dict:
    root, child = ("X3", "X4") if variant == "paper" else ("X4", "X3")
    log_t = 1.5 + 0.4 * e - 0.1 * (v.X1 - 65) - 0.05 * v.X2 - 1.75 * v.X3 - 2.5 * v.X4
    log_t = log_t + 0.6 * v.X5 + 0.25 * v.X6 - 0.75 * v.X7 - 2 * v.X8
    return {
        "X2": 0.3 - 0.025 * e,
        root: 0.2 + 0 * e,
        child: expit(-0.5 + 0.2 * e + 1.3 * v[root]),
        "X5": expit(-1 + 0.3 * e + 0.015 * v.X1 + 0.001 * v.X2 + 1.5 * v[root]),
        "X6": 0.175 - 0.015 * e,
        "X7": 0.3 * (v.X6 == 0),
        "X8": 0.6 * (v.X6 + v.X7 == 0),
        "Y": norm.cdf((log_t - np.log(5)) / (1 if variant == "paper" else 1.5)),
    }


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_regression_residuals_are_the_stated_noise(variant, noise):
    data = make_regression_domains(noise=noise, variant=variant, random_state=3)
    table, e = whole_table(data)
    for name, mean in regression_means(table, e, variant).items():
        residual = (table[name] - mean) / noise
        assert kstest(residual, "norm").pvalue > 1e-4, name


@pytest.mark.parametrize("variant", VARIANTS)
def test_classification_rates_match_in_every_domain(variant):
    env = [-4.0, -1.0, 0.0, 2.0]
    data = make_classification_domains(4, 3000, variant=variant, env=env, random_state=1)
    table, e = whole_table(data)
    for name, p in classification_rates(table, e, variant).items():
        excess = (table[name] - p).groupby(data.sample_domain).sum()
        sd = np.sqrt(pd.Series(p * (1 - p), table.index).groupby(data.sample_domain).sum())
        assert (excess.abs() < 4 * sd).all(), name
    age = table.X1.groupby(data.sample_domain)
    rate = 65 + 0.5 * np.array(env)
    assert (abs(age.mean() - rate) < 4 * np.sqrt(rate / 3000)).all()
    assert np.allclose(age.var(), rate, rtol=0.15)


@pytest.mark.parametrize("task,variant", EDGES)
def test_graph_is_the_one_of_the_equations(task, variant):
    graph = MAKERS[task](n_domains=1, n_samples=2, variant=variant).graph
    edges = {tuple(edge.split("-")) for edge in EDGES[task, variant].split()}
    assert set(graph.edges) == edges
    assert nx.is_directed_acyclic_graph(graph)
    perturbed = {name for name, acts in graph.nodes(data="perturbed") if acts}
    assert perturbed == set(PERTURBED[task, variant].split())


@pytest.mark.parametrize("task,variant", EDGES)
def test_an_equation_reacts_to_its_inputs_and_to_nothing_else(task, variant):
    data = MAKERS[task](n_domains=3, n_samples=200, variant=variant)
    table, e = whole_table(data)
    values = {ENV: e} | {c: table[c].to_numpy(float) for c in table}
    for eq in MODELS[task](variant, 1.0).equations:
        before = eq.location(values)
        for moved in set(values) - {eq.name}:
            after = eq.location({**values, moved: 1.0 - values[moved]})
            is_input = data.graph.has_edge(moved, eq.name) or (moved == ENV and eq.perturbed)
            assert np.array_equal(before, after) != is_input, (moved, eq.name)


def test_dtypes():
    reg = make_regression_domains(n_domains=2, n_samples=5)
    assert set(reg.X.dtypes) | {reg.y.dtype} == {np.dtype("float64")}
    cla = make_classification_domains(n_domains=2, n_samples=5, label="X4")
    assert cla.X["X1"].dtype == "float64"
    assert cla.y.dtype == "int64" and set(cla.X.drop(columns="X1").dtypes) == {np.dtype("int64")}
    assert reg.sample_domain.dtype.kind == "i"


@pytest.mark.parametrize("task", MAKERS)
def test_another_label_is_the_same_data_seen_otherwise(task):
    by_y = MAKERS[task](n_domains=2, n_samples=30)
    by_x4 = MAKERS[task](n_domains=2, n_samples=30, label="X4")
    assert by_x4.y.name == "X4" and "Y" in by_x4.X and "X4" not in by_x4.X
    pd.testing.assert_series_equal(by_x4.y, by_y.X["X4"])
    assert nx.utils.graphs_equal(by_x4.graph, by_y.graph)


@pytest.mark.parametrize("task", MAKERS)
def test_same_seed_same_data_other_seed_other_data(task):
    first, second, other = (MAKERS[task](3, 40, random_state=s) for s in (5, 5, 6))
    pd.testing.assert_frame_equal(first.X, second.X)
    pd.testing.assert_series_equal(first.y, second.y)
    assert first.env == second.env and first.env != other.env


@pytest.mark.parametrize("task", MAKERS)
def test_a_domain_does_not_depend_on_those_after_it(task):
    few, many = MAKERS[task](2, 40, random_state=5), MAKERS[task](6, 40, random_state=5)
    pd.testing.assert_frame_equal(few.X, many.X.iloc[:80])
    assert few.env == {k: many.env[k] for k in (0, 1)}


def test_environments_do_not_depend_on_sizes():
    small = make_regression_domains(4, 10, random_state=2)
    large = make_regression_domains(4, [7, 80, 9, 10], random_state=2)
    poisson = make_regression_domains(4, 50, poisson_sizes=True, random_state=2)
    assert small.env == large.env == poisson.env
    assert np.bincount(large.sample_domain).tolist() == [7, 80, 9, 10]


def test_environments_have_the_stated_scale():
    env = make_regression_domains(2000, 1, env_scale=3.0).env
    assert kstest(np.array(list(env.values())) / 3.0, "norm").pvalue > 1e-4


def test_generators_move_on_between_calls():
    rng = np.random.default_rng(0)
    assert make_regression_domains(2, 5, random_state=rng).env != (
        make_regression_domains(2, 5, random_state=rng).env
    )


def test_poisson_sizes_vary_as_poisson_and_no_domain_is_empty():
    data = make_regression_domains(200, 50, poisson_sizes=True)
    sizes = np.bincount(data.sample_domain)
    assert abs(sizes.mean() - 50) < 4 * np.sqrt(50 / 200)
    assert 0.6 < sizes.var() / 50 < 1.5
    tiny = make_regression_domains(200, 1, poisson_sizes=True)
    assert np.bincount(tiny.sample_domain).min() == 1


def test_given_environments_are_used():
    assert make_regression_domains(3, 5, env=[1, -2, 0.5]).env == {0: 1.0, 1: -2.0, 2: 0.5}
    grid = make_regression_domains(10, 5, env="author-grid").env
    assert tuple(grid.values()) == AUTHOR_GRID
    assert tuple(make_regression_domains(3, 5, env="author-grid").env.values()) == AUTHOR_GRID[:3]


def test_extreme_environments_keep_probabilities_valid():
    data = make_classification_domains(2, 200, env=[-150.0, 150.0])
    low, high = (data.X[data.sample_domain == k] for k in (0, 1))
    assert (low.X2 == 1).all() and (high.X2 == 0).all() and (low.X1 == 0).all()
    assert np.isfinite(data.oracle(data.X, np.repeat([-150.0, 150.0], 200))).all()


@pytest.mark.parametrize(
    "options,message",
    [
        ({"variant": "autor"}, r"variant must be one of \['paper', 'author'\], got 'autor'"),
        ({"label": "Z"}, "label must be one of .*'Y'.*got 'Z'"),
        ({"noise": 0}, "noise must be a positive number"),
        ({"n_domains": 0}, "n_domains must be at least 1"),
        ({"n_samples": 0}, "n_samples must be whole numbers of at least 1"),
        ({"n_samples": [5, 5]}, r"one per domain \(10\), got shape \(2,\)"),
        ({"n_samples": 2.5}, "n_samples must be whole numbers"),
        ({"env": [1.0, 2.0]}, r"one value per domain \(n_domains=10\), got shape \(2,\)"),
        ({"env": [np.nan] * 10}, "env must be finite"),
        ({"env": "grid"}, r"\['author-grid'\], got 'grid'"),
        ({"env": "author-grid", "n_domains": 11}, "has 10 values, too few for n_domains=11"),
        ({"env_scale": -1}, "env_scale must be a number of at least 0"),
    ],
)
@pytest.mark.parametrize("task", MAKERS)
def test_errors_say_what_was_wrong(task, options, message):
    with pytest.raises(ValueError, match=message):
        MAKERS[task](**options)


def test_a_count_is_not_a_class():
    with pytest.raises(ValueError, match="label must be one of .* got 'X1'"):
        make_classification_domains(label="X1")

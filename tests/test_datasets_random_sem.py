"""Random models have the graph, the scale and the label they promise."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from dapdag.datasets import make_random_sem_domains
from dapdag.datasets.equations import ENV

ACTIVATIONS = ["tanh", "sigmoid", "relu", "elu"]


def model_of(data):
    return data.conditional.args[0]


def values_of(data) -> dict:
    env = np.array([data.env[k] for k in data.sample_domain])
    table = data.X.join(data.y)
    return {ENV: env} | {c: table[c].to_numpy() for c in table}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_equations_react_to_their_inputs_and_leave_the_stated_noise(activation):
    data = make_random_sem_domains(8, n_edges=12, noise=0.5, activation=activation)
    values = values_of(data)
    for eq in model_of(data).equations:
        before = np.broadcast_to(eq.location(values), values[ENV].shape)
        assert kstest((values[eq.name] - before) / 0.5, "norm").pvalue > 1e-4
        for moved in set(values) - {eq.name}:
            after = eq.location({**values, moved: np.roll(values[moved], 777)})
            change = np.sqrt(np.mean((after - before) ** 2))
            if data.graph.has_edge(moved, eq.name) or (moved == ENV and eq.perturbed):
                assert change > 0.05, (moved, eq.name)
            else:
                assert change == 0, (moved, eq.name)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_variables_do_not_grow_along_the_causal_order(activation):
    data = make_random_sem_domains(
        30, n_edges=90, n_domains=30, n_samples=50, activation=activation
    )
    sd = data.X.join(data.y).std()
    assert sd.min() > 0.7 and sd.max() < 5


def test_expected_number_of_edges():
    counts = [
        make_random_sem_domains(
            8, n_edges=10, n_domains=1, n_samples=1, random_state=s
        ).graph.number_of_edges()
        for s in range(30)
    ]
    p = 10 / 28
    assert abs(np.mean(counts) - 10) < 4 * np.sqrt(28 * p * (1 - p) / 30)


def test_graphs_are_acyclic_and_column_order_is_not_causal():
    forward = backward = 0
    for seed in range(10):
        data = make_random_sem_domains(10, n_domains=1, n_samples=1, random_state=seed)
        graph = data.graph
        assert nx.is_directed_acyclic_graph(graph)
        assert list(graph) == [f"X{i}" for i in range(1, 11)]
        assert graph.in_degree(data.y.name) > 0
        later = [int(a[1:]) < int(b[1:]) for a, b in graph.edges]
        forward, backward = forward + sum(later), backward + len(later) - sum(later)
    assert 0.3 < forward / (forward + backward) < 0.7


@pytest.mark.parametrize("share,count", [(0.0, 0), (0.5, 5), (1.0, 10)])
def test_share_of_perturbed_variables(share, count):
    graph = make_random_sem_domains(env_share=share, n_domains=1, n_samples=1).graph
    assert sum(acts for _, acts in graph.nodes(data="perturbed")) == count


def test_model_does_not_depend_on_the_domains_nor_a_domain_on_those_after_it():
    few = make_random_sem_domains(n_domains=2, n_samples=30, random_state=3)
    many = make_random_sem_domains(n_domains=5, n_samples=30, random_state=3)
    pd.testing.assert_frame_equal(few.X, many.X.iloc[:60])
    assert few.y.name == many.y.name and nx.utils.graphs_equal(few.graph, many.graph)
    assert few.env == {k: many.env[k] for k in (0, 1)}


def test_label_by_name_is_the_same_data_seen_otherwise():
    default = make_random_sem_domains(n_domains=2, n_samples=20)
    name = next(c for c in default.X)
    chosen = make_random_sem_domains(n_domains=2, n_samples=20, label=name)
    pd.testing.assert_series_equal(chosen.y, default.X[name])


def test_survives_pickling():
    data = make_random_sem_domains(n_domains=1, n_samples=10)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.oracle(data.X, 0.5), data.oracle(data.X, 0.5))


@pytest.mark.parametrize(
    "options,message",
    [
        ({"n_variables": 1}, "n_variables must be at least 2"),
        ({"n_variables": 4, "n_edges": 7}, "between 0 and 6 for 4 variables, got 7"),
        ({"env_share": 1.5}, "env_share must be between 0 and 1"),
        ({"activation": "step"}, "activation must be one of .* got 'step'"),
        ({"label": "Y"}, "label must be one of .* got 'Y'"),
        ({"hidden": 0}, "hidden must be at least 1"),
    ],
)
def test_errors_say_what_was_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        make_random_sem_domains(**options)

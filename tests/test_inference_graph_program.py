"""The compiled posterior of large sites is that of the EM."""

import networkx as nx
import numpy as np
import pytest

from dapdag import DAPDAGClassifier
from dapdag.data.chunks import padded_piece
from dapdag.datasets import make_anticausal_domains
from dapdag.inference.experts import evaluate_slots, label_support
from dapdag.inference.graph_expert import infer_label
from dapdag.inference.graph_program import label_moments

ROWS = 100


@pytest.fixture(scope="module")
def case():
    """A model of which one child reads the label alone, and one a cause as well; and new rows."""
    data = make_anticausal_domains(random_state=0, effects="mixed", n_domains=4, n_samples=120)
    *causes, shared, alone = data.X.columns
    edges = [(cause, "Y") for cause in causes]
    edges += [("Y", shared), (causes[0], shared), ("Y", alone)]
    model = DAPDAGClassifier(structure=nx.DiGraph(edges), max_epochs=6, n_members=1)
    X = data.X.iloc[:ROWS].copy()
    X.iloc[:20, -1] = np.nan  # a missing child drops out of either
    return model.fit(data.X, data.y, sample_domain=data.sample_domain).fitted_.model, X


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_the_compiled_posterior_equals_that_of_the_em(case, temperature):
    model, X = case
    cells, _ = padded_piece(model.table, X)
    shares, env = model.network_weights[1, :, : model.sizes.n_predictors], model.source_mean[:, 0]
    support = label_support(model)
    slots = evaluate_slots(model, shares, env, cells, ROWS, labelled=False)
    found = infer_label(model.effects, slots, support, temperature)
    mean, _ = label_moments(model, shares, env, found.effects, temperature, cells)
    np.testing.assert_allclose(mean[:ROWS], found.mean(support), atol=1e-5)
    assert found.mean(support).std() > 0.01

"""Sites outside the range of the sources: E is a MAP estimate under the decoder."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from dapdag import DAPDAGRegressor
from dapdag.data import layout
from dapdag.data.chunks import Chunks
from dapdag.datasets import make_regression_domains
from dapdag.inference import environment, site
from dapdag.inference.fitted import EnvPosterior
from dapdag.inference.site import Site

FAR, MIDST = 6, 7
ENV = [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0, 2.0, 0.1]

# Since encoder and decoder are trained alone, the encoder is off by .07 here and the MAP estimate
# by .60 (means of two seeds, the range of the sources is 2): the refinement does harm.
REFINED = pytest.mark.xfail(
    strict=True, reason="the MAP estimate of E is worse than the encoder's since structure first"
)


@functools.cache
def trained(seed=0):
    """A model of the first six sites; one of the two others lies half a range beyond them."""
    data = make_regression_domains(
        n_domains=8, n_samples=200, env=ENV, noise=0.5, random_state=seed
    )
    rows = data.sample_domain < FAR
    est = DAPDAGRegressor(n_members=1, max_epochs=120)
    est.fit(data.X[rows], data.y[rows], sample_domain=data.sample_domain[rows])
    tables = {d: data.X[data.sample_domain == d] for d in (FAR, MIDST)}
    return est.fitted_.model, tables


def encode(model, X):
    return environment.encode(model, Chunks(model.table, X))


def infer_environment(model, X):
    return Site(model, X).env


def refine(model, X, q):
    data = layout.encode(model.table, *model.table.encode(X), None)
    return environment.refine(model, data, len(X), q)


def position(model, q):
    """E on the scale of the true ones, by the line through the sources."""
    slope, offset = np.polyfit(model.source_mean[0, :, 0], ENV[:FAR], 1)
    return float(offset + slope * q.mean[0, 0])


@REFINED
def test_the_map_estimate_locates_a_distant_site():
    errors = np.zeros(2)
    for seed in (0, 1):
        model, tables = trained(seed)
        for k, infer in enumerate([encode, infer_environment]):
            errors[k] += abs(position(model, infer(model, tables[FAR])) - ENV[FAR]) / 2
    by_encoder, by_decoder = errors
    assert by_decoder < 0.8 * by_encoder
    assert by_decoder < 0.3


def test_within_the_range_of_the_sources_the_encoders_posterior_is_kept():
    model, tables = trained()
    encoded = encode(model, tables[MIDST])
    assert refine(model, tables[MIDST], encoded) is encoded


@REFINED
def test_an_extreme_posterior_of_the_encoder_is_corrected():
    model, tables = trained()
    q = encode(model, tables[FAR])
    absurd = EnvPosterior(np.sign(q.mean) * 500.0, q.variance)
    found = refine(model, tables[FAR], absurd)
    assert abs(position(model, found) - ENV[FAR]) < 0.4
    np.testing.assert_array_equal(found.variance, q.variance)


def test_the_map_estimate_stays_on_the_encoders_side_of_the_sources():
    model, tables = trained()
    low, high = model.source_span
    # The rows are of a site in the midst: the nearest edge is the likeliest on either side.
    for edge, outside in ((low, low - 0.3 * (high - low)), (high, high + 0.3 * (high - low))):
        q = EnvPosterior(outside, np.full_like(outside, 0.01))
        found = refine(model, tables[MIDST], q)
        np.testing.assert_allclose(found.mean, edge, rtol=1e-6)


def test_the_order_of_the_rows_does_not_matter(monkeypatch):
    model, tables = trained()
    monkeypatch.setattr(site, "REFINE_ROWS", 200)
    X = tables[FAR]
    turned = infer_environment(model, X.iloc[::-1])
    np.testing.assert_allclose(turned.mean, infer_environment(model, X).mean, rtol=1e-4)


def only_children_of_the_label(model):
    parents = np.zeros_like(model.parents)
    parents[-1, :-1] = 1.0
    return replace(model, parents=parents)


def trained_by_the_label(model):
    """The paper's form: the likelihood of the features does not determine E."""
    return replace(model, sizes=replace(model.sizes, reads=0))


@pytest.mark.parametrize("changed", [only_children_of_the_label, trained_by_the_label])
def test_the_posterior_of_the_encoder_is_kept_where_no_feature_is_usable(changed):
    model, tables = trained()
    q = encode(model, tables[FAR])
    assert refine(model, tables[FAR], q) is not q
    assert refine(changed(model), tables[FAR], q) is q


def test_children_of_the_label_are_not_used():
    model, _ = trained()
    parents = np.zeros_like(model.parents)
    parents[-1, [1, 3]] = 1.0
    usable = environment.label_free(replace(model, parents=parents))
    assert usable[1] == usable[3] == usable[-1] == 0
    assert usable[0] == usable[2] == 1

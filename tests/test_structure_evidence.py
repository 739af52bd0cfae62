"""Closed-form evidence against dense linear algebra."""

import numpy as np
import pandas as pd
import pytest

from dapdag.structure import constants as c
from dapdag.structure.batch import make_batch
from dapdag.structure.columns import encode
from dapdag.structure.dictionary import build_dictionary, fit_features
from dapdag.structure.evidence import fit_models
from dapdag.structure.models import best_models, residual_coefficients, with_unequal_noise
from dapdag.structure.nesting import FULL_MODEL, included_terms
from dapdag.structure.site_effects import site_terms
from dapdag.structure.summary import summarise


def _dictionary(n_rows=24, n_sites=3):
    rng = np.random.default_rng(3)
    site = np.arange(n_rows) % n_sites
    a, b = rng.normal(size=(2, n_rows))
    y = a + 0.5 * a * b + site + 0.3 * rng.normal(size=n_rows)
    X = pd.DataFrame({"a": a, "b": b, "y": y})
    table = encode(summarise(X, site).table(), seed=0)
    target = table.names.index("y")
    others = tuple(j for j in range(3) if j != target)
    return build_dictionary(fit_features(table), target, others)


def _dense(dictionary, batch, level, model, position):
    """log p(y) by the covariance of y, with the noise variance at its best value."""
    table = dictionary.features.table
    Phi = dictionary.rows(slice(0, table.n_rows))[:, batch.columns[0]]
    p = batch.n_terms
    kept = included_terms(batch.n_parents, batch.layout)[model]
    y = Phi[:, p]
    cov = (
        np.eye(len(y))
        + Phi[:, :p][:, kept] @ np.diag(1 / batch.precision[0][kept]) @ Phi[:, :p][:, kept].T
    )
    if level:
        terms, precision = site_terms(batch, level)
        along = c.SITE_LEVELS[level].along
        same = table.site[:, None] == table.site[None, :]
        for k, (term, prior) in enumerate(zip(terms, precision, strict=True)):
            outer = np.outer(Phi[:, term], Phi[:, term]) / prior
            if along and k > 0:
                e = position[table.site]
                cov += outer * np.outer(e, e)
            else:
                cov += outer * same
    _, log_det = np.linalg.slogdet(cov)
    n = len(y)
    return -0.5 * n * np.log(y @ np.linalg.solve(cov, y) / n) - 0.5 * log_det


@pytest.mark.parametrize("level", range(len(c.SITE_LEVELS)))
@pytest.mark.parametrize("model", [0, 2, FULL_MODEL, 6])
def test_evidence_is_the_marginal_likelihood_of_the_dense_model(level, model):
    dictionary = _dictionary()
    batch = make_batch(dictionary, [(0, 1)])
    fit = fit_models(batch, level, np.ones((1, 3)), np.ones(1))
    expected = _dense(dictionary, batch, level, model, dictionary.features.position)
    assert fit.value[0, 0, model] == pytest.approx(expected, abs=1e-6)


def test_residuals_of_the_posterior_mean_are_those_of_the_dense_model():
    dictionary = _dictionary()
    batch = make_batch(dictionary, [(0, 1)])
    table = dictionary.features.table
    (choice, *_) = best_models(batch, -np.inf)
    coefficients = residual_coefficients(batch, choice)[0]
    Phi = dictionary.rows(slice(0, table.n_rows))[:, batch.columns[0]]
    residual = np.einsum("nt,nt->n", Phi, coefficients[table.site])
    # shrinkage keeps the residuals smaller than the target, and centred
    assert residual.var() < Phi[:, batch.n_terms].var()
    assert abs(residual.mean()) < 0.1


def test_sets_of_a_batch_do_not_influence_each_other():
    dictionary = _dictionary()
    together = best_models(make_batch(dictionary, [(0,), (1,)]), -np.inf)[0]
    for k in range(2):
        alone = best_models(make_batch(dictionary, [(k,)]), -np.inf)[0]
        assert alone.value[0] == pytest.approx(together.value[k], abs=1e-8)


def test_unequal_noise_is_found_where_it_is():
    rng = np.random.default_rng(0)
    site = np.repeat([0, 1], 400)
    x = rng.normal(size=800)
    y = x + np.where(site == 0, 0.2, 2.0) * rng.normal(size=800)
    table = encode(summarise(pd.DataFrame({"x": x, "y": y}), site).table(), seed=0)
    j = table.names.index("y")
    dictionary = build_dictionary(fit_features(table), j, (1 - j,))
    batch = make_batch(dictionary, [(0,)])
    choice = with_unequal_noise(batch, best_models(batch, -np.inf)[0], 0.0)
    assert choice.unequal_noise[0]
    assert choice.weight[0, 0] > 10 * choice.weight[0, 1]

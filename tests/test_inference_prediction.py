import functools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from jax.flatten_util import ravel_pytree
from test_paper_statements import fitted, simulated

from dapdag.data import chunks
from dapdag.data.bounds import OPEN
from dapdag.data.columns import Discrete, Standardised, learn_feature
from dapdag.data.layout import sizes_of
from dapdag.data.sample import Sample
from dapdag.data.table import Table
from dapdag.inference import environment, evidence, prediction, programs, site
from dapdag.inference.combination import Combination
from dapdag.inference.coordinates import EnvironmentMap
from dapdag.inference.environment import (
    draws_of,
    environment_of,
    summarise,
)
from dapdag.inference.expected_scores import ScoreErrors
from dapdag.inference.fitted import EnvPosterior, FittedModel
from dapdag.inference.missing import MissingEffects
from dapdag.inference.recalibration import Calibration
from dapdag.inference.site import Site
from dapdag.model import Network, Sizes
from dapdag.model.constants import LEVEL_ROWS
from dapdag.model.formulation import Formulation
from dapdag.training.form import DAPDAG, PAPER

ROWS, DIM, MEMBERS = 60, 2, 2


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.lognormal(size=n),
            "c": rng.choice(["x", "y"], size=n),
            "d": rng.choice(["p", "q", "r"], size=n),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1)


@functools.cache
def make_model(classes=False, **formulation):
    """A model with random weights: what holds for any weights needs no training."""
    frame = make_rows(500, seed=1)
    features = tuple(learn_feature(name, frame[name]) for name in frame)
    label = (
        Discrete("y", ("hi", "lo", "mid"), (1.0, 1.0, 1.0))
        if classes
        else Standardised("y", 2.0, 3.0)
    )
    table = Table(features, label)
    sizes = Sizes(*sizes_of(table), hidden=5, env_dim=DIM, n_shared=1, n_predictors=2)
    variables = sizes.variables
    rng = np.random.default_rng(0)
    n_parameters = ravel_pytree(Network.zeros(sizes))[0].size
    return FittedModel(
        table=table,
        sizes=sizes,
        formulation=Formulation(**formulation),
        vectors=rng.normal(0, 0.5, (MEMBERS, n_parameters)).astype(np.float32),
        parents=np.ones((variables, variables), dtype=np.float32),
        prior_precision=1.5,
        source_mean=rng.normal(size=(MEMBERS, 4, DIM)),
        source_variance=np.full((MEMBERS, 4, DIM), 0.01),
        label_scale=np.array([0.3, 0.4]),
        normal=rng.normal(size=(8, DIM)),
        missing=MissingEffects(
            np.full(len(table.features), float(isinstance(table.label, Discrete))),
            np.zeros(len(table.features)),
        ),
        combination=Combination.of_networks(1.0),
        effects=None,
        label_range=(-3.0, 3.0),
        label_bounds=OPEN,
        calibration=calibration_of(table.label),
        score_errors=ScoreErrors.none(table.label.kind),
        worst_source_loss=np.full(len(table.features), np.inf),
    )


def calibration_of(label):
    """Nothing is known about new sites."""
    if not isinstance(label, Discrete):
        return Calibration(np.zeros(1))
    k = len(label.levels)
    return Calibration(np.zeros(k), overall=np.full(k, 1 / k))


def infer_environment(model, X):
    return Site(model, X).env


def predict_label(model, X, q):
    table = chunks.Chunks(model.table, X)
    known, _ = prediction.infer_site(model, evidence.gather(model, table).kept.data, q)
    return prediction.score_table(model, known, table)


def summary_of(model, X):
    return summarise(model, chunks.Chunks(model.table, X))


def assert_same_environment(a, b):
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(a.variance, b.variance, rtol=1e-4)


def test_a_domain_in_chunks_is_the_domain_as_a_whole(monkeypatch):
    model, X = make_model(), make_rows(150)
    whole = infer_environment(model, X)
    predicted = predict_label(model, X, whole)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 64)
    assert len(chunks.Chunks(model.table, X).parts) == 3
    assert_same_environment(infer_environment(model, X), whole)
    chunked = predict_label(model, X, whole)
    np.testing.assert_allclose(chunked.mean, predicted.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(chunked.variance, predicted.variance, rtol=1e-4)


@pytest.mark.parametrize("kept", [0, 1500, chunks.KEPT_CELLS])
def test_chunks_are_encoded_once_as_far_as_there_is_room(monkeypatch, kept):
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 64)
    monkeypatch.setattr(chunks, "KEPT_CELLS", kept)
    for module in (site, evidence):
        monkeypatch.setattr(module, "SITE_ROWS", 40)
    encoded = []
    inner = chunks.padded_piece
    monkeypatch.setattr(
        chunks, "padded_piece", lambda table, X: encoded.append(len(X)) or inner(table, X)
    )
    model, X = make_model(), make_rows(150)
    predicted = Site(model, X).label
    size = inner(model.table, X[:64])[0]
    room = kept // (size.values.size + size.observed.size)
    assert len(encoded) == 3 + max(3 - room, 0)
    expected = predict_label(model, X, infer_environment(model, X))
    np.testing.assert_allclose(predicted.mean, expected.mean, rtol=1e-5, atol=1e-6)


def test_blocks_within_a_chunk_change_nothing(monkeypatch):
    model, X = make_model(), make_rows(120)
    q = environment_of(model, summary_of(model, X[:60]) + summary_of(model, X[60:]))
    halves = [predict_label(model, part, q).mean for part in (X[:60], X[60:])]
    monkeypatch.setattr(programs, "BLOCK_ROWS", 32)
    assert_same_environment(infer_environment(model, X), q)
    np.testing.assert_allclose(
        predict_label(model, X, q).mean, np.concatenate(halves), rtol=1e-4, atol=1e-5
    )


def test_summaries_of_two_parts_add_up_to_the_domain():
    model, X = make_model(), make_rows(ROWS)
    merged = summary_of(model, X[:20]) + summary_of(model, X[20:])
    assert_same_environment(environment_of(model, merged), infer_environment(model, X))


def test_order_of_rows_moves_predictions_along_and_leaves_the_environment():
    model, X = make_model(), make_rows(ROWS)
    order = np.random.default_rng(0).permutation(ROWS)
    q, shuffled = infer_environment(model, X), infer_environment(model, X.iloc[order])
    assert_same_environment(shuffled, q)
    np.testing.assert_allclose(
        predict_label(model, X.iloc[order], q).mean,
        predict_label(model, X, q).mean[order],
        rtol=1e-5,
        atol=1e-6,
    )


def test_more_rows_narrow_the_environment():
    model, X = make_model(), make_rows(ROWS)
    sd = np.stack([np.sqrt(infer_environment(model, X[:n]).variance) for n in (1, 5, 20, ROWS)])
    assert (np.diff(sd, axis=0) < 0).all()
    assert (sd <= 1 / np.sqrt(model.prior_precision)).all()


def test_a_row_with_nothing_observed_gets_a_finite_prediction():
    model = make_model()
    X = make_rows(3)
    X.loc[1, :] = None
    X.loc[2, "d"] = "never seen"
    found = predict_label(model, X, infer_environment(model, X))
    assert np.isfinite(found.mean).all() and np.isfinite(found.variance).all()


def test_without_environments_every_row_is_predicted_on_its_own():
    model = make_model(uses_environment=False)
    X = make_rows(ROWS)
    q = infer_environment(model, X)
    assert (q.mean == 0).all() and (q.variance == 0).all()
    whole = predict_label(model, X, q).mean
    few = X.iloc[[3, 40]]
    part = predict_label(model, few, infer_environment(model, few)).mean
    np.testing.assert_allclose(part, whole[[3, 40]], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("domains", "learned"), [(1, False), (2, True)])
def test_the_environment_is_used_from_two_domains_on(domains, learned):
    data, _ = simulated()
    rows = data.sample_domain < domains
    sample = Sample(
        X=data.X[rows],
        y=data.y[rows].to_numpy(),
        domain=data.sample_domain[rows],
        domain_labels=tuple(range(domains)),
        n_sources=domains,
        label_name="Y",
        classes=None,
    )
    assert DAPDAG.for_samples([sample]).environment == learned
    assert DAPDAG.for_samples([sample]).stacking == learned
    assert PAPER.for_samples([sample]).environment == learned


def test_draws_are_clipped_to_the_extended_range_of_the_sources():
    model = make_model()
    far = EnvPosterior(np.full((MEMBERS, DIM), 1e3), np.full((MEMBERS, DIM), 0.01))
    low, high = model.source_mean.min(1), model.source_mean.max(1)
    expected = high + environment.CLIP_RANGES * (high - low)
    np.testing.assert_allclose(draws_of(model, far).max(1), expected, rtol=1e-6)


def test_the_point_formulation_uses_the_mean_alone(monkeypatch):
    monkeypatch.setattr(environment, "CLIP_RANGES", np.inf)
    model = make_model(bayesian=False)
    q = infer_environment(model, make_rows(ROWS))
    np.testing.assert_allclose(draws_of(model, q), q.mean[:, None], rtol=1e-6)


def narrow(model):
    """A posterior that is narrow against the sources' spread."""
    sd = 0.9 * environment.NARROW * model.source_mean.std(1)
    return EnvPosterior(np.array([[0.5, -1.0], [0.2, 0.9]]), sd**2)


def test_few_points_stand_for_a_narrow_posterior():
    model = make_model()
    q = narrow(model)
    points = draws_of(model, q)
    assert points.shape[1] < len(model.normal)
    np.testing.assert_allclose(points.mean(1), q.mean, rtol=1e-5)


def test_few_points_predict_like_brute_force_monte_carlo(monkeypatch):
    model, X = make_model(), make_rows(ROWS)
    q = narrow(model)
    few = predict_label(model, X, q)
    monkeypatch.setattr(environment, "NARROW", 0.0)
    many = replace(model, normal=np.random.default_rng(5).normal(size=(4000, DIM)))
    brute = predict_label(many, X, q)
    spread = np.sqrt(brute.variance)
    np.testing.assert_allclose(few.mean / spread, brute.mean / spread, atol=0.02)
    np.testing.assert_allclose(few.variance, brute.variance, rtol=0.05)


def test_a_wide_posterior_is_integrated_over_the_models_draws(monkeypatch):
    monkeypatch.setattr(environment, "CLIP_RANGES", np.inf)
    model = make_model()
    q = EnvPosterior(np.zeros((MEMBERS, DIM)), np.ones((MEMBERS, DIM)))
    np.testing.assert_allclose(draws_of(model, q)[1], model.normal, rtol=1e-5)


def test_a_wider_posterior_of_e_widens_the_labels_distribution():
    model, X = make_model(), make_rows(ROWS)
    mean = narrow(model).mean
    known, vague = (
        predict_label(model, X, EnvPosterior(mean, np.full((MEMBERS, DIM), v))) for v in (1e-8, 1.0)
    )
    assert vague.variance.mean() > known.variance.mean()
    assert (known.variance >= np.mean(model.label_scale**2)).all()


def test_variance_at_new_sites_widens_the_interval_and_leaves_the_mean():
    model, X = make_model(), make_rows(ROWS)
    q = narrow(model)
    wide = Calibration(np.zeros(1), tau2=0.3, ratio=2.0, n_sites=3)
    usual, grown = (
        predict_label(replace(model, calibration=c), X, q) for c in (model.calibration, wide)
    )
    np.testing.assert_array_equal(usual.mean, grown.mean)
    np.testing.assert_allclose(grown.variance, 2 * usual.variance + 0.4, rtol=1e-9)


def test_the_slope_moves_the_mean_of_a_site_towards_the_usual_one():
    model, X = make_model(), make_rows(ROWS)
    q = narrow(model)
    half = replace(model, calibration=Calibration(np.ones(1), slope=0.5))
    usual, moved = predict_label(model, X, q).mean, predict_label(half, X, q).mean
    shift = moved - usual
    np.testing.assert_allclose(shift, np.full_like(shift, shift[0, 0]))
    # rows like those of the sources keep a small site from moving all the way
    expected = 0.5 * ROWS / (ROWS + LEVEL_ROWS) * (1 - usual.mean())
    np.testing.assert_allclose(shift[0, 0], expected, rtol=1e-6)


def test_an_ensemble_is_the_mean_of_its_members():
    model, X = make_model(), make_rows(ROWS)
    q = narrow(model)
    parts = []
    for m in range(MEMBERS):
        one = replace(
            model,
            vectors=model.vectors[m : m + 1],
            source_mean=model.source_mean[m : m + 1],
            label_scale=model.label_scale[m : m + 1],
        )
        parts.append(predict_label(one, X, EnvPosterior(q.mean[m : m + 1], q.variance[m : m + 1])))
    together = predict_label(model, X, q)
    means = np.stack([p.mean for p in parts])
    np.testing.assert_allclose(together.mean, means.mean(0), rtol=1e-4, atol=1e-5)
    within = np.mean([p.variance for p in parts], axis=0)
    np.testing.assert_allclose(together.variance, within + means.var(0), rtol=1e-3)


@functools.cache
def turned():
    """A model whose second member has the first one's E in other coordinates."""
    model = make_model()
    first = model.source_mean[0]
    turn, shift = np.array([[0.0, 2.0], [-0.5, 0.3]]), np.array([1.0, -4.0])
    own = replace(model, source_mean=np.stack([first, first @ turn + shift]))
    return own, EnvironmentMap.align(own), turn, shift


def test_members_agree_on_an_environment_once_their_coordinates_are_aligned():
    _, aligned, turn, shift = turned()
    point = np.array([0.3, -0.8])
    q = EnvPosterior(np.stack([point, point @ turn + shift]), np.full((2, DIM), 1e-12))
    found = aligned.describe(["new"], [q]).loc["new"]
    np.testing.assert_allclose(found[["E1_mean", "E2_mean"]].astype(float), point, atol=1e-6)
    np.testing.assert_allclose(found[["E1_sd", "E2_sd"]].astype(float), 0.0, atol=1e-5)
    np.testing.assert_allclose(aligned.to_members(point), q.mean, atol=1e-6)


def test_sources_lie_inside_and_far_environments_outside():
    model, aligned, turn, shift = turned()
    points = [model.source_mean[0].mean(0), model.source_mean[0].max(0) + 1.0]
    found = aligned.describe(
        ["middle", "far"],
        [EnvPosterior(np.stack([p, p @ turn + shift]), np.full((2, DIM), 0.01)) for p in points],
    )
    assert found["outside"].tolist() == [False, True]


def test_disagreement_between_members_widens_the_environment():
    _, aligned, turn, shift = turned()
    variance = np.full((2, DIM), 1e-12)
    a, b = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    found = aligned.describe(["x"], [EnvPosterior(np.stack([a, b @ turn + shift]), variance)])
    np.testing.assert_allclose(found["E1_mean"], 1.0, atol=1e-6)
    np.testing.assert_allclose(found["E1_sd"], 1.0, atol=1e-5)


def test_probabilities_of_several_classes_add_up_to_one():
    model, X = make_model(classes=True), make_rows(ROWS)
    found = predict_label(model, X, infer_environment(model, X))
    assert found.variance is None
    assert found.mean.shape == (ROWS, 3) and (found.mean > 0).all()
    np.testing.assert_allclose(found.mean.sum(1), 1.0, rtol=1e-5)


def test_one_row_gives_a_wide_posterior_of_e():
    _, split = simulated()
    est = fitted()
    one = est.environment(split.X_target[:1]).iloc[0]
    whole = est.environment(split.X_target).iloc[0]
    prior = 1 / np.sqrt(est.prior_precision)
    assert 0.7 * prior < one["E1_sd"] <= prior
    assert whole["E1_sd"] < 0.3 * prior
    mean, std = est.predict(split.X_target[:1], return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()


def test_several_domains_in_one_call_are_one_call_each():
    data, _ = simulated()
    est = fitted()
    rows = np.flatnonzero(np.isin(data.sample_domain, [0, 1, 2]))
    rows = np.random.default_rng(0).permutation(rows)[:120]
    X, domain = data.X.iloc[rows], data.sample_domain[rows]
    mean, std = est.predict(X, sample_domain=domain, return_std=True)
    found = est.environment(X, sample_domain=domain)
    assert sorted(found.index) == [0, 1, 2]
    for d in (0, 1, 2):
        own = X[domain == d]
        one_mean, one_std = est.predict(own, return_std=True)
        np.testing.assert_allclose(mean[domain == d], one_mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(std[domain == d], one_std, rtol=1e-5)
        np.testing.assert_allclose(
            found.loc[d, "E1_mean"], est.environment(own)["E1_mean"].iloc[0], rtol=1e-5
        )


def test_draws_of_the_environment_have_the_posteriors_moments():
    _, split = simulated()
    est = fitted()
    q = est.environment(split.X_target).iloc[0]
    draws = est.sample_environment(split.X_target, 20_000)
    assert draws.shape == (20_000, 1)
    assert abs(draws.mean() - q["E1_mean"]) < 0.05 * q["E1_sd"]
    assert abs(draws.std() / q["E1_sd"] - 1) < 0.05


def test_the_predictive_intervals_cover_the_label():
    _, split = simulated()
    low, high = fitted().predict_interval(split.X_target, coverage=0.9).T
    covered = ((low <= split.y_target) & (split.y_target <= high)).mean()
    assert 0.75 < covered <= 1.0

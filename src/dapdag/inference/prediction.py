"""E of a site and its rows → the label's predictive distribution."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.chunks import Chunks, padded_piece, spaced_rows
from ..data.columns import Discrete
from ..data.layout import Encoded
from ..model.constants import EFFECT_ROWS, REFEREE_ROWS, TEMPERATURES
from .environment import clip_to_range, draws_of
from .experts import evaluate_slots, label_support, network_moments
from .fitted import EnvPosterior, FittedModel
from .graph_expert import infer_label, relative_effects
from .graph_program import label_moments
from .missing import shrink_to_prevalence
from .recalibration import all_classes, class_proportions, site_proportions
from .site_effects import Effects


@dataclass(frozen=True)
class LabelDistribution:
    """Mean of the label's columns per row and, for numbers, the variance (standardised units)."""

    mean: NDArray[np.float64]  # [rows, label columns]
    variance: NDArray[np.float64] | None


@dataclass(frozen=True)
class Experts:
    """What the experts say about the rows of one site; f2 is absent without a graph."""

    networks: NDArray[np.float64]  # [f0 and f1, rows, label columns]
    squares: NDArray[np.float64]  # the same of the squares: [f0 and f1, rows, label columns]
    graph: NDArray[np.float64] | None  # [rows, label columns]
    graph_variance: NDArray[np.float64] | None  # [rows], of a number
    parents: NDArray[np.float64] | None  # from the label's parents alone, at some of the rows
    effects: tuple[Effects, ...]  # of the site on each mechanism
    relative: NDArray[np.float64]  # [children], effect of the label relative to the sources'
    weights: NDArray[np.float64]  # [experts] at this site
    missing: NDArray[np.float32]  # [rows, features], 1 where a feature is missing


def ask_experts(model: FittedModel, chunks: Chunks, q: EnvPosterior) -> Experts:
    """Predictions of all experts for a site whose E has the posterior `q`."""
    networks, squares, missing = _network_moments(model, chunks, q)
    weights = model.combination.weights
    if model.effects is None or not len(chunks.X):
        return Experts(networks, squares, None, None, None, (), np.zeros(0), weights, missing)
    env = clip_to_range(model, q.mean[:, None])[:, 0]
    temperature = TEMPERATURES[model.combination.temperature]
    shares = model.network_weights[1, :, : model.sizes.n_predictors]
    some = spaced_rows(len(chunks.X), EFFECT_ROWS)
    data, _ = padded_piece(model.table, chunks.X.iloc[some])
    slots = evaluate_slots(model, shares, env, data, len(some), labelled=False)
    support, estimates = label_support(model), model.rules.estimates_effects
    by_graph = infer_label(model.effects, slots, support, temperature, estimates)
    by_parents = infer_label(model.effects, slots, support, 0.0)
    learned = by_graph.effects
    relative = relative_effects(model.effects, slots, learned)
    graph, parents = by_graph.mean(support), by_parents.mean(support)
    # Missing cells alone make experts differ: complete rows tell whether they contradict others.
    complete = np.flatnonzero(~missing[some].any(1))
    if model.rules.has_referee and len(complete) >= REFEREE_ROWS:
        pooled, environment = networks[:, some[complete]]
        about = graph[complete], parents[complete]
        weights = model.combination.at_site(pooled, environment, *about)
    variance = by_graph.variance(support)
    if len(some) < len(chunks.X):
        graph, variance = np.empty((len(chunks.X), support.shape[1])), np.empty(len(chunks.X))
        site = model, shares, env, learned, temperature
        for rows, found in chunks.map(lambda data, _: label_moments(*site, data)):
            graph[rows], variance[rows] = (a[: rows.stop - rows.start] for a in found)
    return Experts(networks, squares, graph, variance, parents, learned, relative, weights, missing)


def predict_label(model: FittedModel, chunks: Chunks, q: EnvPosterior) -> LabelDistribution:
    """The label's distribution for rows of a site whose E has the posterior `q`."""
    return combine_experts(model, ask_experts(model, chunks, q))


def combine_experts(model: FittedModel, found: Experts) -> LabelDistribution:
    """The experts' weighted mean. Numbers: the variance is that of the means over experts,
    members, draws of E and networks, plus the noise at a site that was not trained on, plus what
    missing features add."""
    missing = found.missing
    own = found.weights[:2] / max(found.weights[:2].sum(), 1e-12)
    networks = np.tensordot(own, found.networks, 1)
    share = float(found.weights[2]) if found.graph is not None else 0.0
    if isinstance(model.table.label, Discrete):
        networks = _shrink_incomplete(model, networks, missing)
    mean = networks if found.graph is None else (1 - share) * networks + share * found.graph
    if isinstance(model.table.label, Discrete):
        return LabelDistribution(mean, None)
    # The standardised label has variance 1: a row without any feature has no more.
    noise = model.inflation * float(np.mean(model.label_scale**2))
    added = np.clip(missing @ model.missing.penalty, 0.0, max(1.0 - noise, 0.0))
    square = np.tensordot(own, found.squares, 1)
    within = (noise + added)[:, None]
    if found.graph is not None and found.graph_variance is not None:
        ratio = model.combination.variance_ratio
        square = (1 - share) * square + share * found.graph**2
        within = (1 - share) * within + share * ratio * found.graph_variance[:, None]
    return LabelDistribution(mean, np.maximum(square - mean**2, 0.0) + within)


def recalibrate(model: FittedModel, found: LabelDistribution) -> LabelDistribution:
    """The distribution for all rows of one site, with its class prevalence recalibrated."""
    if model.prevalence is None:
        return found
    moved = model.prevalence.applied(all_classes(found.mean))
    return LabelDistribution(moved[:, -found.mean.shape[1] :], None)


def _network_moments(
    model: FittedModel, chunks: Chunks, q: EnvPosterior
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float32]]:
    """First and second moment of the label's expected columns under f0 and f1, and which features
    are missing: in one pass over the rows."""
    envs, width, n_features = draws_of(model, q), model.table.label.width, len(model.table.features)

    def part(data: Encoded, present: NDArray[np.float32]) -> tuple[NDArray, ...]:
        moments = network_moments(model, model.network_weights, envs, data)
        return *moments, 1.0 - data.observed[:, :n_features]

    first, second = np.empty((2, 2, len(chunks.X), width))
    missing = np.empty((len(chunks.X), n_features), dtype=np.float32)
    for rows, found in chunks.map(part):
        n = rows.stop - rows.start
        first[:, rows], second[:, rows] = (array[:, :n] for array in found[:2])
        missing[rows] = found[2][:n]
    return first, second, missing


def _shrink_incomplete(
    model: FittedModel, means: NDArray[np.float64], missing: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Probabilities of the label's columns, shrunk towards the prevalence where cells are
    missing."""
    slope = np.exp(missing @ np.log(model.missing.penalty))
    incomplete = np.flatnonzero(slope < 1.0)
    if not len(incomplete):
        return means
    out = means.copy()
    overall = class_proportions(model.table.label)  # type: ignore[arg-type]
    found = all_classes(means)
    shrunk = shrink_to_prevalence(
        found[incomplete], slope[incomplete], site_proportions(found, overall)
    )
    out[incomplete] = shrunk[:, -means.shape[1] :]
    return out

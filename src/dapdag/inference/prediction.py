"""E of a site and its rows → the label's predictive distribution."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data.chunks import Chunks, padded
from ..data.columns import Discrete
from ..data.layout import Encoded, column_owner, take
from ..model.constants import EFFECT_ROWS, REFEREE_ROWS, TEMPERATURES
from .environment import clip_to_range, draws_of
from .experts import evaluate_slots, label_support, network_moments
from .fitted import EnvPosterior, FittedModel
from .graph_expert import infer_label, relative_effects
from .graph_program import label_moments
from .labels import Correction
from .missing import shrink_to_prevalence
from .recalibration import all_classes, class_proportions, shifted, site_proportions
from .site_effects import Effects


@dataclass(frozen=True)
class LabelDistribution:
    """Mean of the label's columns per row and, for numbers, the variance (standardised units)."""

    mean: NDArray[np.float64]  # [rows, label columns]
    variance: NDArray[np.float64] | None

    def take(self, rows: NDArray[np.intp]) -> "LabelDistribution":
        """The distribution at some of the rows."""
        variance = None if self.variance is None else self.variance[rows]
        return LabelDistribution(self.mean[rows], variance)


@dataclass(frozen=True)
class SiteEstimate:
    """What is inferred once about a site, and scores any of its rows.

    Attributes
    ----------
    env : posterior of E.
    effects : of the site on the mechanisms of the label and its children; empty without a graph.
    relative : [children], effect of the label relative to the sources'.
    weights : [experts] at this site.
    offset : moves the level: added to numbers [1], or to the logarithms of probabilities [classes].
    proportions : of the classes as the networks predict them; None for numbers.
    correction : what labels of the site say; None without labels.
    """

    env: EnvPosterior
    effects: tuple[Effects, ...]
    relative: NDArray[np.float64]
    weights: NDArray[np.float64]
    offset: NDArray[np.float64]
    proportions: NDArray[np.float64] | None = None
    correction: Correction | None = None


@dataclass(frozen=True)
class Experts:
    """What the experts say about rows of one site; f2 is absent where it has no weight."""

    networks: NDArray[np.float64]  # [f0 and f1, rows, label columns]
    squares: NDArray[np.float64]  # the same of the squares: [f0 and f1, rows, label columns]
    graph: NDArray[np.float64] | None  # [rows, label columns]
    graph_variance: NDArray[np.float64] | None  # [rows], of a number
    weights: NDArray[np.float64]  # [experts] at this site
    missing: NDArray[np.float32]  # [rows, features], 1 where a feature is missing
    proportions: NDArray[np.float64] | None  # of the classes at this site, by the networks


def infer_site(
    model: FittedModel, rows: Encoded, q: EnvPosterior
) -> tuple[SiteEstimate, LabelDistribution]:
    """What `rows` of a site whose E has the posterior `q` say about it, and their own labels.

    They are in random order: effects are estimated from the first `EFFECT_ROWS`.
    """
    networks, squares = moments_at(model, q, rows)
    site = SiteEstimate(q, (), np.zeros(0), model.combination.weights, np.zeros(1))
    if model.effects is not None and len(rows.values):
        some = slice(0, EFFECT_ROWS)
        site = _with_effects(model, site, take(rows, some), networks[:, some])
    return calibrated(model, site, ask_experts(model, site, rows, networks, squares), rows)


def calibrated(
    model: FittedModel, site: SiteEstimate, found: Experts, rows: Encoded
) -> tuple[SiteEstimate, LabelDistribution]:
    """The site with its class proportions and the offset that recalibrates them, from what the
    experts say about its rows; and the label of these."""
    if isinstance(model.table.label, Discrete):
        overall = class_proportions(model.table.label)
        proportions = site_proportions(all_classes(_mean_of_networks(found)), overall)
        site = replace(site, proportions=proportions)
        found = replace(found, proportions=proportions)
    label = combine_experts(model, found)
    means = all_classes(label.mean) if isinstance(model.table.label, Discrete) else label.mean
    site = replace(site, offset=model.calibration.offset(means))
    return site, recalibrate(model, site, rows, label)


def score_rows(model: FittedModel, site: SiteEstimate, rows: Encoded) -> LabelDistribution:
    """The label's distribution for rows of a site that is known."""
    found = ask_experts(model, site, rows, *moments_at(model, site.env, rows))
    return recalibrate(model, site, rows, combine_experts(model, found))


def feature_inputs(model: FittedModel, rows: Encoded) -> NDArray[np.float64]:
    """The features as the networks see them: centred columns, 0 where a cell is missing, and
    perhaps which cells are missing."""
    width, n = model.table.feature_width, len(model.table.features)
    owner = column_owner(model.table.features, width)
    center = np.asarray(model.layout.center)[:width]
    seen = rows.observed[:, owner]
    inputs = (rows.values[:, :width] - center) * seen
    if model.sizes.indicators:
        inputs = np.concatenate([inputs, 1.0 - rows.observed[:, :n]], axis=1)
    return inputs.astype(float)


def _with_effects(
    model: FittedModel, site: SiteEstimate, rows: Encoded, networks: NDArray[np.float64]
) -> SiteEstimate:
    """The site with its effects on mechanisms, estimated from its rows, and with its weights."""
    assert model.effects is not None
    shares, env, temperature = graph_setting(model, site.env)
    n = len(rows.values)
    slots = evaluate_slots(model, shares, env, padded(rows), n, labelled=False)
    support, estimates = label_support(model), model.rules.estimates_effects
    by_graph = infer_label(model.effects, slots, support, temperature, estimates)
    by_parents = infer_label(model.effects, slots, support, 0.0)
    relative = relative_effects(model.effects, slots, by_graph.effects)
    weights = model.combination.weights
    # Missing cells alone make experts differ: complete rows tell whether they contradict others.
    complete = np.flatnonzero(~_missing(model, rows).any(1))
    if model.rules.has_referee and len(complete) >= REFEREE_ROWS:
        pooled, environment = networks[:, complete]
        about = by_graph.mean(support)[complete], by_parents.mean(support)[complete]
        weights = model.combination.at_site(pooled, environment, *about)
    return replace(site, effects=by_graph.effects, relative=relative, weights=weights)


def graph_setting(model: FittedModel, q: EnvPosterior) -> tuple[NDArray, NDArray, float]:
    """Weights of the mechanisms' networks, E of each member, and the temperature."""
    shares = model.network_weights[1, :, : model.sizes.n_predictors]
    env = clip_to_range(model, q.mean[:, None])[:, 0]
    return shares, env, TEMPERATURES[model.combination.temperature]


def ask_experts(
    model: FittedModel,
    site: SiteEstimate,
    rows: Encoded,
    networks: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> Experts:
    """What the experts say about rows, given the moments of the networks there."""
    by_graph = None
    if site.effects and site.weights[2] > 0:
        shares, env, temperature = graph_setting(model, site.env)
        about = model, shares, env, site.effects, temperature
        n = len(rows.values)
        mean, variance = label_moments(*about, padded(rows))
        by_graph = mean[:n], variance[:n]
    return experts_from(model, site, rows, networks, squares, by_graph)


def experts_from(
    model: FittedModel,
    site: SiteEstimate,
    rows: Encoded,
    networks: NDArray[np.float64],
    squares: NDArray[np.float64],
    by_graph: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> Experts:
    """Moments of the networks, and mean and variance by the graph, as what the experts say."""
    graph, variance = by_graph or (None, None)
    missing = _missing(model, rows)
    return Experts(networks, squares, graph, variance, site.weights, missing, site.proportions)


def _missing(model: FittedModel, rows: Encoded) -> NDArray[np.float32]:
    """[rows, features], 1 where a feature is missing."""
    return 1.0 - rows.observed[:, : len(model.table.features)]


def score_table(model: FittedModel, site: SiteEstimate, chunks: Chunks) -> LabelDistribution:
    """`score_rows` of a table in chunks."""
    n, numbers = len(chunks.X), not isinstance(model.table.label, Discrete)
    mean = np.empty((n, model.table.label.width))
    variance = np.empty((n, 1)) if numbers else None

    def part(data: Encoded, present: NDArray[np.float32]) -> LabelDistribution:
        return score_rows(model, site, data)

    for rows, found in chunks.map(part):
        size = rows.stop - rows.start
        mean[rows] = found.mean[:size]
        if variance is not None and found.variance is not None:
            variance[rows] = found.variance[:size]
    return LabelDistribution(mean, variance)


def combine_experts(model: FittedModel, found: Experts) -> LabelDistribution:
    """The experts' weighted mean. Numbers: the variance is that of the means over experts,
    members, draws of E and networks, plus the noise at the sources, plus what missing features
    add."""
    missing, own = found.missing, _shares_of_networks(found)
    networks = _mean_of_networks(found)
    share = float(found.weights[2]) if found.graph is not None else 0.0
    if isinstance(model.table.label, Discrete):
        networks = _shrink_incomplete(model, networks, missing, found.proportions)
    mean = networks if found.graph is None else (1 - share) * networks + share * found.graph
    if isinstance(model.table.label, Discrete):
        return LabelDistribution(mean, None)
    # The standardised label has variance 1: a row without any feature has no more.
    noise = float(np.mean(model.label_scale**2))
    added = np.clip(missing @ model.missing.penalty, 0.0, max(1.0 - noise, 0.0))
    square = np.tensordot(own, found.squares, 1)
    within = (noise + added)[:, None]
    if found.graph is not None and found.graph_variance is not None:
        square = (1 - share) * square + share * found.graph**2
        within = (1 - share) * within + share * found.graph_variance[:, None]
    return LabelDistribution(mean, np.maximum(square - mean**2, 0.0) + within)


def _shares_of_networks(found: Experts) -> NDArray[np.float64]:
    return found.weights[:2] / max(float(found.weights[:2].sum()), 1e-12)


def _mean_of_networks(found: Experts) -> NDArray[np.float64]:
    """f0 and f1 by their weights: [rows, label columns]."""
    return np.tensordot(_shares_of_networks(found), found.networks, 1)


def recalibrate(
    model: FittedModel, site: SiteEstimate, rows: Encoded, found: LabelDistribution
) -> LabelDistribution:
    """The distribution for rows of a site, its level moved, with the variance between sites, or
    corrected by what its labels say."""
    found = _moved(model, site, found)
    if site.correction is not None:
        inputs, kind = feature_inputs(model, rows), model.table.label.kind
        mean, variance = site.correction.applied(found.mean, inputs, kind), found.variance
        if variance is not None:
            within = variance - model.calibration.between
            variance = site.correction.noise * within + site.correction.intercept_variance
        found = LabelDistribution(mean, variance)
    if found.variance is None:
        return found
    mean = np.clip(found.mean, *model.encoded_bounds)
    return LabelDistribution(mean, found.variance * model.calibration.row_noise.factor(mean))


def within_site(
    model: FittedModel, site: SiteEstimate, label: LabelDistribution
) -> NDArray[np.float64]:
    """Variance of a number without the part that all rows of a site share: [rows]."""
    assert label.variance is not None
    shared = model.calibration.between
    if site.correction is not None:
        shared = site.correction.intercept_variance
    factor = model.calibration.row_noise.factor(label.mean)
    return np.asarray(np.maximum(label.variance - factor * shared, 1e-9)[:, 0])


def _moved(model: FittedModel, site: SiteEstimate, found: LabelDistribution) -> LabelDistribution:
    calibration = model.calibration
    if found.variance is not None:
        return LabelDistribution(
            found.mean + site.offset, calibration.ratio * found.variance + calibration.between
        )
    moved = shifted(all_classes(found.mean), site.offset)
    return LabelDistribution(moved[:, -found.mean.shape[1] :], None)


def moments_at(
    model: FittedModel, q: EnvPosterior, rows: Encoded
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """First and second moment of the label's expected columns under f0 and f1."""
    n, envs = len(rows.values), draws_of(model, q)
    first, second = network_moments(model, model.network_weights, envs, padded(rows))
    return first[:, :n].astype(float), second[:, :n].astype(float)


def _shrink_incomplete(
    model: FittedModel,
    means: NDArray[np.float64],
    missing: NDArray[np.float32],
    proportions: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Probabilities of the label's columns, shrunk towards the site's proportions where cells are
    missing."""
    slope = np.exp(missing @ np.log(model.missing.penalty))
    incomplete = np.flatnonzero(slope < 1.0)
    if not len(incomplete) or proportions is None:
        return means
    out = means.copy()
    found = all_classes(means[incomplete])
    shrunk = shrink_to_prevalence(found, slope[incomplete], proportions)
    out[incomplete] = shrunk[:, -means.shape[1] :]
    return out

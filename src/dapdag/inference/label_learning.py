"""From the labelled rows of a site to its correction and to the experts' weights there."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.layout import Encoded
from ..model.constants import (
    FEWEST_OWN,
    NOISE_PRIOR_ROWS,
    OWN_ERRORS,
    OWN_FOLDS,
    OWN_FUNCTIONS,
    OWN_SPREADS,
    STACK_STEPS,
    WEIGHT_PRIOR,
)
from .combination import EXPERTS, simplex_grid
from .fitted import FittedModel
from .labels import (
    Basis,
    Correction,
    Problem,
    SiteVariation,
    class_columns,
    intercept_variance,
    link,
)
from .prediction import (
    LabelDistribution,
    SiteEstimate,
    ask_experts,
    calibrated,
    combine_experts,
    feature_inputs,
    moments_at,
    score_rows,
    within_site,
)

Array = NDArray[np.float64]


def add_labels(
    model: FittedModel, site: SiteEstimate, rows: Encoded, labelled: Encoded
) -> tuple[SiteEstimate, LabelDistribution]:
    """The site with what its `labelled` rows say, and the label at its `rows`."""
    site = replace(site, weights=_weights_given_labels(model, site, labelled))
    found = ask_experts(model, site, rows, *moments_at(model, site.env, rows))
    site, _ = calibrated(model, site, found, rows)
    label, kind = score_rows(model, site, labelled), model.table.label.kind
    variance = 1.0 if label.variance is None else float(within_site(model, site, label).mean())
    about = label.mean, _truth(model, labelled), feature_inputs(model, labelled)
    correction = learn_correction(*about, kind, variance, model.site_variation(label.mean))
    site = replace(site, correction=correction)
    return site, score_rows(model, site, rows)


def _weights_given_labels(model: FittedModel, site: SiteEstimate, labelled: Encoded) -> Array:
    # equal weights: all experts are to answer
    every = replace(site, weights=np.full(len(EXPERTS), 1 / len(EXPERTS)))
    found = ask_experts(model, every, labelled, *moments_at(model, site.env, labelled))
    graph = np.full_like(found.networks[0], np.nan) if found.graph is None else found.graph
    experts = np.concatenate([found.networks, graph[None]])
    stated = combine_experts(model, replace(found, weights=site.weights)).variance
    noise = 1.0 if stated is None else float(model.calibration.ratio * stated.mean())
    kind = model.table.label.kind
    return learn_weights(experts, _truth(model, labelled), site.weights, kind, noise)


def _truth(model: FittedModel, labelled: Encoded) -> Array:
    """The label's columns of rows whose label is known: [rows, label columns]."""
    columns = labelled.values[:, -model.sizes.label_columns :].astype(float)
    return columns[:, : model.table.label.width]


def learn_weights(experts: Array, truth: Array, weights: Array, kind: str, noise: float) -> Array:
    """Weights of the experts [experts, rows, label columns] given the labels of some rows.

    The least sum of the rows' losses plus κ |w − w₀|², where w₀ are the weights without labels:
    the left-out sources count like that many nats.
    """
    grid = np.concatenate([weights[None], simplex_grid(STACK_STEPS)])
    # an expert that was not asked (no graph) keeps its weight of 0
    grid = grid[(grid[:, np.isnan(experts).any((1, 2))] == 0).all(1)]
    experts = np.nan_to_num(experts)
    mixed = np.einsum("ge,enc->gnc", grid, experts)
    if kind == "continuous":
        losses = 0.5 * ((truth - mixed) ** 2).sum((1, 2)) / noise
    else:
        p = truth * mixed if kind == "categorical" else truth * mixed + (1 - truth) * (1 - mixed)
        losses = -np.log(np.maximum(p.sum(-1), 1e-6)).sum(1)
    penalty = WEIGHT_PRIOR * ((grid - weights) ** 2).sum(1)
    return np.asarray(grid[int((losses + penalty).argmin())])


def learn_correction(
    mean: Array,
    truth: Array,
    inputs: Array,
    kind: str,
    variance: float,
    variation: SiteVariation,
) -> Correction:
    """From predictions and truth [rows, label columns] and features [rows, inputs] of a site.

    `variance` is that which the predictions state, of a number.
    """
    eta, n = link(mean, kind), len(mean)
    bases = {count: Basis.of(inputs.shape[1], count) for count in (0, OWN_FUNCTIONS)}
    problems = {
        count: Problem(eta, class_columns(truth, kind), basis(inputs), kind, variance)
        for count, basis in bases.items()
    }
    count, spread = _choose(problems, variation) if n >= FEWEST_OWN else (0, 0.0)
    chosen = problems[count]
    found = chosen.fit(variation, spread)
    intercept, slope, coefficients = found
    losses = _held_out(chosen, variation, spread)
    noise = (NOISE_PRIOR_ROWS + 2 * losses.sum()) / (NOISE_PRIOR_ROWS + n)
    return Correction(
        intercept,
        intercept_variance(chosen, found, variation),
        slope,
        bases[count] if spread > 0 else None,
        coefficients,
        float(noise) if kind == "continuous" else 1.0,
        n,
    )


def _choose(problems: dict[int, Problem], variation: SiteVariation) -> tuple[int, float]:
    """Functions and spread of their coefficients with the least held-out loss; none unless the
    loss is lower than without them by more than `OWN_ERRORS` standard errors."""
    plain = _held_out(problems[0], variation, 0.0)
    best, chosen = plain, (0, 0.0)
    for count, problem in problems.items():
        for spread in OWN_SPREADS:
            losses = _held_out(problem, variation, spread)
            gain = plain - losses
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            if losses.mean() < best.mean() and gain.mean() > OWN_ERRORS * error:
                best, chosen = losses, (count, spread)
    return chosen


def _held_out(problem: Problem, variation: SiteVariation, spread: float) -> Array:
    """Loss of every row when it is left out of the fit, in folds."""
    n = len(problem.eta)
    if n < 2:
        return problem.losses((np.zeros(problem.eta.shape[1]), 1.0, np.zeros((0, 1))))
    fold = np.arange(n) % min(OWN_FOLDS, n)
    out = np.empty(n)
    for k in np.unique(fold):
        found = problem.take(fold != k).fit(variation, spread)
        out[fold == k] = problem.take(fold == k).losses(found)
    return out

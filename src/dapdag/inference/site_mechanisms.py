"""How the mechanisms of the label and its children differ at a site from those at the sources.

The uncertainty is that of the observed information (Louis 1982): the information of rows whose
label is known, less what is lost because the label is only inferred, plus that of the prior.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, softmax
from scipy.stats import norm

from ..data.chunks import padded
from ..model.constants import EFFECT_DOF, EFFECT_ROWS, TURNED
from .experts import evaluate_slots, label_support
from .fitted import FittedModel
from .graph_expert import EffectPrior, expect, relative_effects
from .prediction import graph_setting
from .site import KnownSite
from .site_effects import Effects, SlotRows

Array = NDArray[np.float64]
COLUMNS = ("role", "effect", "effect_sd", "turned", "shift", "shift_sd", "unit")
UNITS = {"continuous": "sd", "binary": "log-odds", "categorical": "log-odds"}


@dataclass(frozen=True)
class _SlotAtSite:
    """One slot, the posterior of the label at the site's rows, and the slot's effects there."""

    rows: SlotRows
    weights: Array  # [values of the label, rows]
    own: Effects
    mean: Array  # of the effects over the sources: [inputs, width]
    variance: Array

    @property
    def phi(self) -> Array:
        """Inputs of the effects: [values of the label, rows, inputs]."""
        return np.asarray(self.rows.design + self.rows.label[:, None])

    def covariance(self, truth: Array) -> Array:
        """Of the effects given the site's rows, per column: [width, inputs, inputs].

        `truth` [values, rows, width] are the values that the slot's variable takes.
        """
        kind, phi = self.rows.kind, self.phi
        outputs = self.rows.moved(self.own.effects)
        if kind == "continuous":
            expected, curvature = outputs, np.full_like(outputs, 1.0 / self.own.noise)
        else:
            expected = expit(outputs) if kind == "binary" else softmax(outputs, axis=-1)
            curvature = expected * (1 - expected)
        scale = 1.0 / self.own.noise if kind == "continuous" else 1.0
        residual = scale * (truth - expected)
        w = self.weights * self.rows.seen
        found = []
        for column in range(outputs.shape[-1]):
            complete = np.einsum("vn,vni,vnj->ij", w * curvature[..., column], phi, phi)
            score = phi * residual[..., column, None]
            mean_score = np.einsum("vn,vni->ni", w, score)
            lost = np.einsum("vn,vni,vnj->ij", w, score, score) - mean_score.T @ mean_score
            found.append(self._inverse(complete - lost, column))
        return np.stack(found)

    def _inverse(self, information: Array, column: int) -> Array:
        """Inverse of the information with the prior's added; rows can only add to the prior."""
        distance = (self.own.effects - self.mean)[:, column] ** 2 / self.variance[:, column]
        root = np.sqrt(self.variance[:, column] * (EFFECT_DOF + distance) / (EFFECT_DOF + 1))
        values, vectors = np.linalg.eigh(root[:, None] * information * root)
        inside = (vectors / (1.0 + np.maximum(values, 0.0))) @ vectors.T
        return np.asarray(root[:, None] * inside * root)


def mechanisms_at(site: KnownSite) -> pd.DataFrame:
    """One row for the label and for each of its children in the graph.

    `effect` is that of the label on a child, relative to the sources' (1: the same, 0: none,
    negative: turned round); `turned` where that is beyond chance. `shift` is what the site adds to
    the variable's mean (in standard deviations) or log-odds, with parents and label held.
    """
    model = site.model
    if site.told is not None:
        return mechanism_table(model, site.told.mechanisms)
    return mechanism_table(model, mechanism_numbers(site))


def mechanism_numbers(site: KnownSite) -> Array:
    """Effect, its standard deviation, shift and that of it, of every slot: [slots, 4]."""
    model, estimate = site.model, site.estimate
    prior = model.effects
    if not estimate.effects or prior is None:
        return np.zeros((0, 4))
    rows = site.evidence.kept.head(EFFECT_ROWS)
    shares, env, temperature = graph_setting(model, estimate.env)
    slots = evaluate_slots(model, shares, env, padded(rows), len(rows.values), labelled=False)
    support = label_support(model)
    weights = expect(slots, support, estimate.effects, temperature).weights
    relative = relative_effects(prior, slots, estimate.effects)
    found = []
    for k, rows_of in enumerate(slots):
        about = _SlotAtSite(rows_of, weights, estimate.effects[k], prior.mean[k], prior.variance[k])
        found.append(_numbers(about, support, prior, k, relative[k - 1] if k else np.nan))
    return np.array(found, dtype=float)


def mechanism_table(model: FittedModel, numbers: Array) -> pd.DataFrame:
    """`mechanism_numbers` with names; without slots an empty table."""
    children = np.flatnonzero(model.parents[-1, : len(model.table.features)])
    variables = [model.table.label, *(model.table.features[j] for j in children)]
    found = []
    for k, (effect, effect_sd, shift, shift_sd) in enumerate(numbers.tolist()):
        turned = bool(k and effect + norm.ppf(1 - TURNED) * effect_sd < 0)
        role, unit = "child" if k else "label", UNITS[variables[k].kind]
        found.append((role, effect, effect_sd, turned, shift, shift_sd, unit))
    names = pd.Index([v.name for v in variables[: len(numbers)]], name="variable")
    return pd.DataFrame(found, columns=list(COLUMNS), index=names)


def _numbers(
    about: _SlotAtSite, support: Array, prior: EffectPrior, k: int, relative: float
) -> tuple[float, float, float, float]:
    rows = about.rows
    shape = (*about.weights.shape, rows.outputs.shape[-1])
    if k == 0:  # the label's own values are the support's, each with its posterior weight
        truth = np.zeros(shape)
        truth[..., : support.shape[1]] = support[:, None]
    else:
        truth = np.broadcast_to(rows.values, shape)
    covariance = about.covariance(truth)
    moved = about.own.effects - about.mean  # [inputs, width]
    w = about.weights / about.weights.sum()
    phi = np.einsum("vn,vni->i", w, about.phi)
    shift, variance = phi @ moved, np.einsum("i,wij,j->w", phi, covariance, phi)
    if rows.kind == "categorical":
        size, error = np.sqrt((shift**2).mean()), np.sqrt(variance.mean())
    else:
        size, error = shift[0], np.sqrt(variance[0])
    spread = _relative_sd(rows, prior.mean[k], covariance) if k else np.nan
    return relative, spread, float(size), float(error)


def _relative_sd(rows: SlotRows, mean: Array, covariance: Array) -> float:
    """Standard deviation of the relative effect, which is linear in the effects."""
    expected = rows.moved(mean).mean(1)
    expected = expected - expected.mean(0)
    square = (expected**2).sum()
    if square <= 1e-12:
        return float("nan")
    gradient = expected.T @ (rows.label - rows.label.mean(0)) / square  # [width, inputs]
    return float(np.sqrt(np.einsum("wi,wij,wj->", gradient, covariance, gradient)))

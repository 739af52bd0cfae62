"""What a site's mechanism has of its own, beyond its parents and E, as a linear correction.

A slot (the label, or a child of it) has outputs f(pa, E): a mean, or logits. At a site its outputs
are f + φ·r, where φ are a constant and the inputs that the slot reads, the label among them, and

    r ~ Student's t with the mean and the variance that r has between sources.

The tails are heavy: a site may differ from all sources. `fit_effects` moves r towards its mode
given weights of the values that an unknown label may take; with a known label there is one per row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from ..model.constants import EFFECT_DOF, EFFECT_RIDGE, LEAST_NOISE, NOISE_PRIOR_ROWS

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SlotRows:
    """One slot at the rows of a site, for every value that the label may take.

    Outputs are [values of the label, rows, width]; the slot's own values [rows, width].
    """

    kind: str  # continuous, binary or categorical
    outputs: Array
    values: Array
    seen: Array  # [rows], 0 where the slot's cell is missing
    design: Array  # [rows, inputs]: a constant and the inputs, the label's left at 0
    label: Array  # [values of the label, inputs]: what the label adds to them

    def moved(self, effects: Array) -> Array:
        """Outputs with a site's effects [inputs, width]."""
        shift = self.design @ effects + (self.label @ effects)[:, None]
        return self.outputs + shift

    def log_density(self, outputs: Array, noise: float) -> Array:
        """log p(value | parents, label): [values of the label, rows]; 0 where it is missing."""
        if self.kind == "continuous":
            square = (self.values[:, 0] - outputs[..., 0]) ** 2
            density = -0.5 * (square / noise + np.log(2 * np.pi * noise))
        elif self.kind == "binary":
            density = self.values[:, 0] * outputs[..., 0] - np.logaddexp(0.0, outputs[..., 0])
        else:
            density = (self.values * log_softmax(outputs, axis=-1)).sum(-1)
        return np.asarray(density * self.seen)


@dataclass(frozen=True)
class Effects:
    """Effects of a site on one slot, and the variance of its noise if it is a number."""

    effects: Array  # [inputs, width]
    noise: float


def fit_effects(
    rows: SlotRows,
    weights: Array,
    start: Effects,
    mean: Array,
    variance: Array,
    source_noise: float,
    heavy_tailed: bool = True,
) -> Effects:
    """One step towards the mode of the effects, given weights [values of the label, rows].

    Exact for numbers. Logits are moved by a step that cannot overshoot, since the curvature of
    their likelihood is bounded (Böhning 1992).
    """
    w = weights * rows.seen
    moved = rows.moved(start.effects)
    bound = {"continuous": 1.0 / start.noise, "binary": 0.25, "categorical": 0.5}[rows.kind]
    if rows.kind == "categorical":
        residual = rows.values - softmax(moved, axis=-1)
    else:
        residual = np.zeros_like(moved)  # one column; others only pad
        mean_of = expit if rows.kind == "binary" else np.asarray
        residual[..., 0] = rows.values[:, 0] - mean_of(moved[..., 0])
    gram = _gram(rows, w)
    scale = bound if rows.kind == "continuous" else 1.0
    gradient = scale * _cross(rows, w, residual)  # [inputs, width]
    effects = start.effects.copy()
    for column in range(effects.shape[1]):
        precision = 1.0 / variance[:, column]
        if heavy_tailed:
            d2 = (effects[:, column] - mean[:, column]) ** 2 / variance[:, column]
            precision = precision * (EFFECT_DOF + 1) / (EFFECT_DOF + d2)
        pull = precision * (mean[:, column] - effects[:, column])
        step = np.linalg.solve(bound * gram + np.diag(precision), gradient[:, column] + pull)
        effects[:, column] += step
    noise = start.noise
    if rows.kind == "continuous":
        left = (rows.values[:, 0] - rows.moved(effects)[..., 0]) ** 2
        noise = (w * left).sum() + NOISE_PRIOR_ROWS * source_noise
        noise = max(noise / (w.sum() + NOISE_PRIOR_ROWS), LEAST_NOISE)
    return Effects(effects, float(noise))


def log_prior(effects: Array, mean: Array, variance: Array) -> float:
    """Student's t density of the effects, up to a constant."""
    d2 = (effects - mean) ** 2 / variance
    return float(-0.5 * (EFFECT_DOF + 1) * np.log1p(d2 / EFFECT_DOF).sum())


@dataclass(frozen=True)
class SourceEffects:
    """Effects of one labelled source on a slot, and the variance of their estimates."""

    effects: Array
    variance: Array
    noise: float


def effects_of_source(rows: SlotRows) -> SourceEffects:
    """Effects of a source whose labels are known, under a weak prior around 0."""
    p, width = rows.design.shape[1], rows.outputs.shape[-1]
    zero = np.zeros((p, width))
    variance = np.full((p, width), 1.0 / EFFECT_RIDGE)
    ones = np.ones(rows.outputs.shape[:2])
    found = Effects(zero, 1.0)
    if rows.kind == "continuous":
        residual = (rows.values[:, 0] - rows.outputs[0, :, 0]) * rows.seen
        found = Effects(zero, max(residual @ residual / max(rows.seen.sum(), 1.0), LEAST_NOISE))
        variance = variance * found.noise
    steps = 2 if rows.kind == "continuous" else 25
    for _ in range(steps):
        found = fit_effects(rows, ones, found, zero, variance, found.noise, heavy_tailed=False)
    gram = _gram(rows, ones * rows.seen * _curvature(rows, found))
    spread = np.linalg.inv(gram + np.diag(1.0 / variance[:, 0]))
    return SourceEffects(
        found.effects, np.repeat(np.diag(spread)[:, None], width, axis=1), found.noise
    )


def _curvature(rows: SlotRows, found: Effects) -> Array:
    """Curvature of the log-density in the outputs, a typical column's: [1, rows]."""
    if rows.kind == "continuous":
        return np.full((1, len(rows.values)), 1.0 / found.noise)
    moved = rows.moved(found.effects)
    p = expit(moved[..., 0]) if rows.kind == "binary" else softmax(moved, axis=-1).mean(-1)
    return np.asarray(np.maximum(p * (1 - p), 1e-3))


def _gram(rows: SlotRows, w: Array) -> Array:
    """Σ over rows and values of the label of w φφᵀ, where φ = design + label."""
    by_row, by_value = w.sum(0), w.sum(1)
    crossed = rows.design.T @ (w.T @ rows.label)
    own = (rows.design * by_row[:, None]).T @ rows.design
    return np.asarray(own + crossed + crossed.T + (rows.label * by_value[:, None]).T @ rows.label)


def _cross(rows: SlotRows, w: Array, residual: Array) -> Array:
    """Σ w φ residual: [inputs, width]."""
    weighted = w[..., None] * residual
    return np.asarray(rows.design.T @ weighted.sum(0) + rows.label.T @ weighted.sum(1))

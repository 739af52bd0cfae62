"""Weights of the experts, from one table of predictions for left-out sources.

The experts are the networks without E (f0), those with E (f1) and inference on the graph (f2). On
sources that none of them was trained on, their losses decide how much each contributes. At a new
site without labels the experts may contradict each other: a child of the label whose mechanism has
turned round makes f0 and f1 wrong. Then the prediction from the label's parents alone decides, and
an expert that contradicts it gets no weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.constants import DISAGREEMENT, LEAST_PROBABILITY, MAX_SOURCE_GAIN, STACK_STEPS
from .parts import ALL, Parts

Array = NDArray[np.float64]
EXPERTS = ("pooled", "environment", "graph")


@dataclass(frozen=True)
class LeftOutSite:
    """Predictions for one source by networks that were not trained on it.

    All are expected columns of the label, [rows, label columns]; `graph` has one entry per
    temperature of `TEMPERATURES`, the last of which is 0: the label's parents alone.
    """

    truth: Array
    pooled: Array
    environment: Array
    graph: Array  # [temperatures, rows, label columns]
    graph_variance: Array  # [temperatures, rows], of a number

    def stacked(self, found: "Combination") -> Array:
        """The experts' weighted mean: [rows, label columns]."""
        experts = np.stack([self.pooled, self.environment, self.graph[found.temperature]])
        return np.asarray(np.tensordot(found.weights, experts, 1))


@dataclass(frozen=True)
class Combination:
    """How the experts are combined."""

    weights: Array  # [experts], sums to 1
    temperature: int  # position in TEMPERATURES
    agreement: Array  # [2]: least correlation over left-out sources of f2 with f0, and with f1

    @staticmethod
    def of_networks(share: float) -> "Combination":
        """Without left-out sources: f0 and f1 alone; nothing is known about f2."""
        return Combination(np.array([1 - share, share, 0.0]), 0, np.full(2, -1.0))

    def at_site(self, pooled: Array, environment: Array, graph: Array, parents: Array) -> Array:
        """Weights of the experts for the rows of a new site: [experts].

        Those of the left-out sources, unless f2 disagrees with f0 or f1 far beyond what it does
        there. Then the one that is nearer to the prediction from the label's parents is right, and
        the other gets no weight.
        """
        if _constant(parents):
            return self.weights
        kept = np.ones(3, dtype=bool)
        factor, margin = DISAGREEMENT
        for k, one in enumerate((pooled, environment)):
            if 1 - correlation(graph, one) > factor * (1 - self.agreement[k]) + margin:
                loser = k if correlation(graph, parents) > correlation(one, parents) else 2
                kept[loser] = False
        weights = self.weights * kept
        if not weights.sum():
            weights = kept.astype(float) if kept.any() else self.weights
        return np.asarray(weights / weights.sum())


def combine(sites: Sequence[LeftOutSite], kind: str, parts: Parts = ALL) -> Combination:
    """Weights and temperature with the least mean loss over left-out sources.

    The difference from the loss of f0 is capped for every source, so that one on which an expert
    fails does not decide for all. Sources count alike.
    """
    if not sites:
        return Combination.of_networks(0.5 if parts.pooled_networks else 1.0)
    n_temperatures = len(sites[0].graph)
    grid = simplex_grid(STACK_STEPS)
    if not parts.graph_inference:
        grid = grid[grid[:, 2] == 0]
    if not parts.pooled_networks:
        grid = grid[grid[:, 0] == 0]
    losses = np.array(
        [[_losses(s, kind, grid, t) for t in range(n_temperatures)] for s in sites]
    )  # [sites, temperatures, grid]
    baseline = np.array([_loss(kind, s.pooled, s.truth) for s in sites])
    gain = losses - baseline[:, None, None]
    if parts.source_cap:
        gain = MAX_SOURCE_GAIN * np.tanh(gain / MAX_SOURCE_GAIN)
    mean = gain.mean(0)
    t, g = map(int, np.unravel_index(int(mean.argmin()), mean.shape))
    weights = grid[g] if parts.stacking_weight else np.array([0.5, 0.5, 0.0])
    if weights[2] == 0:
        # f2 may still be asked where the others are contradicted, by the parents alone (t = 0, the
        # last) in any case
        t = int(np.argmin(mean[:-1, (grid[:, 2] == 1).argmax()]))
    return Combination(weights, t, _agreement(sites, t))


def simplex_grid(steps: int) -> Array:
    """All weights of three experts in multiples of 1 / steps."""
    return np.array(
        [[steps - i - j, i, j] for i in range(steps + 1) for j in range(steps + 1 - i)]
    ) / float(steps)


def correlation(one: Array, other: Array) -> float:
    """Correlation of two predictions on the scale of the link; 1 where one of them is constant."""
    a, b = (_link(p) for p in (one, other))
    a, b = a - a.mean(0), b - b.mean(0)
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / scale) if scale > 1e-9 * len(a) else 1.0


def _link(p: Array) -> Array:
    """Numbers as they are; probabilities as log-odds."""
    if p.min() < 0 or p.max() > 1 or p.shape[-1] == 0:
        return p
    q = np.clip(p, 1e-3, 1 - 1e-3)
    return np.asarray(np.log(q / (1 - q)))


def _losses(site: LeftOutSite, kind: str, grid: Array, t: int) -> Array:
    experts = np.stack([site.pooled, site.environment, site.graph[t]])
    return np.array([_loss(kind, np.tensordot(w, experts, 1), site.truth) for w in grid])


def _loss(kind: str, mean: Array, truth: Array) -> float:
    """Mean log-loss of classes; logarithm of the mean squared error of numbers.

    The logarithm keeps one source that nobody can predict from deciding for all.
    """
    if kind == "continuous":
        return float(np.log(np.mean((truth - mean) ** 2) + 1e-12))
    likely = truth * mean if kind == "categorical" else truth * mean + (1 - truth) * (1 - mean)
    return float(-np.log(np.maximum(likely.sum(-1), LEAST_PROBABILITY)).mean())


def _agreement(sites: Sequence[LeftOutSite], t: int) -> Array:
    both = [[correlation(s.graph[t], one) for one in (s.pooled, s.environment)] for s in sites]
    return np.asarray(np.min(both, axis=0))


def _constant(p: Array) -> bool:
    return bool(np.ptp(p, axis=0).max() < 1e-6)

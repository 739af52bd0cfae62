"""What some labels of a new site are worth: an empirical-Bayes recalibration of its predictions.

On the scale of the link (the label itself for numbers, log-odds for classes) the prediction η of a
row becomes

    η' = a + b η + z·γ,    a ~ N(0, τ²),  b ~ N(1, τ_b²),  γ ~ N(0, s²),

where z are functions of the row's features. τ² is the variance of a between sources that were left
out of training (see `recalibration`): with few labels nothing moves by more than sites differ.
s² is chosen by cross-validation on the site's labels, and is 0 unless γ clearly lowers the loss.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from ..model.constants import LEAST_PROBABILITY, VARIATION_PRIOR, VARIATION_SOURCES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SiteVariation:
    """How far predictions for new sites may be off, on the scale of the link.

    Attributes
    ----------
    intercept, slope : variance between sites of a around 0, and of b around 1.
    sources : how many left-out sources the first was estimated from.
    """

    intercept: float
    slope: float
    sources: int

    @property
    def dof(self) -> int:
        """Degrees of freedom with which the variance of the intercept is known."""
        return max(self.sources - 1, 0) + VARIATION_SOURCES

    @staticmethod
    def of(variance: float, sources: int, kind: str) -> "SiteVariation":
        """From the variance of the intercept between left-out sources.

        Pseudo-sources with the usual variance keep few sources from claiming that there is none;
        the slope's variance is the usual one.
        """
        intercept, slope = VARIATION_PRIOR[_family(kind)]
        n = sources + VARIATION_SOURCES
        return SiteVariation(
            (sources * variance + VARIATION_SOURCES * intercept) / n, slope, sources
        )


@dataclass(frozen=True)
class Correction:
    """What the labels of a site say about its predictions.

    Attributes
    ----------
    intercept : [link columns], and its posterior variance.
    slope : of the prediction on the scale of the link.
    basis, coefficients : functions of the features that the site's own fit uses; or none.
    noise : factor on the variance of a number.
    n_labels : how many labels this was learned from.
    """

    intercept: Array
    intercept_variance: float
    slope: float
    basis: "Basis | None"
    coefficients: Array  # [functions, link columns]
    noise: float
    n_labels: int

    def applied(self, mean: Array, inputs: Array, kind: str) -> Array:
        """Corrected expected columns of the label: [rows, label columns]."""
        eta = self.intercept + self.slope * link(mean, kind)
        if self.basis is not None:
            eta = eta + self.basis(inputs) @ self.coefficients
        return unlink(eta, kind)


@dataclass(frozen=True)
class Basis:
    """Functions of features: the features, and random Fourier features of them.

    Both are scaled so that coefficients of variance s² give a function of variance about s²
    (Rahimi and Recht 2007).
    """

    frequencies: Array  # [inputs, functions]; none of them: linear
    phases: Array

    @staticmethod
    def of(n_inputs: int, n_functions: int) -> "Basis":
        rng = np.random.default_rng(0)
        # Student's t with 3 degrees of freedom: a Matérn kernel, smooth and with some detail.
        scale = 1.0 / np.sqrt(max(n_inputs, 1) * rng.chisquare(3, n_functions) / 3)
        frequencies = scale * rng.normal(size=(n_inputs, n_functions))
        return Basis(frequencies, rng.uniform(0, 2 * np.pi, n_functions))

    def __call__(self, inputs: Array) -> Array:
        """[rows, functions]"""
        linear = inputs / np.sqrt(max(inputs.shape[1], 1))
        count = self.phases.shape[0]
        if not count:
            return linear
        waves = np.sqrt(2.0 / count) * np.cos(inputs @ self.frequencies + self.phases)
        return np.concatenate([linear, waves], axis=1)


def link(mean: Array, kind: str) -> Array:
    """The label's expected columns on the scale of the link: [rows, link columns].

    Numbers as they are; log-odds of every class but the first against the first.
    """
    if _family(kind) == "numbers":
        return mean
    every = np.concatenate([1 - mean, mean], axis=1) if kind == "binary" else mean
    logs = np.log(np.clip(every, LEAST_PROBABILITY, 1.0))
    return np.asarray(logs[:, 1:] - logs[:, :1])


def level_scale(mean: Array, kind: str) -> float:
    """Variance of the intercept for a variance of 1 of a site's level.

    The level of classes is the log-odds of their prevalence π̄, which moves less than those of
    every row: by mean p(1 − p) / (π̄ (1 − π̄)) for an intercept of 1.
    """
    if _family(kind) == "numbers":
        return 1.0
    within = (mean * (1 - mean)).mean(0)
    whole = mean.mean(0) * (1 - mean.mean(0))
    return float(np.mean((whole / np.maximum(within, 1e-6)) ** 2))


def unlink(eta: Array, kind: str) -> Array:
    """The inverse of `link`."""
    if _family(kind) == "numbers":
        return eta
    every = np.exp(log_softmax(np.concatenate([np.zeros((len(eta), 1)), eta], axis=1), axis=1))
    return every[:, 1:] if kind == "binary" else every


@dataclass(frozen=True)
class Problem:
    """Labelled rows of a site: predictions on the scale of the link, truth, functions, variance."""

    eta: Array  # [rows, link columns]
    truth: Array  # [rows, link columns]: the label, or 1 for the row's class
    functions: Array  # [rows, functions]
    kind: str
    variance: float  # of a number's noise

    def take(self, rows: NDArray) -> "Problem":
        return replace(
            self, eta=self.eta[rows], truth=self.truth[rows], functions=self.functions[rows]
        )

    def fit(self, variation: SiteVariation, spread: float) -> tuple[Array, float, Array]:
        """Mode of intercept, slope and coefficients, whose prior variance is `spread`."""
        n_functions = self.functions.shape[1] if spread > 0 else 0
        scales = (variation.intercept, variation.slope, spread)
        if _family(self.kind) == "numbers":
            return self._least_squares(*scales, n_functions)
        return self._logistic(*scales, n_functions)

    def losses(self, found: tuple[Array, float, Array]) -> Array:
        """Loss of every row: negative log-density, up to a constant."""
        eta = self._predict(found)
        if _family(self.kind) == "numbers":
            return np.asarray(0.5 * (self.truth - eta)[:, 0] ** 2 / self.variance)
        return np.asarray(_log_normaliser(eta) - (self.truth * eta).sum(1))

    def _predict(self, found: tuple[Array, float, Array]) -> Array:
        intercept, slope, coefficients = found
        eta = intercept + slope * self.eta
        if len(coefficients):
            eta = eta + self.functions[:, : len(coefficients)] @ coefficients
        return np.asarray(eta)

    def _least_squares(
        self, intercept: float, slope: float, spread: float, n: int
    ) -> tuple[Array, float, Array]:
        design = np.column_stack([np.ones(len(self.eta)), self.eta, self.functions[:, :n]])
        precision = self.variance / np.array([intercept, slope, *[spread] * n])
        residual = self.truth[:, 0] - self.eta[:, 0]
        step = np.linalg.solve(design.T @ design + np.diag(precision), design.T @ residual)
        return step[:1], 1.0 + float(step[1]), step[2:, None]

    def _logistic(
        self, intercept: float, slope: float, spread: float, n: int
    ) -> tuple[Array, float, Array]:
        width, functions = self.eta.shape[1], self.functions[:, :n]

        def unpack(theta: Array) -> tuple[Array, float, Array]:
            return theta[:width], 1.0 + float(theta[width]), theta[width + 1 :].reshape(n, width)

        scale = np.array([*[intercept] * width, slope, *[max(spread, 1e-12)] * n * width])

        def objective(theta: Array) -> tuple[float, Array]:
            eta = self._predict(unpack(theta))
            normaliser = _log_normaliser(eta)
            error = np.exp(eta - normaliser[:, None]) - self.truth
            gradient = np.concatenate(
                [error.sum(0), [(error * self.eta).sum()], (functions.T @ error).ravel()]
            )
            loss = (normaliser - (self.truth * eta).sum(1)).sum()
            return loss + 0.5 * (theta**2 / scale).sum(), gradient + theta / scale

        start = np.zeros(width + 1 + n * width)
        return unpack(minimize(objective, start, jac=True, method="L-BFGS-B").x)


def _information(rows: Problem, found: tuple[Array, float, Array]) -> Array:
    """Information of every row about η: [rows, link columns]."""
    if _family(rows.kind) == "numbers":
        return np.full(rows.eta.shape, 1.0 / rows.variance)
    eta = rows._predict(found)
    p = np.exp(eta - _log_normaliser(eta)[:, None])
    return np.asarray(p * (1 - p))


def intercept_variance(
    rows: Problem, found: tuple[Array, float, Array], variation: SiteVariation
) -> float:
    """Posterior variance of the intercept."""
    information = float(_information(rows, found).sum(0).mean()) if len(rows.eta) else 0.0
    return 1.0 / (1.0 / variation.intercept + information)


def class_columns(truth: Array, kind: str) -> Array:
    """The truth in link columns: the label itself, or 1 for the row's class but the first."""
    return truth[:, 1:] if kind == "categorical" else truth


def _log_normaliser(eta: Array) -> Array:
    return np.asarray(logsumexp(np.concatenate([np.zeros((len(eta), 1)), eta], axis=1), axis=1))


def _family(kind: str) -> str:
    return "numbers" if kind == "continuous" else "classes"

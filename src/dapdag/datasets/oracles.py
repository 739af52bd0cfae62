"""Exact mean and standard deviation of one variable given all others and E.

The conditional is proportional to the variable's own equation times those of its children. It is
Gaussian when the children are linear in the variable, two numbers when the variable is binary,
and a one-dimensional integral otherwise.
"""

import numpy as np
from scipy.special import expit

from dapdag.datasets.domain_data import Array, Values
from dapdag.datasets.equations import ENV, Equation, Gaussian, StructuralModel

ROWS = 256  # rows integrated at once, to bound the memory
PANELS = 48
SPLITS = 12  # panels halved per round
ROUNDS = 60
ZOOMS = 30
NEGLIGIBLE = 40.0  # log density this far below the best point is left out
EPS = np.finfo(np.float64).eps
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
NODES, LOG_WEIGHTS = (NODES + 1) / 2, np.log(WEIGHTS / 2)


def linear_gaussian(
    model: StructuralModel, label: str, values: Values, env: Array
) -> tuple[Array, Array]:
    """Product of Gaussians, for a label that enters its children's equations linearly."""
    values = {**values, ENV: env}
    own = model[label]
    precision = np.full(len(env), gaussian_sd(own) ** -2)
    total = precision * own.location(values)
    for child in model.children(label):
        at_zero = child.location({**values, label: np.zeros_like(env)})
        slope = child.location({**values, label: np.ones_like(env)}) - at_zero
        total += slope * (values[child.name] - at_zero) / gaussian_sd(child) ** 2
        precision += (slope / gaussian_sd(child)) ** 2
    return total / precision, precision**-0.5


def binary(model: StructuralModel, label: str, values: Values, env: Array) -> tuple[Array, Array]:
    """Bayes' rule over the label's two values."""
    zeros = np.zeros_like(env)
    values = {**values, ENV: env}
    log_0 = model.blanket_log_prob(label, {**values, label: zeros}) + zeros
    log_1 = model.blanket_log_prob(label, {**values, label: zeros + 1}) + zeros
    impossible = np.flatnonzero(np.isneginf(log_0) & np.isneginf(log_1))
    if impossible.size:
        raise ValueError(
            f"Row {impossible[0]} of X cannot occur under this model: it has probability 0 for "
            f"either value of {label!r}."
        )
    p = expit(log_1 - log_0)
    return p, np.sqrt(p * (1 - p))


def quadrature(
    model: StructuralModel, label: str, values: Values, env: Array
) -> tuple[Array, Array]:
    """Numerical integration over the label, for additive Gaussian noise and any equations."""
    columns = {name: v[:, None] for name, v in {**values, ENV: env}.items()}
    mean, std = np.empty(len(env)), np.empty(len(env))
    # Candidates far from the data may overflow; their density is then 0, as it should be.
    with np.errstate(over="ignore", divide="ignore"):
        for start in range(0, len(env), ROWS):
            rows = slice(start, start + ROWS)
            chunk = {name: v[rows] for name, v in columns.items()}
            mean[rows], std[rows] = _integrate(model, label, chunk)
    return mean, std


def gaussian_sd(equation: Equation) -> float:
    if not isinstance(equation.law, Gaussian):
        raise TypeError(f"{equation.name} has no additive Gaussian noise.")
    return equation.law.sd


def _integrate(model: StructuralModel, label: str, values: Values) -> tuple[Array, Array]:
    """Gauss-Legendre panels, halved where the mass is until mean and sd no longer move."""
    left, right = _bracket(model, label, values)  # [n, 1]
    width = np.repeat((right - left) / PANELS, PANELS, axis=1)  # [n, panels]
    left = left + width * np.arange(PANELS)
    log_density = _log_density(model, label, values, left, width)  # [n, panels, nodes]
    mean, std = _moments(left, width, log_density)
    active = np.arange(len(mean))
    for _ in range(ROUNDS):
        left, width, log_density = _halve(model, label, values, left, width, log_density)
        new_mean, new_std = _moments(left, width, log_density)
        tolerance = 1e-8 * new_std + 4 * EPS * np.abs(new_mean)
        moved = np.maximum(abs(new_mean - mean[active]), abs(new_std - std[active])) > tolerance
        mean[active], std[active] = new_mean, new_std
        if not moved.any():
            break
        active = active[moved]
        left, width, log_density = left[moved], width[moved], log_density[moved]
        values = {name: v[moved] for name, v in values.items()}
    # Where the sd is below the resolution of a float, it is that resolution.
    return mean, np.maximum(std, EPS * np.abs(mean))


def _bracket(model: StructuralModel, label: str, values: Values) -> tuple[Array, Array]:
    """Interval outside which the density is negligible.

    No equation adds more than 0 to the log density, so at z standard deviations from the own
    equation's mean it is at most -z²/2: the best value found limits how far out to look.
    """
    sd = gaussian_sd(model[label])
    centre = model[label].location(values) + np.zeros_like(values[ENV])
    peak, best = centre, np.full_like(centre, -np.inf)
    reach = np.full_like(centre, 10 * sd)
    for _ in range(ZOOMS):
        points = peak + reach * np.linspace(-1, 1, 65)
        found = model.blanket_log_prob(label, {**values, label: points})
        top = found.argmax(axis=1)[:, None]
        peak, before = np.take_along_axis(points, top, axis=1), best
        best = np.take_along_axis(found, top, axis=1)
        at_edge = (top == 0) | (top == 64)
        if not np.any(at_edge | (best > before + 1)):
            break
        reach = np.where(at_edge, 4 * reach, reach / 16)
    half_width = sd * np.sqrt(2 * (NEGLIGIBLE - best))
    return centre - half_width, centre + half_width


def _log_density(
    model: StructuralModel, label: str, values: Values, left: Array, width: Array
) -> Array:
    points = (left[..., None] + width[..., None] * NODES).reshape(len(left), -1)
    found = model.blanket_log_prob(label, {**values, label: points})
    return found.reshape(*left.shape, len(NODES))


def _halve(
    model: StructuralModel,
    label: str,
    values: Values,
    left: Array,
    width: Array,
    log_density: Array,
) -> tuple[Array, Array, Array]:
    """Replace each row's heaviest panels by their halves."""
    height = log_density.max(axis=2) + np.log(width)
    chosen = np.argpartition(-height, SPLITS, axis=1)[:, :SPLITS]
    half = np.take_along_axis(width, chosen, axis=1) / 2
    start = np.take_along_axis(left, chosen, axis=1)
    halves = np.concatenate([start, start + half], axis=1), np.concatenate([half, half], axis=1)
    found = _log_density(model, label, values, *halves)
    kept = np.ones(left.shape, dtype=bool)
    np.put_along_axis(kept, chosen, False, axis=1)
    n = len(left)
    return (
        np.concatenate([left[kept].reshape(n, -1), halves[0]], axis=1),
        np.concatenate([width[kept].reshape(n, -1), halves[1]], axis=1),
        np.concatenate([log_density[kept].reshape(n, -1, len(NODES)), found], axis=1),
    )


def _moments(left: Array, width: Array, log_density: Array) -> tuple[Array, Array]:
    points = left[..., None] + width[..., None] * NODES
    log_mass = log_density + np.log(width)[..., None] + LOG_WEIGHTS
    mass = np.exp(log_mass - log_mass.max(axis=(1, 2), keepdims=True))
    mass /= mass.sum(axis=(1, 2), keepdims=True)
    mean = (mass * points).sum(axis=(1, 2))
    variance = (mass * (points - mean[:, None, None]) ** 2).sum(axis=(1, 2))
    return mean, np.sqrt(variance)

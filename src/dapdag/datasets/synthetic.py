"""The paper's two simulated data sets, by its equations and by its author's code."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from dapdag.datasets import oracles
from dapdag.datasets.domain_data import Array, DomainData, Values
from dapdag.datasets.equations import (
    Bernoulli,
    Equation,
    Exceedance,
    Gaussian,
    Poisson,
    StructuralModel,
)
from dapdag.datasets.simulation import Seed, check_choice, check_positive, simulate

Variant = Literal["paper", "author"]
VARIANTS = ("paper", "author")

# In both variants every other variable enters its children's equations linearly.
NONLINEAR_LABELS = ("X1", "X2")
SURVIVAL_YEARS = 5.0


def regression_model(variant: str, noise: float) -> StructuralModel:
    """The regression equations (reg-syn in the paper); ``noise`` is the sd of every ε."""
    functions: dict[str, Callable[..., Any]] = {
        "X1": lambda E: 0.8 * E,
        "X2": lambda X1: 0.4 * X1**2,
        "X3": lambda E, X2: 0.3 * E + 0.1 * np.exp(X2),
        "Y": lambda E, X1, X2: -0.5 * E**2 + np.log(0.3 * X1**2 + 0.7 * X2**2),
        "X4": lambda E, X1: 0.1 * X1 * np.sqrt(np.exp(E)),
        "X5": lambda E, X4, Y: -0.25 * E * X4 + 0.6 * Y,
        "X6": lambda X3, Y: -1 + 0.2 * X3 * Y,
        "X7": lambda E, X6: -0.6 * E + 3 * X6,
    }
    if variant == "author":
        functions |= {
            "X3": lambda E, X2: 0.3 * E + 0.1 * X2**2,
            "Y": lambda E, X1, X2: -0.5 * E**2 + 0.3 * X1 + 0.7 * X2,
            "X4": lambda E, X1: 0.1 * E * X1,
            "X7": lambda E, X6: -0.6 * E + X6,
        }
    law = Gaussian(noise)
    return StructuralModel.of([Equation.of(name, law, f) for name, f in functions.items()])


def classification_model(variant: str, noise: float) -> StructuralModel:
    """The classification equations (cla-syn in the paper); ``noise`` is the sd of log T.

    X1 age, X2 ethnicity, X3 angina, X4 myocardial infarction, X5 ACE inhibitors, X6 to X8 NYHA
    classes 1 to 3, Y survival of five years. In the author's variant angina and infarction swap
    their roles in the equations of X3, X4 and X5, with the paper's coefficients.
    """
    coin = Bernoulli()

    def log_survival(E, X1, X2, X3, X4, X5, X6, X7, X8):
        own = 1.5 + 0.4 * E - 0.1 * (X1 - 65) - 0.05 * X2 - 1.75 * X3 - 2.5 * X4
        return own + 0.6 * X5 + 0.25 * X6 - 0.75 * X7 - 2 * X8

    if variant == "paper":
        heart = [
            Equation.of("X3", coin, lambda: 0.2),
            Equation.of("X4", coin, lambda E, X3: expit(-0.5 + 0.2 * E + 1.3 * X3)),
            Equation.of("X5", coin, lambda E, X1, X2, X3: _ace_inhibitors(E, X1, X2, X3)),
        ]
    else:
        heart = [
            Equation.of("X4", coin, lambda: 0.2),
            Equation.of("X3", coin, lambda E, X4: expit(-0.5 + 0.2 * E + 1.3 * X4)),
            Equation.of("X5", coin, lambda E, X1, X2, X4: _ace_inhibitors(E, X1, X2, X4)),
        ]
    return StructuralModel.of(
        [
            Equation.of("X1", Poisson(), lambda E: 65 + 0.5 * E),
            Equation.of("X2", coin, lambda E: 0.3 - 0.025 * E),
            *heart,
            Equation.of("X6", coin, lambda E: 0.175 - 0.015 * E),
            Equation.of("X7", coin, lambda X6: 0.3 * (1 - X6)),
            Equation.of("X8", coin, lambda X6, X7: 0.6 * (1 - X6) * (1 - X7)),
            Equation.of("Y", Exceedance(SURVIVAL_YEARS, noise), log_survival),
        ]
    )


def make_regression_domains(
    n_domains: int = 10,
    n_samples: int | Sequence[int] = 500,
    noise: float = 1.0,
    env_scale: float = 1.0,
    variant: Variant = "paper",
    env: str | Sequence[float] | None = None,
    label: str = "Y",
    poisson_sizes: bool = False,
    random_state: Seed = 0,
) -> DomainData:
    """Simulate the paper's regression data: X1 to X7 and Y, all continuous.

    Parameters
    ----------
    n_domains : int, default=10
        Number of domains, labelled 0, 1, …; at least 1.
    n_samples : int or sequence of int, default=500
        Rows per domain: one number, or one per domain.
    noise : float, default=1.0
        Standard deviation of every ε, positive.
    env_scale : float, default=1.0
        E ~ N(0, env_scale²), one draw per domain; at least 0.
    variant : {"paper", "author"}, default="paper"
        Equations of the ``"paper"`` or of its ``"author"``'s code.
    env : sequence of float, or str, optional
        E of each domain instead of drawing it; ``"author-grid"`` for the first ``n_domains`` of the
        author's ten values from -3.01 to 3.29.
    label : str, default="Y"
        Variable to predict; all others become features.
    poisson_sizes : bool, default=False
        Draw each size from Pois(n_samples), but at least 1.
    random_state : int or numpy Generator, default=0
        Seed or generator.

    Returns
    -------
    DomainData
        Table, label and domain of every row.

    Examples
    --------
    >>> from dapdag.datasets import make_regression_domains
    >>> data = make_regression_domains(n_domains=3, n_samples=[50, 20, 30])
    >>> data.X.shape, data.domains
    ((100, 7), [0, 1, 2])
    """
    check_choice("variant", variant, VARIANTS)
    check_positive("noise", noise)
    model = regression_model(variant, noise)
    check_choice("label", label, model.columns)
    return simulate(
        model,
        label,
        rng=np.random.default_rng(random_state),
        n_domains=n_domains,
        n_samples=n_samples,
        env=env,
        env_scale=env_scale,
        poisson_sizes=poisson_sizes,
        task="regression",
        name=f"regression-{variant}",
        description=f"Simulated regression of {label} by the {variant}'s equations.",
        conditional=partial(regression_conditional, variant, noise, label),
    )


def make_classification_domains(
    n_domains: int = 10,
    n_samples: int | Sequence[int] = 500,
    noise: float | None = None,
    env_scale: float = 1.0,
    variant: Variant = "paper",
    env: str | Sequence[float] | None = None,
    label: str = "Y",
    poisson_sizes: bool = False,
    random_state: Seed = 0,
) -> DomainData:
    """Simulate the paper's patients: age X1 (a count), X2 to X8 and survival Y (0 or 1).

    Parameters
    ----------
    n_domains : int, default=10
        Number of domains, labelled 0, 1, …; at least 1.
    n_samples : int or sequence of int, default=500
        Rows per domain: one number, or one per domain.
    noise : float, optional
        Standard deviation of the log survival time, positive; by default 1 for the paper, 1.5 for
        the author.
    env_scale : float, default=1.0
        E ~ N(0, env_scale²), one draw per domain; at least 0.
    variant : {"paper", "author"}, default="paper"
        Equations of the ``"paper"`` or of its ``"author"``'s code.
    env : sequence of float, or str, optional
        E of each domain instead of drawing it; ``"author-grid"`` for the author's values.
    label : str, default="Y"
        Variable to predict, any binary one: all but X1.
    poisson_sizes : bool, default=False
        Draw each size from Pois(n_samples), but at least 1.
    random_state : int or numpy Generator, default=0
        Seed or generator.

    Returns
    -------
    DomainData
        Table, label and domain of every row.

    Examples
    --------
    >>> from dapdag.datasets import make_classification_domains
    >>> data = make_classification_domains(n_domains=3, n_samples=50)
    >>> sorted(data.y.unique().tolist())
    [0, 1]
    """
    check_choice("variant", variant, VARIANTS)
    if noise is None:
        noise = 1.0 if variant == "paper" else 1.5
    check_positive("noise", noise)
    model = classification_model(variant, noise)
    check_choice("label", label, [c for c in model.columns if c != "X1"])
    return simulate(
        model,
        label,
        rng=np.random.default_rng(random_state),
        n_domains=n_domains,
        n_samples=n_samples,
        env=env,
        env_scale=env_scale,
        poisson_sizes=poisson_sizes,
        task="classification",
        name=f"classification-{variant}",
        description=f"Simulated patients, classification of {label} by the {variant}'s equations.",
        conditional=partial(classification_conditional, variant, noise, label),
    )


def regression_conditional(
    variant: str, noise: float, label: str, values: Values, env: Array
) -> tuple[Array, Array]:
    """Mean and sd of the label given the other variables and E."""
    model = regression_model(variant, noise)
    rule = oracles.quadrature if label in NONLINEAR_LABELS else oracles.linear_gaussian
    return rule(model, label, values, env)


def classification_conditional(
    variant: str, noise: float, label: str, values: Values, env: Array
) -> tuple[Array, Array]:
    """Probability of class 1 and sd of the label given the other variables and E."""
    return oracles.binary(classification_model(variant, noise), label, values, env)


def _ace_inhibitors(E: Array, age: Array, ethnicity: Array, root: Array) -> Array:
    return np.asarray(expit(-1 + 0.3 * E + 0.015 * age + 0.001 * ethnicity + 1.5 * root))

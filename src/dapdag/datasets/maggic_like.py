"""Simulated patients in the shape of MAGGIC: heterogeneous studies with missing cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from dapdag.datasets import oracles
from dapdag.datasets.domain_data import Array, DomainData
from dapdag.datasets.equations import Bernoulli, Equation, Exceedance, StructuralModel
from dapdag.datasets.maggic import LABEL, MAGGIC_VARIABLES, STUDY
from dapdag.datasets.simulation import Seed, simulate

# Sizes of the ten studies that the paper selects.
PAPER_SIZES = (196, 363, 176, 215, 228, 282, 66, 627, 324, 663)


@dataclass(frozen=True)
class Bounded:
    """Additive noise N(0, sd²), and values beyond the bounds moved onto them."""

    sd: float
    low: float
    high: float

    def sample(self, location: Array, rng: np.random.Generator) -> Array:
        return np.clip(
            location + self.sd * rng.standard_normal(location.shape), self.low, self.high
        )

    def log_prob(self, value: Array, location: Array) -> Array:
        inside = norm.logpdf(value, location, self.sd)
        below = norm.logcdf(self.low, location, self.sd)
        above = norm.logsf(self.high, location, self.sd)
        return np.where(value <= self.low, below, np.where(value >= self.high, above, inside))


def maggic_model() -> StructuralModel:
    """Equations of the simulated patients; E acts on the case mix, the treatment and the risk."""
    coin = Bernoulli()

    def log_years(
        E, age, sex, ethnicity, diabetes, angina, myocardial_infarction, ejection_fraction,
        systolic_bp, ace_inhibitor, nyha_1, nyha_2, nyha_3,
    ):  # fmt: skip
        history = 0.2 * sex + 0.1 * ethnicity + 0.4 * diabetes + 0.2 * angina
        history = history + 0.4 * myocardial_infarction
        state = 0.03 * (ejection_fraction - 38) + 0.01 * (systolic_bp - 125) + 0.5 * ace_inhibitor
        stage = 1.2 * nyha_1 + 0.9 * nyha_2 + 0.3 * nyha_3
        return 0.9 + 0.4 * E - 0.04 * (age - 67) - history + state + stage

    equations = (
        Equation.of("age", Bounded(10, 18, 105), lambda E: 67 + 2.5 * E),
        Equation.of("sex", coin, lambda E: expit(0.7 - 0.15 * E)),
        Equation.of("ethnicity", coin, lambda E: expit(-1.2 - 0.3 * E)),
        Equation.of("diabetes", coin, lambda E, age: expit(-1.2 + 0.2 * E + 0.01 * (age - 67))),
        Equation.of("angina", coin, lambda: 0.2),
        Equation.of(
            "myocardial_infarction",
            coin,
            lambda E, sex, angina: expit(-0.9 + 0.3 * E + 0.5 * sex + 1.3 * angina),
        ),
        Equation.of(
            "ejection_fraction",
            Bounded(9, 5, 85),
            lambda E, sex, myocardial_infarction: 41 + 3 * E - 3 * sex - 5 * myocardial_infarction,
        ),
        Equation.of(
            "systolic_bp",
            Bounded(18, 70, 230),
            lambda E, age, ejection_fraction: (
                125 + 4 * E + 0.3 * (age - 67) + 0.4 * (ejection_fraction - 38)
            ),
        ),
        Equation.of(
            "ace_inhibitor",
            coin,
            lambda E, ejection_fraction: expit(0.8 + 0.5 * E - 0.05 * (ejection_fraction - 38)),
        ),
        Equation.of("nyha_1", coin, lambda E: expit(-1.6 - 0.2 * E)),
        Equation.of("nyha_2", coin, lambda nyha_1: 0.5 * (1 - nyha_1)),
        Equation.of("nyha_3", coin, lambda nyha_1, nyha_2: 0.75 * (1 - nyha_1) * (1 - nyha_2)),
        Equation.of(LABEL, Exceedance(threshold=1.0, sd=1.0), log_years),
    )
    return StructuralModel(equations, (*(v.name for v in MAGGIC_VARIABLES), LABEL))


def make_maggic_like(
    n_studies: int = 10,
    n_samples: int | Sequence[int] | None = None,
    *,
    missing: float = 0.1,
    gaps: float = 0.1,
    unlabelled: float = 0.02,
    env_scale: float = 1.0,
    env: Sequence[float] | None = None,
    random_state: Seed = 0,
) -> DomainData:
    """Simulate studies of heart-failure patients with the columns and missingness of MAGGIC.

    Parameters
    ----------
    n_studies : int, default=10
        Number of studies, named S01, S02, …; at least 1.
    n_samples : int or sequence of int, optional
        Patients per study, one number or one per study; by default the sizes of the paper's ten
        studies, 66 to 663, repeated.
    missing : float, default=0.1
        Mean share of missing cells, 0 to 1; each study has a share of its own.
    gaps : float, default=0.1
        Probability that a variable is missing in a whole study. At least one study has each
        variable, and every study has at least half of them.
    unlabelled : float, default=0.02
        Share of patients whose survival is unknown.
    env_scale : float, default=1.0
        E ~ N(0, env_scale²), one draw per study; at least 0.
    env : sequence of float, optional
        E of each study instead of drawing it.
    random_state : int or numpy Generator, default=0
        Seed or generator.

    Returns
    -------
    DomainData
        Table with missing cells, label and study of every row.
    """
    for name, share in (("missing", missing), ("gaps", gaps), ("unlabelled", unlabelled)):
        if not 0 <= share < 1:
            raise ValueError(f"{name} must be a share from 0 to below 1, got {share!r}.")
    if n_samples is None:
        n_samples = [PAPER_SIZES[k % len(PAPER_SIZES)] for k in range(n_studies)]
    patients, holes = np.random.default_rng(random_state).spawn(2)
    model = maggic_model()
    complete = simulate(
        model,
        LABEL,
        rng=patients,
        n_domains=n_studies,
        n_samples=n_samples,
        env=env,
        env_scale=env_scale,
        poisson_sizes=False,
        task="classification",
        name="maggic-like",
        description="Made-up heart-failure patients of several studies, one-year survival.",
        conditional=partial(oracles.binary, model, LABEL),
    )
    names = np.array([f"S{k + 1:02d}" for k in range(n_studies)], dtype=object)
    study = complete.sample_domain
    return replace(
        complete,
        X=complete.X.astype(np.float64).mask(
            _holes(study, complete.X.shape[1], missing, gaps, holes)
        ),
        y=complete.y.astype(np.float64).mask(holes.random(len(study)) < unlabelled),
        sample_domain=names[study],
        env=dict(zip(names, complete.env.values(), strict=True)),
    )


def _holes(
    study: np.ndarray, n_columns: int, missing: float, gaps: float, rng: np.random.Generator
) -> np.ndarray:
    """Which cells are missing: single ones, and whole columns of a study."""
    n_studies = int(study.max()) + 1
    share = missing * rng.uniform(0, 2, size=n_studies)
    cells = rng.random((len(study), n_columns)) < np.minimum(share, 0.95)[study][:, None]
    absent = rng.random((n_studies, n_columns)) < gaps
    for k in range(n_studies):
        order = rng.permutation(np.flatnonzero(absent[k]))
        absent[k, order[n_columns // 2 :]] = False
    keeper = rng.integers(n_studies, size=n_columns)
    everywhere = absent.all(axis=0)
    absent[keeper[everywhere], np.flatnonzero(everywhere)] = False
    return np.asarray(cells | absent[study])


def as_maggic_table(data: DomainData) -> pd.DataFrame:
    """The columns that `load_maggic` expects, ready to be written to a file."""
    table = data.X.copy()
    table[STUDY] = data.sample_domain
    table[LABEL] = data.y
    return table

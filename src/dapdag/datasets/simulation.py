"""Draw domains from a structural model: environments, sizes and rows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import Array, Conditional, DomainData, Task
from dapdag.datasets.equations import StructuralModel

Seed = int | np.random.Generator | None

AUTHOR_GRID = (-3.01, -2.33, -1.72, -1.11, -0.39, 0.34, 1.01, 1.64, 2.41, 3.29)


def simulate(
    model: StructuralModel,
    label: str,
    *,
    rng: np.random.Generator,
    n_domains: int,
    n_samples: int | Sequence[int],
    env: str | Sequence[float] | None,
    env_scale: float,
    poisson_sizes: bool,
    task: Task,
    name: str,
    description: str,
    conditional: Conditional,
) -> DomainData:
    """Sample every domain and separate the label from the features.

    Each domain has its own generator, and that one separate streams for E, size and rows: a
    domain depends neither on those after it, nor its E on its size.
    """
    if n_domains < 1:
        raise ValueError(f"n_domains must be at least 1, got {n_domains}.")
    sizes = expected_sizes(n_samples, n_domains)
    given_env = _given_env(env, env_scale, n_domains)
    envs, blocks = [], []
    for k, child in enumerate(rng.spawn(n_domains)):
        env_rng, size_rng, row_rng = child.spawn(3)
        e = env_scale * env_rng.standard_normal() if given_env is None else given_env[k]
        n_rows = max(1, int(size_rng.poisson(sizes[k]))) if poisson_sizes else sizes[k]
        envs.append(float(e))
        blocks.append(pd.DataFrame(model.sample(envs[k], n_rows, row_rng)))
    table = pd.concat(blocks, ignore_index=True)
    return DomainData(
        X=table.drop(columns=label),
        y=table[label],
        sample_domain=np.repeat(np.arange(n_domains), [len(b) for b in blocks]),
        task=task,
        name=name,
        description=description,
        licence="simulated: no licence needed",
        env=dict(enumerate(envs)),
        graph=model.graph(),
        conditional=conditional,
    )


def check_positive(name: str, value: float) -> None:
    """Refuse zero, negative and non-finite numbers."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, got {value!r}.")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse what is not among the choices, and list them."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}.")


def expected_sizes(n_samples: int | Sequence[int], n_domains: int) -> list[int]:
    """Rows of every domain, from one number for all of them or from one for each."""
    sizes = np.asarray(n_samples)
    if sizes.ndim == 0:
        sizes = np.full(n_domains, sizes)
    if sizes.shape != (n_domains,):
        raise ValueError(
            f"n_samples must be one number or one per domain ({n_domains}), "
            f"got shape {sizes.shape}."
        )
    if not np.issubdtype(sizes.dtype, np.integer) or sizes.min() < 1:
        raise ValueError(f"n_samples must be whole numbers of at least 1, got {n_samples!r}.")
    return [int(s) for s in sizes]


def _given_env(env: str | Sequence[float] | None, env_scale: float, n_domains: int) -> Array | None:
    if not (np.isfinite(env_scale) and env_scale >= 0):
        raise ValueError(f"env_scale must be a number of at least 0, got {env_scale!r}.")
    if env is None:
        return None
    if isinstance(env, str):
        check_choice("env, when a name,", env, ["author-grid"])
        if n_domains > len(AUTHOR_GRID):
            raise ValueError(
                f"env='author-grid' has {len(AUTHOR_GRID)} values, too few for "
                f"n_domains={n_domains}."
            )
        env = AUTHOR_GRID[:n_domains]
    values = np.asarray(env, dtype=np.float64)
    if values.shape != (n_domains,):
        raise ValueError(
            f"env must have one value per domain (n_domains={n_domains}), got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"env must be finite numbers, got {env!r}.")
    return values

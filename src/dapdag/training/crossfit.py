"""Cross-fitting over sources: each label network leaves some out, and is evaluated on them.

During the first part of training every label network is trained on all sources but a few. Its
losses on those (see `inference.stacking`) give the stacking weight, the variance inflation and the
slope of the class prevalences. Then all networks are trained on all sources to the end.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._runtime.compile import Effort, jit
from ..data.blocks import Blocks
from ..inference.stacking import LeftOut
from ..model import Network
from ..model.constants import FOLDS, LEFT_OUT_ROWS, STACK_GRID
from ..model.likelihoods import class_losses
from .problem import Problem
from .step import Trainer


def assign_folds(
    n_predictors: int,
    n_pooled: int,
    n_domains: int,
    n_sources: int,
    member: int,
    cross_fitting: bool = True,
) -> np.ndarray:
    """Which domains each label network is trained on at first: [domains, networks].

    A network leaves out one source in `FOLDS` (or fewer, if there are not so many), and the
    networks of a further member continue with the next folds. The less is left out, the more the
    networks resemble those that will predict.
    """
    networks = max(n_predictors + n_pooled, 1)
    if not n_pooled or not cross_fitting:
        return np.ones((n_domains, networks), dtype=np.float32)
    folds = max(min(n_sources, FOLDS), n_predictors)
    fold = (np.arange(networks) % n_predictors + member * n_predictors) % folds
    left_out = np.arange(n_domains)[:, None] % folds == fold[None, :]
    return (~left_out).astype(np.float32)


@jit(Effort.QUICK_TO_COMPILE)
def predict_left_out(trainer: Trainer, problem: Problem, vectors: Array) -> LeftOut:
    """Every domain as predicted by the networks that were not trained on it."""

    def one_lane(lane: tuple[Problem, Array]) -> LeftOut:
        problem, vector = lane
        network = trainer.network(vector)

        def one_domain(domain: tuple[Array, Blocks]) -> LeftOut:
            return _left_out_domain(trainer, problem, network, *domain)

        return jax.lax.map(one_domain, (problem.in_fold, problem.blocks))

    return jax.lax.map(one_lane, (problem, vectors))


def _left_out_domain(
    trainer: Trainer, problem: Problem, network: Network, in_fold: Array, own: Blocks
) -> LeftOut:
    n_predictors = trainer.sizes.n_predictors
    kind, rows = problem.layout.label_kind, min(LEFT_OUT_ROWS, own.values.shape[0])
    left_out = 1.0 - in_fold[:n_predictors]
    trained = 1.0 - left_out
    present = (jnp.arange(rows) < own.n_rows).astype(jnp.float32)
    together = left_out[None] / left_out.sum()  # NaN if all networks were trained on it
    first = own.values[:rows], own.observed[:rows], present
    with_env, pooled, truth, known = _averages(trainer, problem, network, together, *first)
    losses = _grid_losses(kind, with_env, pooled, truth, known)[:, 0]
    validation = own.valid_values, own.valid_observed, own.valid_present
    one_by_one = jnp.eye(n_predictors)
    each = _grid_losses(
        kind, *_averages(trainer, problem, network, one_by_one, *validation)
    )  # [grid, networks]
    levels = jnp.stack([known @ label for label in (with_env[0], pooled[0], truth)])
    return LeftOut(
        losses=losses,
        inflation=each @ (left_out / left_out.sum() - trained / trained.sum()),
        levels=levels / known.sum(),
        rows=known.sum(),
    )


def _averages(
    trainer: Trainer,
    problem: Problem,
    network: Network,
    weights: Float[Array, "sets networks"],
    values: Array,
    observed: Array,
    present: Array,
) -> tuple[Array, Array, Array, Array]:
    """Averages of the networks with E and of those without, by each set of weights [sets, rows,
    label columns]; the observed label; and which rows have one."""
    sizes, layout = trainer.sizes, problem.layout
    inputs = layout.inputs(values, observed)
    env = trainer.environment(problem, network, values, observed, present)
    means = network.label_means(layout, problem.parents, inputs, env[None])[0]
    with_env, pooled = (
        jnp.tensordot(weights, part, 1)
        for part in (means[: sizes.n_predictors], means[sizes.n_predictors :])
    )
    return with_env, pooled, values[:, -sizes.label_columns :], present * observed[:, -1]


def _grid_losses(
    kind: str, with_env: Array, pooled: Array, truth: Array, known: Array
) -> Float[Array, "grid sets"]:
    """Losses of the mixtures of each pair of averages, for every stacking weight."""

    def loss(share: Array, with_env: Array, pooled: Array) -> Array:
        return _loss(kind, share * with_env + (1 - share) * pooled, truth, known)

    by_pair = jax.vmap(loss, in_axes=(None, 0, 0))
    grid = jnp.asarray(STACK_GRID, dtype=jnp.float32)
    return jax.vmap(by_pair, in_axes=(0, None, None))(grid, with_env, pooled)


def _loss(kind: str, means: Array, truth: Array, known: Array) -> Float[Array, ""]:
    """Mean log-loss of classes; logarithm of the mean squared error of numbers.

    The logarithm keeps one domain that nobody can predict from deciding for all.
    """
    if kind == "continuous":
        return jnp.log((known * (truth[:, 0] - means[:, 0]) ** 2).sum() / known.sum())
    return (known * class_losses(kind, means, truth)).sum() / known.sum()

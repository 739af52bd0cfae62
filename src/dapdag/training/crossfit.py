"""How far to trust E: adaptation is worth what it gains on sources that it has not seen.

For the first part of training every vote learns the label from all sources but a few of its own,
and beside each vote that sees E there is a pooled one that does not. On the sources that both have
not seen, their losses tell how much of the prediction E should make, how much larger errors are on
a site that was not seen, and how well the level of the label was foretold. Then all votes learn
from all sources to the end.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._runtime.compile import compiled_plainly
from ..data.blocks import Blocks
from ..inference.stacking import SHARES, Unseen
from ..model import objective as obj
from ..model.likelihoods import mean
from .step import Problem, StepConfig

SHARES_OF_SOURCES = 8
ROWS = 512


def first_lessons(
    n_predictors: int,
    n_pooled: int,
    n_domains: int,
    n_sources: int,
    member: int,
    cross_fitting: bool = True,
) -> np.ndarray:
    """Every vote learns from all domains but a few: [domains, votes].

    A vote leaves out one source in `SHARES_OF_SOURCES` (or fewer, if there are not so many), and
    the votes of several members go on where those of the one before stopped. The less is left
    out, the more the votes are like those that will predict.
    """
    votes = max(n_predictors + n_pooled, 1)
    if not n_pooled or not cross_fitting:
        return np.ones((n_domains, votes), dtype=np.float32)
    shares = max(min(n_sources, SHARES_OF_SOURCES), n_predictors)
    share = (np.arange(votes) % n_predictors + member * n_predictors) % shares
    unseen = np.arange(n_domains)[:, None] % shares == share[None, :]
    return (~unseen).astype(np.float32)


@compiled_plainly
def left_out(config: StepConfig, problem: Problem, vectors: Array) -> Unseen:
    """Every domain by the votes that have not seen it."""
    sizes = config.sizes
    shares = jnp.asarray(SHARES, dtype=jnp.float32)

    def one_lane(lane: tuple[Problem, Array]) -> Unseen:
        problem, vector = lane
        network, layout, blocks = config.network(vector), problem.layout, problem.blocks
        only_label = obj.label_layout(layout, sizes.label_columns)
        rows = min(ROWS, blocks.values.shape[1])

        def answers(
            unseen: Array, values: Array, observed: Array, present: Array
        ) -> tuple[Array, Array, Array, Array]:
            """With E and without, by the votes as weighted in each row of `unseen`; truth; rows."""
            inputs = layout.inputs(values, observed)
            env = network.infer(layout, inputs, present, problem.weights.prior_precision).mean
            votes = network.predict(layout, problem.parents, inputs, env[None])[0]
            means = jax.vmap(lambda outputs: mean(only_label, outputs))(votes)
            with_env, pooled = (
                jnp.tensordot(unseen, part, 1)
                for part in (means[: sizes.n_predictors], means[sizes.n_predictors :])
            )
            truth, known = values[:, -sizes.label_columns :], present * observed[:, -1]
            return with_env, pooled, truth, known

        def losses_of(with_env: Array, pooled: Array, truth: Array, known: Array) -> Array:
            """Of the mixtures of each pair of answers: [shares, pairs]."""

            def loss(share: Array, with_env: Array, pooled: Array) -> Array:
                mixture = share * with_env + (1 - share) * pooled
                return _loss(layout.label_kind, mixture, truth, known)

            by_pair = jax.vmap(loss, in_axes=(None, 0, 0))
            return jax.vmap(by_pair, in_axes=(0, None, None))(shares, with_env, pooled)

        def one_domain(domain: tuple[Array, Blocks]) -> Unseen:
            lessons, own = domain
            unseen = 1.0 - lessons[: sizes.n_predictors]
            present = (jnp.arange(rows) < own.n_rows).astype(jnp.float32)
            together = unseen[None] / unseen.sum()  # NaN if all votes have seen it
            found = answers(together, own.values[:rows], own.observed[:rows], present)
            validation = own.valid_values, own.valid_observed, own.valid_present
            each = losses_of(*answers(jnp.eye(len(unseen)), *validation))
            seen = 1.0 - unseen
            with_env, pooled, truth, known = found
            levels = jnp.stack([known @ label for label in (with_env[0], pooled[0], truth)])
            return Unseen(
                losses=losses_of(*found)[:, 0],
                growth=each @ (unseen / unseen.sum() - seen / seen.sum()),
                levels=levels / known.sum(),
                rows=known.sum(),
            )

        return jax.lax.map(one_domain, (problem.lessons, blocks))

    return jax.lax.map(one_lane, (problem, vectors))


def _loss(kind: str, means: Array, truth: Array, known: Array) -> Float[Array, ""]:
    """Mean log-loss of classes; logarithm of the mean squared error of numbers.

    The logarithm keeps one domain that nobody can predict from deciding for all.
    """
    if kind == "continuous":
        return jnp.log((known * (truth[:, 0] - means[:, 0]) ** 2).sum() / known.sum())
    likely = truth * means if kind == "categorical" else truth * means + (1 - truth) * (1 - means)
    return -(known * jnp.log(jnp.maximum(likely.sum(-1), 1e-6))).sum() / known.sum()

"""From validated tables to trained models: table → domains → training → model.

Several tables of one shape train as lanes of one program, and so do the members of an ensemble.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.cache import compilation_cache
from .._runtime.compile import Ahead, compiled_quickly, make_room
from .._runtime.progress import progress
from ..data.blocks import Blocks
from ..data.columns import Discrete
from ..data.sample import Sample, learn_table
from ..data.table import Table
from ..graph import DAG
from ..inference.environment import encoded_environment, summarise_call
from ..inference.fitted import Fit, Model, Rules
from ..inference.missing import Lacking, hiding_masks, learn_lacking, masked
from ..inference.novelty import largest_losses
from ..inference.parts import ALL, Parts
from ..inference.prediction import noise_scale
from ..inference.recalibration import Levels
from ..model.network import unravel
from ..record import Record
from . import StepConfig, TrainingResult, train
from .assemble import assemble, make_plan
from .checkpoint import Checkpoint
from .heldout import heldout_losses, heldout_means
from .settings import Settings
from .step import Problem, network_size
from .summary import make_heldout, make_record

FEW_RESIDUALS = 30


def fit_models(
    samples: Sequence[Sample],
    settings: Settings,
    by: Callable[[StepConfig, Problem], tuple[StepConfig, Problem]] = lambda *usual: usual,
) -> list[Fit]:
    """Train one model per sample; all samples must have the same padded shape.

    `by` may put steps of another kind in place of the usual ones.
    """
    tables = [learn_table(s) for s in samples]
    seeds = [
        int(np.random.SeedSequence([settings.random_state, m]).generate_state(1)[0])
        for m in range(settings.n_members)
    ]
    make_room()
    with compilation_cache():
        problem, config, n_train = assemble(samples, tables, settings, seeds)
        config, problem = by(config, problem)
        plan = make_plan(settings, config, n_train, len(samples))
        keys = jnp.stack([jax.random.key(s) for _ in samples for s in seeds])
        checkpoint = Checkpoint.open(settings.checkpoint, config, plan, problem, seeds)
        ahead = Ahead(_summary_of_a_source(samples[0], tables[0], config, settings))
        with progress(plan.max_epochs, "training", settings.verbose) as bar:
            result = train(
                config,
                problem,
                keys,
                plan,
                checkpoint,
                lambda epoch, loss: bar.update(epoch, validation=loss),
                then=_heldout,
            )
        problem = eqx.tree_at(
            lambda p: (p.parents, p.trust), problem, (result.parents, result.trust)
        )
        found = map(np.asarray, _heldout(config, problem, result.vectors))
        learned, (means, *hidden), losses = found
        ahead.wait()
        members = [
            slice(i * settings.n_members, (i + 1) * settings.n_members) for i in range(len(samples))
        ]
        blocks = [jax.tree.map(lambda array, m=m: array[m], problem.blocks) for m in members]
        return [
            _fit(
                *(s, t, settings, config, result, m, b, means[m]),
                _label_scale(b, means[m], learned[m]),
                learn_lacking(t, b, means[m], np.stack(hidden)[: len(t.features), m]),
                largest_losses(losses[m, :, : len(t.features)], result.parents[m.start]),
            )
            for s, t, b, m in zip(samples, tables, blocks, members, strict=True)
        ]


@compiled_quickly
def _heldout(
    config: StepConfig, problem: Problem, vectors: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Per lane: the learned noise of the label, the means predicted for validation rows, and how
    well these are reconstructed.

    The means come first as they are, then with every variable hidden in turn: [1 + variables - 1].
    """

    def one_lane(problem: Problem, vector: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        def with_visible(visible: jax.Array) -> jax.Array:
            hiding = eqx.tree_at(lambda p: p.blocks, problem, masked(problem.blocks, visible))
            return heldout_means(config, hiding, vector)

        masks = jnp.asarray(hiding_masks(config.sizes.variables))
        learned = noise_scale(config.network(vector))
        losses = jnp.full((problem.lessons.shape[0], config.sizes.variables), jnp.nan)
        if config.formulation.uses_structure:
            losses = heldout_losses(config, problem, vector)
        return learned, jax.lax.map(with_visible, masks), losses

    learned, means, losses = jax.lax.map(lambda lane: one_lane(*lane), (problem, vectors))
    return learned, jnp.swapaxes(means, 0, 1), losses


def _label_scale(blocks: Blocks, means: NDArray, learned: NDArray) -> NDArray[np.float64]:
    """Noise of the standardised label, per member.

    The learned scale fits the training rows; held-out rows say what a new row will see.
    """
    known = blocks.valid_present * blocks.valid_observed[..., -1]
    label = blocks.valid_values[..., -means.shape[-1]]
    squares = known * (label - means[..., 0]) ** 2
    if known.sum() < FEW_RESIDUALS:
        return learned.astype(float)
    return np.full(len(learned), np.sqrt(squares.sum() / known.sum()))


def _fit(
    sample: Sample,
    table: Table,
    settings: Settings,
    config: StepConfig,
    result: TrainingResult,
    lanes: slice,
    blocks: Blocks,
    means: NDArray,
    label_scale: NDArray[np.float64],
    lacking: Lacking,
    explained: NDArray[np.float64],
) -> Fit:
    first = lanes.start
    rng = np.random.default_rng(settings.random_state)
    half = rng.normal(size=((settings.n_draws + 1) // 2, settings.env_dim))
    model = Model(
        table=table,
        sizes=config.sizes,
        # Without the stopped gradient E is refined at prediction all the same.
        formulation=replace(
            config.formulation,
            label_teaches_env=config.formulation.label_teaches_env and settings.parts.stop_gradient,
        ),
        vectors=result.vectors[lanes, : network_size(config.sizes)],
        parents=result.parents[first],
        prior_precision=settings.prior_precision,
        source_mean=np.zeros(0),
        source_variance=np.zeros(0),
        label_scale=label_scale,
        growth=float(result.growth[first]),
        lacking=lacking,
        trust=result.trust[first].astype(float),
        explained=explained,
        levels=_levels(sample, table, config, result, lanes),
        normal=np.concatenate([half, -half])[: settings.n_draws],
    )
    model = reduced(_with_sources(model, sample), settings.parts)
    keep = np.append(np.arange(len(table.features)), len(result.parents[first]) - 1)
    cut = np.ix_(keep, keep)
    structure = result.structure
    members = np.stack(result.history[lanes])
    known = np.isfinite(members)
    total = np.where(known, members, 0.0).sum(0)
    history = np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan)
    return Fit(
        model=model,
        adjacency=structure.adjacency[lanes].mean(0)[cut],
        dag=_unpadded(structure.dags[first], keep),
        strength=result.strength[lanes].mean(0)[cut],
        env_strength=result.env_strength[lanes].mean(0)[keep],
        history=pd.DataFrame(history, columns=[*config.terms, "validation"]).rename_axis("epoch"),
        n_epochs=len(history),
        interrupted=result.interrupted,
        record=_record(sample, model, settings, blocks, means),
    )


def reduced(model: Model, parts: Parts) -> Model:
    """The model without the mechanisms of prediction that are switched off: neutral constants."""
    if parts == ALL:
        return model
    levels, cost = model.levels, model.lacking.cost
    if levels is not None and not parts.prevalence_slope:
        levels = replace(levels, belief=1.0)
    if not parts.missing_cost:
        cost = np.full_like(cost, 0.0 if levels is None else 1.0)
    scale = model.label_scale
    if not parts.heldout_noise:
        scale = np.asarray([noise_scale(unravel(model.sizes, v)) for v in model.vectors], float)
    return replace(
        model,
        levels=levels,
        lacking=model.lacking._replace(cost=cost),
        label_scale=scale,
        growth=model.growth if parts.variance_inflation else 1.0,
        rules=Rules(
            refines_env=parts.map_refinement,
            clips_env=parts.env_clipping,
            weighs_by_distance=parts.weight_by_distance,
            narrow_is_mean=parts.narrow_mean,
        ),
    )


def _levels(
    sample: Sample, table: Table, config: StepConfig, result: TrainingResult, lanes: slice
) -> Levels | None:
    """What is known about the shares of the classes at the sources."""
    if not isinstance(table.label, Discrete):
        return None
    own = sample.y[sample.is_source], sample.domain[sample.is_source]
    counts = np.zeros((sample.n_sources, len(table.label.levels)))
    for k, one in enumerate(table.label.levels):
        counts[:, k] = np.bincount(own[1][own[0] == one], minlength=sample.n_sources)
    unseen = jax.tree.map(lambda array: array[lanes], result.unseen)
    env_share = float(result.trust[lanes.start][: config.sizes.n_predictors].sum())
    return Levels.learn(table.label, counts, unseen, env_share)


def _unpadded(dag: DAG, keep: NDArray) -> DAG:
    position = {int(v): k for k, v in enumerate(keep)}
    removed = tuple((position[i], position[j]) for i, j in dag.removed)
    return DAG(dag.mask[np.ix_(keep, keep)], removed, dag.threshold)


def _summary_of_a_source(
    sample: Sample, table: Table, config: StepConfig, settings: Settings
) -> list[tuple[Any, ...]]:
    """The call that `_with_sources` will make for the first source, if it makes any."""
    if not config.formulation.uses_environment:
        return []
    rows = sample.X.iloc[np.flatnonzero(sample.domain == 0)]
    vectors = np.zeros((settings.n_members, network_size(config.sizes)), dtype=np.float32)
    return [summarise_call(table, config.sizes, vectors, settings.prior_precision, rows)]


def _with_sources(model: Model, sample: Sample) -> Model:
    """The model with the posterior of E of every source, by which others are judged."""
    posteriors = [
        encoded_environment(model, sample.X.iloc[np.flatnonzero(sample.domain == d)])
        for d in range(sample.n_sources)
    ]
    return replace(
        model,
        source_mean=np.stack([q.mean for q in posteriors], axis=1),
        source_variance=np.stack([q.variance for q in posteriors], axis=1),
    )


def _record(
    sample: Sample, model: Model, settings: Settings, blocks: Blocks, means: NDArray
) -> Record:
    table = model.table
    sources = sample.domain_labels[: sample.n_sources]
    rows = np.bincount(sample.domain)[: sample.n_sources]
    scale = float(np.sqrt(np.mean(model.label_scale**2)))
    heldout = make_heldout(table, blocks, means, rows, scale)
    return make_record(table, sample.X, sample.y, sample.domain, sources, settings, heldout)

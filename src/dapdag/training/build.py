"""What training learned about one sample → its fitted model and the record of its training."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..data.chunks import Chunks
from ..data.columns import Discrete
from ..data.sample import Sample
from ..data.table import Table
from ..graph import DAG
from ..inference.environment import encode, summarise_call
from ..inference.fitted import Fit, FittedModel, Rules
from ..inference.missing import learn_missing_effects
from ..inference.novelty import worst_source_losses
from ..inference.parts import ALL, Parts
from ..inference.recalibration import Prevalence
from ..model.constants import FEWEST_RESIDUALS
from ..model.likelihoods import noise_scale
from ..model.parameters import slices_of, unravel
from ..record import Record
from .problem import Problem
from .result import TrainingResult
from .settings import Settings
from .step import Trainer
from .summary import make_heldout, make_record


class Heldout(NamedTuple):
    """What `evaluate_heldout` found for the members of one model."""

    learned_scale: NDArray
    means: NDArray  # [members, domains, rows, label columns]
    hidden: NDArray  # the same with each feature hidden in turn: [features, members, …]
    losses: NDArray  # [members, domains, features]

    @staticmethod
    def of(found: tuple[Any, ...], members: slice, n_features: int) -> "Heldout":
        learned, (means, *hidden), losses = map(np.asarray, found)
        return Heldout(
            learned[members],
            means[members],
            np.stack(hidden)[:n_features, members],
            losses[members, :, :n_features],
        )


def build(
    sample: Sample,
    table: Table,
    settings: Settings,
    trainer: Trainer,
    problem: Problem,
    result: TrainingResult,
    evaluated: tuple[Any, ...],
    position: int,
) -> Fit:
    """The fit of the sample at this position: its members are consecutive lanes."""
    lanes = slice(position * settings.n_members, (position + 1) * settings.n_members)
    heldout = Heldout.of(evaluated, lanes, len(table.features))
    blocks = jax.tree.map(lambda array: array[lanes], problem.blocks)
    model = _model(sample, table, settings, trainer, result, lanes, blocks, heldout)
    model = reduced(_with_sources(model, sample), settings.parts)
    keep = np.append(np.arange(len(table.features)), len(model.parents) - 1)
    cut = np.ix_(keep, keep)
    history = _mean_history(result, trainer, lanes)
    return Fit(
        model=model,
        adjacency=result.structure.adjacency[lanes].mean(0)[cut],
        dag=_unpadded(result.structure.dags[lanes.start], keep),
        strength=result.strength[lanes].mean(0)[cut],
        env_strength=result.env_strength[lanes].mean(0)[keep],
        history=history,
        n_epochs=len(history),
        interrupted=result.interrupted,
        record=_record(sample, model, settings, blocks, heldout.means),
    )


def _model(
    sample: Sample,
    table: Table,
    settings: Settings,
    trainer: Trainer,
    result: TrainingResult,
    lanes: slice,
    blocks: Blocks,
    heldout: Heldout,
) -> FittedModel:
    first = lanes.start
    parents = result.parents[first]
    rng = np.random.default_rng(settings.random_state)
    half = rng.normal(size=((settings.n_draws + 1) // 2, settings.env_dim))
    formulation = trainer.formulation
    return FittedModel(
        table=table,
        sizes=trainer.sizes,
        # Without the stopped gradient E is refined at prediction all the same.
        formulation=replace(
            formulation,
            label_teaches_env=formulation.label_teaches_env and settings.parts.stop_gradient,
        ),
        vectors=result.vectors[lanes, : slices_of(trainer.sizes).size],
        parents=parents,
        prior_precision=settings.prior_precision,
        source_mean=np.zeros(0),
        source_variance=np.zeros(0),
        label_scale=_label_scale(blocks, heldout),
        inflation=float(result.inflation[first]),
        missing=learn_missing_effects(table, blocks, heldout.means, heldout.hidden),
        stack_weights=result.stack_weights[first].astype(float),
        worst_source_loss=worst_source_losses(heldout.losses, parents),
        prevalence=_prevalence(sample, table, trainer, result, lanes),
        normal=np.concatenate([half, -half])[: settings.n_draws],
    )


def _with_sources(model: FittedModel, sample: Sample) -> FittedModel:
    """The model with the posterior of E of every source, with which others are compared."""
    posteriors = [
        encode(model, Chunks(model.table, sample.X.iloc[np.flatnonzero(sample.domain == d)]))
        for d in range(sample.n_sources)
    ]
    return replace(
        model,
        source_mean=np.stack([q.mean for q in posteriors], axis=1),
        source_variance=np.stack([q.variance for q in posteriors], axis=1),
    )


def source_summary_call(
    sample: Sample, table: Table, trainer: Trainer, settings: Settings
) -> list[tuple[Any, ...]]:
    """The call that encodes the first source, if any is made: compiled while training runs."""
    if not trainer.formulation.uses_environment:
        return []
    rows = sample.X.iloc[np.flatnonzero(sample.domain == 0)]
    size = slices_of(trainer.sizes).size
    vectors = np.zeros((settings.n_members, size), dtype=np.float32)
    return [summarise_call(table, trainer.sizes, vectors, settings.prior_precision, rows)]


def reduced(model: FittedModel, parts: Parts) -> FittedModel:
    """The model without the mechanisms of prediction that are switched off: neutral constants."""
    if parts == ALL:
        return model
    prevalence, penalty = model.prevalence, model.missing.penalty
    if prevalence is not None and not parts.prevalence_slope:
        prevalence = replace(prevalence, slope=1.0)
    if not parts.missing_cost:
        penalty = np.full_like(penalty, 0.0 if prevalence is None else 1.0)
    scale = model.label_scale
    if not parts.heldout_noise:
        networks = [unravel(model.sizes, v) for v in model.vectors]
        scale = np.asarray([noise_scale(n.label_log_scale()) for n in networks], float)
    return replace(
        model,
        prevalence=prevalence,
        missing=model.missing._replace(penalty=penalty),
        label_scale=scale,
        inflation=model.inflation if parts.variance_inflation else 1.0,
        rules=Rules(
            refines_env=parts.map_refinement,
            clips_env=parts.env_clipping,
            narrow_is_mean=parts.narrow_mean,
        ),
    )


def _label_scale(blocks: Blocks, heldout: Heldout) -> NDArray[np.float64]:
    """Noise of the standardised label, per member: the root mean squared error of held-out rows.

    The learned scale fits the training rows; it is kept where there are few others.
    """
    known = blocks.valid_present * blocks.valid_observed[..., -1]
    label = blocks.valid_values[..., -heldout.means.shape[-1]]
    squares = known * (label - heldout.means[..., 0]) ** 2
    if known.sum() < FEWEST_RESIDUALS:
        return heldout.learned_scale.astype(float)
    return np.full(len(heldout.learned_scale), np.sqrt(squares.sum() / known.sum()))


def _prevalence(
    sample: Sample, table: Table, trainer: Trainer, result: TrainingResult, lanes: slice
) -> Prevalence | None:
    """Class prevalence at the sources and its slope; None for numbers."""
    if not isinstance(table.label, Discrete):
        return None
    y, domain = sample.y[sample.is_source], sample.domain[sample.is_source]
    counts = np.zeros((sample.n_sources, len(table.label.levels)))
    for k, one in enumerate(table.label.levels):
        counts[:, k] = np.bincount(domain[y == one], minlength=sample.n_sources)
    left_out = jax.tree.map(lambda array: array[lanes], result.left_out)
    env_share = float(result.stack_weights[lanes.start][: trainer.sizes.n_predictors].sum())
    return Prevalence.learn(table.label, counts, left_out, env_share)


def _mean_history(result: TrainingResult, trainer: Trainer, lanes: slice) -> pd.DataFrame:
    """Terms of the loss per epoch, averaged over the members that were still training."""
    members = np.stack(result.history[lanes])
    known = np.isfinite(members)
    total = np.where(known, members, 0.0).sum(0)
    mean = np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan)
    return pd.DataFrame(mean, columns=[*trainer.terms, "validation"]).rename_axis("epoch")


def _unpadded(dag: DAG, keep: NDArray) -> DAG:
    position = {int(v): k for k, v in enumerate(keep)}
    removed = tuple((position[i], position[j]) for i, j in dag.removed)
    return DAG(dag.mask[np.ix_(keep, keep)], removed, dag.threshold)


def _record(
    sample: Sample, model: FittedModel, settings: Settings, blocks: Blocks, means: NDArray
) -> Record:
    sources = sample.domain_labels[: sample.n_sources]
    rows = np.bincount(sample.domain)[: sample.n_sources]
    scale = float(np.sqrt(np.mean(model.label_scale**2)))
    heldout = make_heldout(model.table, blocks, means, rows, scale)
    return make_record(model.table, sample.X, sample.y, sample.domain, sources, settings, heldout)

"""What training learned about one sample → its fitted model and the record of its training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from ..graph import DAG, extract_dag
from ..inference.combination import Combination, LeftOutSite, combine
from ..inference.environment import encode
from ..inference.fitted import Fit, FittedModel, Rules
from ..inference.labels import SiteVariation
from ..inference.missing import learn_missing_effects
from ..inference.novelty import worst_source_losses
from ..inference.parts import ALL, Parts
from ..inference.recalibration import Prevalence, all_classes
from ..model.constants import FEWEST_RESIDUALS, GRID_MARGIN
from ..model.likelihoods import noise_scale
from ..model.parameters import slices_of, unravel
from ..record import Record
from ..structure.shifts import SHIFT_COLUMNS
from .graph import FoundGraph
from .left_out import leaves_out_by, predict_left_out, variance_inflation
from .problem import Problem
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


@dataclass(frozen=True)
class Learned:
    """Weights of all lanes, and how they came about."""

    trainer: Trainer  # with the sizes and the formulation of what predicts
    problem: Problem
    vectors: NDArray[np.float32]  # [lanes, parameters]
    fold_vectors: NDArray[np.float32] | None  # the same with networks that left sources out
    fold_errors: NDArray | None  # see `left_out.fold_errors`
    graphs: list[FoundGraph] | None  # one per sample; None where the decoder learned the graph
    measured: tuple[NDArray, NDArray, NDArray]  # filter norms, strengths of edges and of E
    history: NDArray  # [lanes, epochs, terms], the validation loss last
    heldout: tuple[Any, ...]
    interrupted: bool


def build(sample: Sample, table: Table, settings: Settings, learned: Learned, position: int) -> Fit:
    """The fit of the sample at this position: its members are consecutive lanes."""
    lanes = slice(position * settings.n_members, (position + 1) * settings.n_members)
    heldout = Heldout.of(learned.heldout, lanes, len(table.features))
    blocks = jax.tree.map(lambda array: array[lanes], learned.problem.blocks)
    model = _model(sample, table, settings, learned, lanes, blocks, heldout)
    model = reduced(
        _combined(_with_sources(model, sample), sample, settings, learned, lanes), settings.parts
    )
    order = sample.sources_in_order
    model = replace(
        model,
        source_mean=model.source_mean[:, order],
        source_variance=model.source_variance[:, order],
    )
    keep = np.append(np.arange(len(table.features)), len(model.parents) - 1)
    cut = np.ix_(keep, keep)
    adjacency, strength, on_env = (np.abs(array[lanes]).mean(0) for array in learned.measured)
    strength = np.where(learned.measured[1][lanes].mean(0) < 0, -strength, strength)
    found = None if learned.graphs is None else learned.graphs[position]
    if found is None:
        dag = extract_dag(strength[cut], settings.edge_threshold)
    else:
        dag = DAG(found.mask, (), settings.edge_threshold)
    history = _mean_history(learned, lanes)
    return Fit(
        model=model,
        adjacency=adjacency[cut],
        dag=dag,
        edge_probability=np.full_like(strength[cut], np.nan)
        if found is None
        else found.probability,
        shifts=np.full((len(keep), len(SHIFT_COLUMNS)), np.nan) if found is None else found.shifts,
        strength=strength[cut],
        env_strength=on_env[keep],
        history=history,
        n_epochs=len(history),
        interrupted=learned.interrupted,
        record=_record(sample, model, settings, blocks, heldout.means),
    )


def _model(
    sample: Sample,
    table: Table,
    settings: Settings,
    learned: Learned,
    lanes: slice,
    blocks: Blocks,
    heldout: Heldout,
) -> FittedModel:
    trainer = learned.trainer
    parents = np.asarray(learned.problem.parents)[lanes.start]
    rng = np.random.default_rng(settings.random_state)
    half = rng.normal(size=((settings.n_draws + 1) // 2, settings.env_dim))
    return FittedModel(
        table=table,
        sizes=trainer.sizes,
        formulation=trainer.formulation,
        vectors=learned.vectors[lanes, : slices_of(trainer.sizes).size],
        parents=parents,
        prior_precision=settings.prior_precision,
        source_mean=np.zeros(0),
        source_variance=np.zeros(0),
        label_scale=_label_scale(blocks, heldout),
        inflation=1.0,
        missing=learn_missing_effects(table, blocks, heldout.means, heldout.hidden),
        combination=Combination.of_networks(0.5 if trainer.sizes.n_pooled else 1.0),
        effects=None,
        label_range=_label_range(sample, table),
        worst_source_loss=worst_source_losses(heldout.losses, parents),
        prevalence=_prevalence(sample, table, ()),
        normal=np.concatenate([half, -half])[: settings.n_draws],
    )


def _combined(
    model: FittedModel, sample: Sample, settings: Settings, learned: Learned, lanes: slice
) -> FittedModel:
    """The model with its experts weighted by what they predict for left-out sources."""
    if learned.fold_vectors is None:
        return model
    parts = settings.parts
    model = replace(model, rules=replace(model.rules, estimates_effects=parts.site_effects))
    table = predict_left_out(model, replace(model, vectors=learned.fold_vectors[lanes]), sample)
    kind = model.table.label.kind
    combination = combine(table.sites, kind, parts)
    inflation = 1.0
    if kind == "continuous" and learned.fold_errors is not None:
        members = range(model.n_members)
        out = np.stack([leaves_out_by(model, sample.n_sources, m) > 0 for m in members])
        errors = learned.fold_errors[lanes, : sample.n_sources]
        inflation = variance_inflation(errors, out, combination.weights)
    stacked = [_stacked(one, combination) for one in table.sites]
    prevalence = _prevalence(sample, model.table, list(zip(stacked, table.sites, strict=True)))
    pairs = [
        (_recalibrated(prevalence, mean), one.truth)
        for mean, one in zip(stacked, table.sites, strict=True)
    ]
    return replace(
        model,
        combination=combination,
        effects=table.effects if parts.graph_inference else None,
        inflation=inflation,
        prevalence=prevalence,
        variation=SiteVariation.learn(pairs, kind) if pairs else None,
    )


def _recalibrated(prevalence: Prevalence | None, mean: NDArray) -> NDArray[np.float64]:
    if prevalence is None:
        return mean
    return prevalence.applied(all_classes(mean))[:, -mean.shape[1] :]


def _stacked(site: LeftOutSite, found: Combination) -> NDArray[np.float64]:
    experts = np.stack([site.pooled, site.environment, site.graph[found.temperature]])
    return np.asarray(np.tensordot(found.weights, experts, 1))


def _label_range(sample: Sample, table: Table) -> tuple[float, float]:
    """Where a number's posterior is computed: the sources' range and a margin."""
    if isinstance(table.label, Discrete):
        return 0.0, 1.0
    encoded = table.encode_label(sample.y[sample.is_source])[:, 0]
    low, high = np.nanmin(encoded), np.nanmax(encoded)
    return float(low) - GRID_MARGIN, float(high) + GRID_MARGIN


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
            estimates_effects=parts.site_effects,
            has_referee=parts.referee,
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
    sample: Sample, table: Table, left_out: Sequence[tuple[NDArray, LeftOutSite]]
) -> Prevalence | None:
    """Class prevalence at the sources, and its slope over left-out ones; None for numbers."""
    if not isinstance(table.label, Discrete):
        return None
    y, domain = sample.y[sample.is_source], sample.domain[sample.is_source]
    counts = np.zeros((sample.n_sources, len(table.label.levels)))
    for k, one in enumerate(table.label.levels):
        counts[:, k] = np.bincount(domain[y == one], minlength=sample.n_sources)
    predicted = np.array([all_classes(p).sum(0) for p, _ in left_out])
    observed = np.array([all_classes(site.truth).sum(0) for _, site in left_out])
    return Prevalence.learn(table.label, counts, predicted, observed)


def _mean_history(learned: Learned, lanes: slice) -> pd.DataFrame:
    """Terms of the loss per epoch, averaged over the members that were still training."""
    members = learned.history[lanes]
    known = np.isfinite(members)
    total = np.where(known, members, 0.0).sum(0)
    mean = np.where(known.any(0), total / np.maximum(known.sum(0), 1), np.nan)
    return pd.DataFrame(mean, columns=[*learned.trainer.terms, "validation"]).rename_axis("epoch")


def _record(
    sample: Sample, model: FittedModel, settings: Settings, blocks: Blocks, means: NDArray
) -> Record:
    sources = sample.domain_labels[: sample.n_sources]
    rows = np.bincount(sample.domain)[: sample.n_sources]
    scale = float(np.sqrt(np.mean(model.label_scale**2)))
    heldout = make_heldout(model.table, blocks, means, rows, scale)
    return make_record(model.table, sample.X, sample.y, sample.domain, sources, settings, heldout)

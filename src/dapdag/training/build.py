"""What training learned about one sample → its fitted model and the record of its training."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..data.bounds import OPEN, label_bounds
from ..data.columns import Discrete
from ..data.domains import rows_by_domain
from ..data.sample import Sample, drawn_by_weight
from ..data.table import Table
from ..graph import DAG, extract_dag
from ..inference.combination import Combination, combine
from ..inference.environment import environment_of
from ..inference.expected_scores import Prediction, ScoreErrors, learn_score_errors
from ..inference.fitted import Fit, FittedModel, Rules
from ..inference.missing import learn_missing_effects
from ..inference.novelty import worst_source_losses
from ..inference.parts import ALL, Parts
from ..inference.recalibration import (
    LeftOutLevel,
    all_classes,
    class_proportions,
    learn_calibration,
    mean_level,
    shifted,
)
from ..inference.row_noise import RowNoise
from ..model.constants import FEWEST_RESIDUALS, GRID_MARGIN
from ..model.likelihoods import noise_scale
from ..model.parameters import slices_of, unravel
from ..record import Record
from ..structure.shifts import SHIFT_COLUMNS
from .graph import FoundGraph
from .left_out import LeftOutTable, predict_left_out
from .problem import Problem
from .settings import Settings
from .source_environments import summaries_of
from .step import Trainer
from .summary import make_heldout, make_record


class Heldout(NamedTuple):
    """What `evaluate_heldout` found for the members of one model."""

    learned_scale: NDArray
    means: NDArray  # [members, domains, rows, label columns]
    hidden: NDArray  # of the first rows, with each feature hidden in turn: [features, members, …]
    losses: NDArray  # [members, domains, features]

    @staticmethod
    def of(found: tuple[Any, ...], members: slice, n_features: int) -> "Heldout":
        learned, means, hidden, losses = map(np.asarray, found)
        return Heldout(
            learned[members],
            means[members],
            hidden[:n_features, members],
            losses[members, :, :n_features],
        )


@dataclass(frozen=True)
class Learned:
    """Weights of all lanes, and how they came about."""

    trainer: Trainer  # with the sizes and the formulation of what predicts
    problem: Problem
    vectors: NDArray[np.float32]  # [lanes, parameters]
    fold_vectors: NDArray[np.float32] | None  # the same with networks that left sources out
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
        missing=learn_missing_effects(table, blocks, heldout.means, heldout.hidden),
        combination=Combination.of_networks(0.5 if trainer.sizes.n_pooled else 1.0),
        effects=None,
        label_range=_label_range(sample, table),
        label_bounds=OPEN
        if isinstance(table.label, Discrete)
        else label_bounds(settings.label_bounds, sample.y[sample.labelled].astype(float)),
        worst_source_loss=worst_source_losses(heldout.losses, parents),
        calibration=learn_calibration((), *_usual_level(sample, table)),
        score_errors=ScoreErrors.none(table.label.kind),
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
    model = replace(
        model,
        combination=combine(table.sites, model.table.label.kind, parts),
        effects=table.effects if parts.graph_inference else None,
    )
    levels = [_left_out_level(model, table, k) for k in range(len(table.sites))]
    usual = _usual_level(sample, model.table)
    model = replace(model, calibration=learn_calibration(levels, *usual))
    sources = [_judged(model, level) for level in levels]
    return replace(model, score_errors=learn_score_errors(sources, model.table.label.kind))


def _left_out_level(model: FittedModel, table: LeftOutTable, k: int) -> LeftOutLevel:
    site = table.sites[k]
    stacked = site.stacked(model.combination)
    if isinstance(model.table.label, Discrete):
        return LeftOutLevel(all_classes(site.truth), all_classes(stacked))
    return LeftOutLevel(site.truth, stacked, table.stated_variance(model, k))


def _judged(model: FittedModel, left: LeftOutLevel) -> tuple[Prediction, NDArray[np.float64]]:
    """Recalibrated predictions for a left-out source, and its labels: [rows]."""
    found = model.calibration
    offset = found.offset(left.predicted)
    if left.stated is None:
        return Prediction(shifted(left.predicted, offset)), left.observed.argmax(1).astype(float)
    mean = left.predicted + offset
    variance = found.row_noise.factor(mean[:, 0]) * found.ratio * left.stated
    return Prediction(mean, variance), left.observed[:, 0]


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
        environment_of(model, found) for found in summaries_of(model, sample, sample.n_sources)
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
    calibration, penalty = model.calibration, model.missing.penalty
    if not parts.site_slope:
        calibration = replace(calibration, slope=1.0)
    if not parts.between_sites:
        calibration = replace(calibration, tau2=0.0, ratio=1.0)
    if not parts.row_noise:
        calibration = replace(calibration, row_noise=RowNoise.constant())
    if not parts.missing_cost:
        penalty = np.full_like(penalty, 0.0 if calibration.overall is None else 1.0)
    scale = model.label_scale
    if not parts.heldout_noise:
        networks = [unravel(model.sizes, v) for v in model.vectors]
        scale = np.asarray([noise_scale(n.label_log_scale()) for n in networks], float)
    return replace(
        model,
        calibration=calibration,
        missing=model.missing._replace(penalty=penalty),
        label_scale=scale,
        rules=Rules(
            refines_env=parts.map_refinement,
            clips_env=parts.env_clipping,
            narrow_is_mean=parts.narrow_mean,
            estimates_effects=parts.site_effects,
            has_referee=parts.referee,
        ),
    )


def _label_scale(blocks: Blocks, heldout: Heldout) -> NDArray[np.float64]:
    """Noise of the standardised label, per member: the standard deviation of the errors of held-out
    rows within their site. What sites have in common is variance between sites.

    The learned scale fits the training rows; it is kept where there are few others.
    """
    known = np.asarray(blocks.valid_present * blocks.valid_observed[..., -1], dtype=float)
    label = np.asarray(blocks.valid_values)[..., -heldout.means.shape[-1]]
    error = known * (label - heldout.means[..., 0])  # [members, domains, rows]
    rows = known.sum(-1)
    freedom = np.maximum(rows - 1, 0).sum()
    if freedom < FEWEST_RESIDUALS:
        return heldout.learned_scale.astype(float)
    squares = (error**2).sum(-1) - error.sum(-1) ** 2 / np.maximum(rows, 1)
    return np.full(len(heldout.learned_scale), np.sqrt(squares.sum() / freedom))


def _usual_level(
    sample: Sample, table: Table
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Mean over the sources of the label's level, and the proportions of classes over all rows."""
    rows = sample.labelled
    if sample.weight is not None:
        own = [rows[sample.domain[rows] == d] for d in np.unique(sample.domain[rows])]
        rows = np.concatenate([some[drawn_by_weight(sample.weight[some])] for some in own])
    y, domain = sample.y[rows], sample.domain[rows]
    label = table.encode_label(y)[:, : table.label.width].astype(float)
    overall = None
    if isinstance(table.label, Discrete):
        label, overall = all_classes(label), class_proportions(table.label)
    of_domain = [label[rows] for rows in rows_by_domain(domain) if len(rows)]
    return mean_level(of_domain, overall), overall


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
    rows = np.bincount(sample.domain)[: sample.n_sources]
    heldout = make_heldout(model.table, blocks, means, rows)
    return make_record(model.table, sample, settings, heldout)

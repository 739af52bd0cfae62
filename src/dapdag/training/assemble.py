"""Samples and settings → what the stages of training take: data, trainer and plan."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks, make_blocks, steps_per_epoch
from ..data.graph_layout import GraphSizes, blanket_of, on_graph
from ..data.layout import kinds_of, layout_of, sizes_of
from ..data.sample import Sample, row_encoder
from ..data.table import Table
from ..model import Layout, Sizes
from ..model import objective as obj
from ..model.constants import (
    AVERAGE_STEPS,
    DECODER_ROWS,
    FEWEST_STEPS,
    FINAL_RATE,
    LABEL_RATE,
    MAX_BATCH_ROWS,
    MOST_STEPS,
    PENALTY_GROWTH,
    PENALTY_RAMP,
    SMALLEST_BATCH,
)
from ..model.formulation import Formulation
from .folds import equal_weights, fold_masks
from .form import Form
from .graph import FoundGraph
from .problem import Plan, Problem
from .schedule import Schedule
from .settings import Settings
from .stages import LabelTrainer, StructureTrainer
from .step import Trainer


@dataclass(frozen=True)
class Assembled:
    """What one stage of training takes."""

    problem: Problem
    trainer: Trainer
    plan: Plan


@dataclass(frozen=True)
class Data:
    """What all stages share: the samples' rows as lanes, one per sample and seed."""

    samples: Sequence[Sample]
    tables: Sequence[Table]
    settings: Settings
    seeds: Sequence[int]
    form: Form
    blocks: Blocks
    batch_rows: int
    sizes: Sizes  # without anything that predicts the label
    layouts: Sequence[Layout]  # one per sample
    parents: Sequence[NDArray[np.float32]]  # one per sample
    graph: GraphSizes | None  # None without a graph known beforehand

    @staticmethod
    def of(
        samples: Sequence[Sample],
        tables: Sequence[Table],
        settings: Settings,
        seeds: Sequence[int],
        graphs: Sequence[FoundGraph] | None,
    ) -> "Data":
        encoders = [row_encoder(t, s) for t, s in zip(tables, samples, strict=True)]
        blocks, batch_rows = make_blocks(
            *(encoders, [s.domain for s in samples], seeds, settings.validation_fraction),
            most_rows=_most_drawn(settings, samples),
            weights=[s.weight for s in samples],
            groups=[s.group for s in samples],
        )
        columns, variables, label_columns = sizes_of(tables[0])
        indicators = _any_missing(blocks, [len(t.features) for t in tables for _ in seeds])
        sizes = Sizes(
            *(columns, variables, label_columns),
            *(settings.hidden, settings.env_dim, settings.n_shared),
            n_predictors=0,
            indicators=indicators,
            squares_env=settings.parts.env_squared_inputs,
        )
        kinds = set[str]().union(*map(kinds_of, tables))
        layouts = [layout_of(t, indicators, kinds) for t in tables]
        everything = np.ones((variables, variables), dtype=np.float32)
        parents, graph = [everything] * len(tables), None
        if graphs is not None:
            parents = [g.padded(variables) for g in graphs]
            graph = GraphSizes.of(layouts, parents)
            layouts = [
                on_graph(one, mask, graph.reads) for one, mask in zip(layouts, parents, strict=True)
            ]
            sizes = replace(sizes, reads=graph.reads)
        form = settings.form.for_samples(samples)
        return Data(
            *(samples, tables, settings, seeds, form, blocks, batch_rows),
            *(sizes, layouts, parents, graph),
        )

    @property
    def n_lanes(self) -> int:
        return len(self.samples) * len(self.seeds)

    def lanes(self, value: float) -> Any:
        return np.full((self.n_lanes,), value, dtype=np.float32)

    def per_lane(self, one_per_sample: Sequence[Any]) -> Any:
        """Trees of arrays, one per sample, with a leading axis of lanes."""
        repeated = [tree for tree in one_per_sample for _ in self.seeds]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *repeated)


def joint(data: Data) -> Assembled:
    """Everything in one stage: the paper's form and the baselines on our network."""
    n_predictors = data.settings.n_predictors if data.form.label_networks else 0
    sizes = replace(data.sizes, n_predictors=n_predictors)
    return _assembled(data, Trainer, sizes, _formulation(data))


def structure_stage(data: Data) -> Assembled:
    """Encoder and decoder on the graph."""
    formulation = replace(_formulation(data), predicts_label=False, penalises_cycles=False)
    return _assembled(data, StructureTrainer, data.sizes, formulation)


def label_stage(data: Data) -> Assembled:
    """The label's experts on the trained encoder; some networks leave sources out."""
    settings, stacks = data.settings, data.form.stacking
    assert data.graph is not None
    n = settings.n_predictors
    graph = data.graph if stacks else GraphSizes(data.graph.reads, 0, 0, 0)
    sizes = replace(
        data.sizes,
        n_predictors=n,
        n_pooled=n if stacks else 0,
        n_fold=n if stacks else 0,
        slots=graph.slots,
        slot_inputs=graph.slot_inputs,
        slot_columns=graph.slot_columns,
    )
    formulation = replace(_formulation(data), uses_structure=False, penalises_cycles=False)
    made = _assembled(data, LabelTrainer, sizes, formulation)
    if not stacks:
        return made
    blankets = [
        blanket_of(layout, mask, graph)
        for layout, mask in zip(data.layouts, data.parents, strict=True)
    ]
    problem = replace(made.problem, blanket=data.per_lane(blankets))
    return replace(made, problem=problem)


def _formulation(data: Data) -> Formulation:
    settings, form = data.settings, data.form
    return Formulation(
        bayesian=settings.bayesian,
        acyclicity=settings.acyclicity or "trace_exp",
        uses_environment=form.environment,
        uses_structure=form.decoder,
        penalises_cycles=settings.acyclicity_weight > 0,
    )


def _assembled(
    data: Data, kind: type[Trainer], sizes: Sizes, formulation: Formulation
) -> Assembled:
    settings = data.settings
    trainer = kind(
        sizes,
        formulation,
        data.batch_rows,
        min(DECODER_ROWS, data.batch_rows),
        settings.alternating,
        average_steps=AVERAGE_STEPS if settings.parts.weight_average else 1.0,
    )
    n_train = np.asarray(data.blocks.n_rows[0])
    return Assembled(_problem(data, sizes), trainer, _plan(settings, trainer, n_train))


def _problem(data: Data, sizes: Sizes) -> Problem:
    settings, lanes = data.settings, data.lanes
    parts = settings.parts
    n_domains = np.shape(data.blocks.n_rows)[1]
    folds: Any = [
        fold_masks(sizes, n_domains, sample.n_sources, member)
        for sample in data.samples
        for member in range(len(data.seeds))
    ]
    weights: Any = np.stack([equal_weights(sizes)] * data.n_lanes)
    return Problem(
        blocks=data.blocks,
        layout=data.per_lane(data.layouts),
        parents=data.per_lane(data.parents),
        weights=obj.Weights(
            prediction=lanes(settings.prediction_weight),
            reconstruction=lanes(settings.reconstruction_weight),
            environment=lanes(settings.env_weight),
            structure=lanes(settings.structure_weight),
            acyclicity=lanes(settings.acyclicity_weight),
            acyclicity_square=lanes(settings.acyclicity_square),
            sparsity=lanes(settings.sparsity_weight),
            prior_precision=lanes(settings.prior_precision),
            prior_scale=lanes(settings.prior_scale),
        ),
        schedule=Schedule(
            rate=lanes(settings.learning_rate),
            final_rate=lanes(FINAL_RATE),
            ramp=lanes(PENALTY_RAMP),
            penalty_growth=lanes(PENALTY_GROWTH),
            decay=lanes(settings.weight_decay),
            label_rate=lanes(LABEL_RATE[data.tables[0].label.kind] if parts.label_rate else 1.0),
        ),
        smallest_batch=lanes(SMALLEST_BATCH),
        in_fold=np.stack(folds),  # type: ignore[arg-type]
        stack_weights=weights,
        blanket=None,
    )


def _any_missing(blocks: Blocks, n_features: Sequence[int]) -> bool:
    """Whether any feature has a missing cell: then the networks see which cells are missing.

    `n_features` are those of each lane.
    """
    for lane, n in enumerate(n_features):
        trained = blocks.observed[lane, : blocks.n_rows[lane].sum(), :n]
        valid = blocks.valid_observed[lane][blocks.valid_present[lane] > 0][:, :n]
        if not (np.all(trained) and np.all(valid)):
            return True
    return False


def _most_drawn(settings: Settings, samples: Sequence[Sample]) -> int:
    """Rows that the batches of a training can hold in all."""
    steps = settings.steps
    if steps == "size":
        steps = MOST_STEPS
    elif steps == "domains":
        steps = max(len(s.domain_labels) for s in samples)
    return settings.max_epochs * int(steps) * MAX_BATCH_ROWS


def _plan(settings: Settings, trainer: Trainer, n_train: NDArray) -> Plan:
    if settings.steps == "size":
        wanted = steps_per_epoch(n_train, trainer.batch_rows, SMALLEST_BATCH)
        steps = min(max(FEWEST_STEPS if settings.parts.min_steps else 1, wanted), MOST_STEPS)
    elif settings.steps == "domains":
        steps = int((n_train > 0).sum())
    else:
        steps = int(settings.steps)
    # Two stages share the epochs between them.
    epochs = settings.max_epochs
    if isinstance(trainer, StructureTrainer):
        epochs = (epochs + 1) // 2
    elif isinstance(trainer, LabelTrainer):
        epochs = max(1, epochs // 2)
    return Plan(epochs, steps, settings.patience, first_stop=int(PENALTY_RAMP * epochs))

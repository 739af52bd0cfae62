"""Samples and settings → what training takes: data, trainer and plan."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks, make_blocks, steps_per_epoch
from ..data.layout import Encoded, kinds_of, layout_of, sizes_of
from ..data.sample import Sample, encode_sample
from ..data.table import Table
from ..inference.stacking import initial_weights
from ..model import Sizes
from ..model import objective as obj
from ..model.constants import (
    AVERAGE_STEPS,
    DECODER_ROWS,
    FEWEST_STEPS,
    FINAL_RATE,
    GRAPH_AT,
    LABEL_RATE,
    MOST_STEPS,
    PENALTY_GROWTH,
    PENALTY_RAMP,
    SMALLEST_BATCH,
    STACK_AT,
)
from ..model.formulation import Formulation
from .crossfit import assign_folds
from .form import Form
from .problem import Plan, Problem
from .schedule import Schedule
from .settings import Settings
from .step import Trainer


def assemble(
    samples: Sequence[Sample], tables: list[Table], settings: Settings, seeds: list[int]
) -> tuple[Problem, Trainer, Plan]:
    """All lanes' data and weights as one problem, how they are trained, and for how long."""
    form = settings.form.for_samples(samples, settings.n_predictors)
    encoded = [encode_sample(t, s) for t, s in zip(tables, samples, strict=True)]
    blocks, batch_rows = make_blocks(
        encoded, [s.domain for s in samples], seeds, settings.validation_fraction
    )
    trainer = Trainer(
        _sizes(form, settings, tables[0], indicators=_any_missing(encoded, tables)),
        _formulation(form, settings),
        batch_rows,
        min(DECODER_ROWS, batch_rows),
        settings.alternating,
        average_steps=AVERAGE_STEPS if settings.parts.weight_average else 1.0,
    )
    problem = _problem(samples, tables, settings, seeds, trainer, blocks)
    return problem, trainer, _plan(settings, trainer, np.asarray(blocks.n_rows[0]), len(samples))


def _sizes(form: Form, settings: Settings, table: Table, *, indicators: bool) -> Sizes:
    columns, variables, label_columns = sizes_of(table)
    n_predictors = settings.n_predictors if form.label_networks else 0
    return Sizes(
        *(columns, variables, label_columns),
        *(settings.hidden, settings.env_dim, settings.n_shared),
        n_predictors=n_predictors,
        indicators=indicators,
        n_pooled=n_predictors if form.stacking else 0,
        squares_env=settings.parts.env_squared_inputs,
    )


def _formulation(form: Form, settings: Settings) -> Formulation:
    learns_env = form.decoder and min(settings.structure_weight, settings.reconstruction_weight) > 0
    # Label gradients in the encoder would leak the labels of left-out sources; without a
    # reconstruction nothing else would train it.
    detached = form.stacking and learns_env and settings.parts.stop_gradient
    return Formulation(
        bayesian=settings.bayesian,
        acyclicity=settings.acyclicity or ("trace_power" if form.exact_graph else "trace_exp"),
        on_paths=form.exact_graph,
        uses_environment=form.environment,
        uses_structure=form.decoder,
        penalises_cycles=settings.acyclicity_weight > 0,
        label_teaches_env=not detached,
    )


def _problem(
    samples: Sequence[Sample],
    tables: Sequence[Table],
    settings: Settings,
    seeds: Sequence[int],
    trainer: Trainer,
    blocks: Blocks,
) -> Problem:
    sizes, parts = trainer.sizes, settings.parts
    n_lanes, n_domains = np.shape(blocks.n_rows)
    networks = sizes.n_predictors, sizes.n_pooled

    def lanes(value: float) -> Any:
        return np.full((n_lanes,), value, dtype=np.float32)

    kinds = set[str]().union(*map(kinds_of, tables))
    layouts = [layout_of(t, sizes.indicators, kinds) for t in tables for _ in seeds]
    folds: Any = [
        assign_folds(*networks, n_domains, s.n_sources, member, parts.cross_fitting)
        for s in samples
        for member in range(len(seeds))
    ]
    parents: Any = np.ones((n_lanes, sizes.variables, sizes.variables), dtype=np.float32)
    weights: Any = np.stack([initial_weights(*networks, parts)] * n_lanes)
    unfrozen: Any = np.zeros(n_lanes, dtype=bool)
    return Problem(
        blocks=blocks,
        layout=jax.tree.map(lambda *leaves: np.stack(leaves), *layouts),
        parents=parents,
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
            graph_at=lanes(GRAPH_AT if settings.form.exact_graph else 1.0),
            penalty_growth=lanes(PENALTY_GROWTH if parts.acyclicity_growth else 1.0),
            decay=lanes(settings.weight_decay),
            label_rate=lanes(LABEL_RATE[tables[0].label.kind] if parts.label_rate else 1.0),
        ),
        smallest_batch=lanes(SMALLEST_BATCH),
        in_fold=np.stack(folds),  # type: ignore[arg-type]
        stack_weights=weights,
        encoder_frozen=unfrozen,
    )


def _any_missing(encoded: Sequence[Encoded], tables: Sequence[Table]) -> bool:
    """Whether any feature has a missing cell: then the networks see which cells are missing."""
    return any(
        bool((data.observed[:, : len(table.features)] == 0).any())
        for data, table in zip(encoded, tables, strict=True)
    )


def _plan(settings: Settings, trainer: Trainer, n_train: NDArray, n_samples: int) -> Plan:
    if settings.steps == "size":
        wanted = steps_per_epoch(n_train, trainer.batch_rows, SMALLEST_BATCH)
        steps = min(max(FEWEST_STEPS if settings.parts.min_steps else 1, wanted), MOST_STEPS)
    elif settings.steps == "domains":
        steps = int((n_train > 0).sum())
    else:
        steps = int(settings.steps)
    epochs = settings.max_epochs
    stacks = trainer.sizes.n_pooled > 0 and settings.parts.cross_fitting
    return Plan(
        max_epochs=epochs,
        steps=steps,
        patience=settings.patience,
        first_stop=int(PENALTY_RAMP * epochs),
        stack_at=int(STACK_AT * epochs) if stacks else None,
        graph_at=int(GRAPH_AT * epochs) if settings.form.exact_graph else None,
        threshold=settings.edge_threshold,
        groups=tuple(i for i in range(n_samples) for _ in range(settings.n_members)),
        parts=settings.parts,
    )

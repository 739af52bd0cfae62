"""Validated tables and settings → what training takes: arrays, configuration, plan."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..data.blocks import make_blocks, steps_per_epoch
from ..data.layout import Encoded, kinds_of, layout_of, sizes_of
from ..data.sample import Sample, encode_sample
from ..data.table import Table
from ..inference.stacking import first_trust
from ..model import Sizes
from ..model import objective as obj
from . import Plan, Schedule, StepConfig
from .crossfit import first_lessons
from .settings import Settings
from .step import HORIZON, Problem

RAMP, JUDGE, SETTLE, GROWTH, FINAL_RATE = 0.3, 0.4, 0.6, 30.0, 0.02
# How much faster than structure and E the label's networks learn. Numbers are plain targets; for
# classes haste ends in too much confidence.
HASTE = {"continuous": 4.0, "binary": 1.0, "categorical": 1.0}
SMALLEST_BATCH = 0.25
DECODER_ROWS = 64
# Steps of an epoch: enough for small tables to train at all, and not more for large ones than their
# networks can use.
FEWEST_STEPS, MOST_STEPS = 16, 64


def assemble(
    samples: Sequence[Sample], tables: list[Table], settings: Settings, seeds: list[int]
) -> tuple[Problem, StepConfig, NDArray]:
    """All lanes' data and weights as one problem."""
    encoded = [encode_sample(t, s) for t, s in zip(tables, samples, strict=True)]
    blocks, batch_rows = make_blocks(
        encoded, [s.domain for s in samples], seeds, settings.validation_fraction
    )
    columns, variables, label_columns = sizes_of(tables[0])
    parts = settings.parts
    # With one domain there is nothing from which the effect of E could be learned.
    several = all(len(s.domain_labels) > 1 for s in samples)
    uses_environment = settings.uses_environment and several
    apart = settings.exact_graph if settings.label_apart is None else settings.label_apart
    n_predictors = settings.n_predictors if apart else 0
    # Adaptation is weighed against pooled predictors where sources can be left out in turn.
    weighed = settings.exact_graph and uses_environment and n_predictors > 1
    taught = min(settings.structure_weight, settings.reconstruction_weight)
    reconstructs = settings.uses_structure and taught > 0
    formulation = obj.Formulation(
        bayesian=settings.bayesian,
        acyclicity=settings.acyclicity or ("trace_power" if settings.exact_graph else "trace_exp"),
        on_paths=settings.exact_graph,
        uses_environment=uses_environment,
        uses_structure=settings.uses_structure,
        penalises_cycles=settings.acyclicity_weight > 0,
        # An encoder that learns from the label knows sources that a vote has left out.
        label_teaches_env=not (weighed and reconstructs and parts.stop_gradient),
    )
    config = StepConfig(
        Sizes(
            columns,
            variables,
            label_columns,
            settings.hidden,
            settings.env_dim,
            settings.n_shared,
            n_predictors=n_predictors,
            indicators=_any_missing(encoded, tables),
            n_pooled=n_predictors if weighed else 0,
            squares_env=parts.env_squared_inputs,
        ),
        formulation,
        batch_rows,
        min(DECODER_ROWS, batch_rows),
        settings.alternating,
        horizon=HORIZON if parts.weight_average else 1.0,
    )
    n_lanes, n_domains = np.shape(blocks.n_rows)

    def lanes(value: float) -> Any:
        return np.full((n_lanes,), value, dtype=np.float32)

    kinds = set[str]().union(*map(kinds_of, tables))
    layouts = [layout_of(t, config.sizes.indicators, kinds) for t in tables for _ in seeds]
    problem = Problem(
        blocks=blocks,
        layout=jax.tree.map(lambda *leaves: np.stack(leaves), *layouts),
        parents=np.ones((n_lanes, variables, variables), dtype=np.float32),  # type: ignore[arg-type]
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
            ramp=lanes(RAMP),
            settle=lanes(SETTLE if settings.exact_graph else 1.0),
            growth=lanes(GROWTH if parts.acyclicity_growth else 1.0),
            decay=lanes(settings.weight_decay),
            haste=lanes(HASTE[tables[0].label.kind] if parts.label_rate else 1.0),
        ),
        smallest_batch=lanes(SMALLEST_BATCH),
        lessons=np.stack(  # type: ignore[arg-type]
            [
                first_lessons(
                    *(n_predictors, config.sizes.n_pooled, n_domains, s.n_sources, member),
                    parts.cross_fitting,
                )
                for s in samples
                for member in range(len(seeds))
            ]
        ),
        trust=np.stack([first_trust(n_predictors, config.sizes.n_pooled, parts)] * n_lanes),  # type: ignore[arg-type]
        rests=np.zeros(n_lanes, dtype=bool),  # type: ignore[arg-type]
    )
    return problem, config, np.asarray(blocks.n_rows[0])


def _any_missing(encoded: Sequence[Encoded], tables: Sequence[Table]) -> bool:
    """Whether any feature has a missing cell: then the networks are told which cells are."""
    return any(
        bool((data.observed[:, : len(table.features)] == 0).any())
        for data, table in zip(encoded, tables, strict=True)
    )


def make_plan(settings: Settings, config: StepConfig, n_train: NDArray, n_samples: int) -> Plan:
    if settings.steps == "size":
        wanted = steps_per_epoch(n_train, config.batch_rows, SMALLEST_BATCH)
        steps = min(max(FEWEST_STEPS if settings.parts.min_steps else 1, wanted), MOST_STEPS)
    elif settings.steps == "domains":
        steps = int((n_train > 0).sum())
    else:
        steps = int(settings.steps)
    epochs = settings.max_epochs
    judged = config.sizes.n_pooled > 0 and settings.parts.cross_fitting
    return Plan(
        max_epochs=epochs,
        steps=steps,
        patience=settings.patience,
        first_stop=int(RAMP * epochs),
        judge=int(JUDGE * epochs) if judged else None,
        settle=int(SETTLE * epochs) if settings.exact_graph else None,
        threshold=settings.edge_threshold,
        groups=tuple(i for i in range(n_samples) for _ in range(settings.n_members)),
        parts=settings.parts,
    )

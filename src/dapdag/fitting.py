"""From validated tables to trained models: table → domains → training → model.

Several tables of one shape train as lanes of one program, and so do the members of an ensemble.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._cache import compilation_cache
from ._compiled import compiled
from ._progress import progress
from .domains import Encoded, encode, kinds_of, layout_of, make_blocks, sizes_of, steps_per_epoch
from .graph import DAG
from .inference import Model, infer_environment, noise_scale
from .model import Sizes
from .model import objective as obj
from .record import Record
from .recording import make_heldout, make_record
from .settings import Settings
from .table import Discrete, Standardised, Table, Variable, learn_feature
from .training import Blocks, Plan, Schedule, StepConfig, TrainingResult, train
from .training.checkpoint import Checkpoint
from .training.heldout import heldout_means
from .training.step import Problem, network_size

RAMP, SETTLE, GROWTH, FINAL_RATE = 0.3, 0.6, 30.0, 0.02
SMALLEST_BATCH = 0.25
DECODER_ROWS = 64
FEWEST_STEPS = 8
FEW_RESIDUALS = 30


@dataclass(frozen=True)
class Sample:
    """A validated table: rows of sources (labelled) and perhaps of targets (not)."""

    X: pd.DataFrame
    y: NDArray  # NaN or None where there is no label
    domain: NDArray[np.intp]  # code of each row's domain, sources first
    domain_labels: tuple[Hashable, ...]
    n_sources: int
    label_name: Hashable
    classes: NDArray | None  # None for a regression

    @property
    def is_source(self) -> NDArray[np.bool_]:
        return self.domain < self.n_sources


@dataclass(frozen=True)
class Fit:
    """A trained model and the record of its training."""

    model: Model
    adjacency: NDArray[np.float64]  # filter norms when the graph was read off, [V, V] unpadded
    dag: DAG
    strength: NDArray[np.float64]
    env_strength: NDArray[np.float64]
    history: pd.DataFrame
    n_epochs: int
    interrupted: bool
    record: Record | None = None  # None in files of versions that kept none


def learn_table(sample: Sample) -> Table:
    """Types, scales and ranges of the columns, from the sources' rows alone."""
    X = sample.X.iloc[np.flatnonzero(sample.is_source)]
    y = sample.y[sample.is_source]
    label: Variable
    if sample.classes is None:
        label = Standardised.learn(sample.label_name, y.astype(float))
    else:
        counts = pd.Series(y).value_counts()
        shares = tuple(float(counts.get(c, 0.0)) for c in sample.classes)
        label = Discrete(sample.label_name, tuple(sample.classes), shares)
    return Table(tuple(learn_feature(name, X.iloc[:, j]) for j, name in enumerate(X)), label)


def encode_sample(table: Table, sample: Sample) -> Encoded:
    return encode(table, *table.encode(sample.X), table.encode_label(sample.y))


def fit_models(
    samples: Sequence[Sample],
    settings: Settings,
    by: Callable[[StepConfig], StepConfig] = lambda config: config,
) -> list[Fit]:
    """Train one model per sample; all samples must have the same padded shape.

    `by` may put steps of another kind in place of the usual ones.
    """
    tables = [learn_table(s) for s in samples]
    seeds = [
        int(np.random.SeedSequence([settings.random_state, m]).generate_state(1)[0])
        for m in range(settings.n_members)
    ]
    with compilation_cache():
        problem, config, n_train = _assemble(samples, tables, settings, seeds)
        config = by(config)
        plan = _plan(settings, config, n_train, len(samples))
        keys = jnp.stack([jax.random.key(s) for _ in samples for s in seeds])
        checkpoint = Checkpoint.open(settings.checkpoint, config, plan, problem, seeds)
        with progress(plan.max_epochs, "training", settings.verbose) as bar:
            result = train(
                config,
                problem,
                keys,
                plan,
                checkpoint,
                lambda epoch, loss: bar.update(epoch, validation=loss),
            )
        problem = eqx.tree_at(lambda p: p.parents, problem, result.parents)
        learned, means = map(np.asarray, _heldout(config, problem, result.vectors))
        members = [
            slice(i * settings.n_members, (i + 1) * settings.n_members) for i in range(len(samples))
        ]
        blocks = [jax.tree.map(lambda array, m=m: array[m], problem.blocks) for m in members]
        fits = [
            _fit(s, t, settings, config, result, _label_scale(b, means[m], learned[m]), m)
            for s, t, b, m in zip(samples, tables, blocks, members, strict=True)
        ]
    return [
        replace(fit, record=_record(s, fit, settings, b, means[m]))
        for s, fit, b, m in zip(samples, fits, blocks, members, strict=True)
    ]


def _assemble(
    samples: Sequence[Sample], tables: list[Table], settings: Settings, seeds: list[int]
) -> tuple[Problem, StepConfig, NDArray]:
    """All lanes' data and weights as one problem."""
    encoded = [encode_sample(t, s) for t, s in zip(tables, samples, strict=True)]
    blocks, batch_rows = make_blocks(
        encoded, [s.domain for s in samples], seeds, settings.validation_fraction
    )
    columns, variables, label_columns = sizes_of(tables[0])
    # With one domain there is nothing from which the effect of E could be learned.
    several = all(len(s.domain_labels) > 1 for s in samples)
    formulation = obj.Formulation(
        bayesian=settings.bayesian,
        acyclicity=settings.acyclicity or ("trace_power" if settings.exact_graph else "trace_exp"),
        on_paths=settings.exact_graph,
        uses_environment=settings.uses_environment and several,
        uses_structure=settings.uses_structure,
    )
    apart = settings.exact_graph if settings.label_apart is None else settings.label_apart
    config = StepConfig(
        Sizes(
            columns,
            variables,
            label_columns,
            settings.hidden,
            settings.env_dim,
            settings.n_shared,
            n_predictors=settings.n_predictors if apart else 0,
            indicators=_any_missing(encoded, tables),
        ),
        formulation,
        batch_rows,
        min(DECODER_ROWS, batch_rows),
        settings.alternating,
    )
    n_lanes = len(samples) * len(seeds)

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
            growth=lanes(GROWTH),
            decay=lanes(settings.weight_decay),
        ),
        smallest_batch=lanes(SMALLEST_BATCH),
    )
    return problem, config, np.asarray(blocks.n_rows[0])


def _any_missing(encoded: Sequence[Encoded], tables: Sequence[Table]) -> bool:
    """Whether any feature has a missing cell: then the networks are told which cells are."""
    return any(
        bool((data.observed[:, : len(table.features)] == 0).any())
        for data, table in zip(encoded, tables, strict=True)
    )


def _plan(settings: Settings, config: StepConfig, n_train: NDArray, n_samples: int) -> Plan:
    if settings.steps == "size":
        steps = max(FEWEST_STEPS, steps_per_epoch(n_train, config.batch_rows, SMALLEST_BATCH))
    elif settings.steps == "domains":
        steps = int((n_train > 0).sum())
    else:
        steps = int(settings.steps)
    epochs = settings.max_epochs
    return Plan(
        max_epochs=epochs,
        steps=steps,
        patience=settings.patience,
        first_stop=int(RAMP * epochs),
        settle=int(SETTLE * epochs) if settings.exact_graph else None,
        threshold=settings.edge_threshold,
        groups=tuple(i for i in range(n_samples) for _ in range(settings.n_members)),
    )


@compiled
def _heldout(config: StepConfig, problem: Problem, vectors: Any) -> tuple[jax.Array, ...]:
    """Per lane: the learned noise of the label, and the means predicted for validation rows."""

    def one_lane(problem: Problem, vector: jax.Array) -> tuple[jax.Array, ...]:
        learned = noise_scale(config.network(vector))
        return learned, heldout_means(config, problem, vector)

    return jax.vmap(one_lane)(problem, vectors)


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
    label_scale: NDArray[np.float64],
    lanes: slice,
) -> Fit:
    first = lanes.start
    rng = np.random.default_rng(settings.random_state)
    half = rng.normal(size=((settings.n_draws + 1) // 2, settings.env_dim))
    model = Model(
        table=table,
        sizes=config.sizes,
        formulation=config.formulation,
        vectors=result.vectors[lanes, : network_size(config.sizes)],
        parents=result.parents[first],
        prior_precision=settings.prior_precision,
        source_mean=np.zeros(0),
        source_variance=np.zeros(0),
        label_scale=label_scale,
        normal=np.concatenate([half, -half])[: settings.n_draws],
    )
    model = _with_sources(model, sample)
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
    )


def _unpadded(dag: DAG, keep: NDArray) -> DAG:
    position = {int(v): k for k, v in enumerate(keep)}
    removed = tuple((position[i], position[j]) for i, j in dag.removed)
    return DAG(dag.mask[np.ix_(keep, keep)], removed, dag.threshold)


def _with_sources(model: Model, sample: Sample) -> Model:
    """The model with the posterior of E of every source, by which others are judged."""
    posteriors = [
        infer_environment(model, sample.X.iloc[np.flatnonzero(sample.domain == d)])
        for d in range(sample.n_sources)
    ]
    return replace(
        model,
        source_mean=np.stack([q.mean for q in posteriors], axis=1),
        source_variance=np.stack([q.variance for q in posteriors], axis=1),
    )


def _record(sample: Sample, fit: Fit, settings: Settings, blocks: Blocks, means: NDArray) -> Record:
    table = fit.model.table
    sources = sample.domain_labels[: sample.n_sources]
    rows = np.bincount(sample.domain)[: sample.n_sources]
    scale = float(np.sqrt(np.mean(fit.model.label_scale**2)))
    heldout = make_heldout(table, blocks, means, rows, scale)
    return make_record(table, sample.X, sample.y, sample.domain, sources, settings, heldout)

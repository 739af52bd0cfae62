"""A fit from beginning to end.

    graph        the DAG, searched in the sources' tables or given            `graph.py`
    structure    encoder and decoder on that DAG: E                           `stages.py`
    label        the label's experts on the trained encoder, sources left out `stages.py`
    build        weights of the experts, held-out rows, the fitted model      `build.py`

No stage changes what an earlier one has learned. The paper's form and the baselines on our network
train everything in one stage. Several tables of one shape train as lanes of one program, and so do
the members of an ensemble.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np

from .._runtime.cache import compilation_cache
from .._runtime.compile import Effort, clear_if_full, jit
from ..data.sample import Sample, learn_table
from ..inference.fitted import Fit
from ..model import Sizes
from ..model.parameters import split_folds
from .assemble import Assembled, Data, joint, label_stage, structure_stage
from .build import Learned, build
from .folds import equal_weights
from .graph import find_graph
from .heldout import evaluate_heldout
from .problem import Problem
from .run import best_of_members, forget_checkpoints, history_of, member_seeds, run_stage
from .settings import Settings
from .step import Trainer
from .structure import measure


def fit_models(
    samples: Sequence[Sample],
    settings: Settings,
    by: Callable[[Trainer, Problem], tuple[Trainer, Problem]] = lambda *usual: usual,
    graph: nx.DiGraph | None = None,
) -> list[Fit]:
    """Train one model per sample; all samples must have the same padded shape.

    `by` may replace the usual trainer and problem of a one-stage training by those of another
    method; `graph` is one that the user gave.
    """
    tables = [learn_table(s) for s in samples]
    seeds = member_seeds(settings)
    clear_if_full()
    with compilation_cache():
        if settings.form.graph_first:
            graphs = [
                find_graph(s, t, settings, graph) for s, t in zip(samples, tables, strict=True)
            ]
            data = Data.of(samples, tables, settings, seeds, graphs)
            learned = replace(_train_on_graph(data), graphs=graphs)
        else:
            data = Data.of(samples, tables, settings, seeds, None)
            learned = _train_jointly(data, by)
        return [
            build(sample, table, settings, learned, position)
            for position, (sample, table) in enumerate(zip(samples, tables, strict=True))
        ]


def _train_on_graph(data: Data) -> Learned:
    """Structure, then label: two trainings, the second on what the first has learned."""
    structure, label = structure_stage(data), label_stage(data)
    first = run_stage(data, structure, "structure", then=[measure])
    if first.interrupted:
        raise KeyboardInterrupt
    encoders = best_of_members(first, data)
    second = run_stage(data, label, "label", start=encoders, then=[])
    sizes, vectors, folds = label.trainer.sizes, second.vectors, None
    if sizes.n_fold:
        vectors, folds = map(np.asarray, _split(sizes, jnp.asarray(vectors)))
        sizes = replace(sizes, n_fold=0)
    formulation = replace(structure.trainer.formulation, predicts_label=True)
    trainer = Trainer(
        sizes,
        formulation,
        data.batch_rows,
        structure.trainer.decoder_rows,
        data.settings.alternating,
    )
    weights: Any = np.stack([equal_weights(sizes)] * data.n_lanes)
    problem = replace(label.problem, stack_weights=weights, blanket=None)
    measured = measure(structure.trainer, structure.problem, jnp.asarray(encoders))
    forget_checkpoints(data, "structure", "label", interrupted=second.interrupted)
    return Learned(
        trainer=trainer,
        problem=problem,
        vectors=vectors,
        fold_vectors=folds,
        graphs=None,
        measured=tuple(np.asarray(m) for m in measured),  # type: ignore[arg-type]
        history=np.concatenate(
            [history_of(first, "structure"), history_of(second, "label")], axis=1
        ),
        heldout=evaluate_heldout(trainer, problem, jnp.asarray(vectors)),
        interrupted=second.interrupted,
    )


def _train_jointly(
    data: Data, by: Callable[[Trainer, Problem], tuple[Trainer, Problem]]
) -> Learned:
    stage = joint(data)
    trainer, problem = by(stage.trainer, stage.problem)
    stage = Assembled(problem, trainer, stage.plan)
    found = run_stage(data, stage, "training", then=[measure, evaluate_heldout])
    measured = measure(trainer, problem, jnp.asarray(found.vectors))
    forget_checkpoints(data, "training", interrupted=found.interrupted)
    return Learned(
        trainer=trainer,
        problem=problem,
        vectors=found.vectors,
        fold_vectors=None,
        graphs=None,
        measured=tuple(np.asarray(m) for m in measured),  # type: ignore[arg-type]
        history=found.history,
        heldout=evaluate_heldout(trainer, problem, jnp.asarray(found.vectors)),
        interrupted=found.interrupted,
    )


@jit(Effort.QUICK_TO_COMPILE)
def _split(sizes: Sizes, vectors: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights of the networks that saw all sources, and of those that left some out."""
    return jax.vmap(lambda vector: split_folds(sizes, vector))(vectors)

"""Stages of a small training that several files of tests run."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from dapdag.data.sample import Sample, learn_table
from dapdag.datasets import make_regression_domains
from dapdag.model import objective as obj
from dapdag.training.assemble import Data, joint, label_stage, structure_stage
from dapdag.training.epochs import validation_loss
from dapdag.training.form import PAPER
from dapdag.training.graph import FoundGraph
from dapdag.training.loop import train
from dapdag.training.settings import Settings

EPOCHS = 30  # of a stage
SETTINGS = Settings(
    hidden=4,
    n_predictors=2,
    max_epochs=2 * EPOCHS,
    patience=1000,
    learning_rate=1e-2,
    alternating=False,
)
ALONE = replace(SETTINGS, form=PAPER, structure="paper", max_epochs=EPOCHS)
A, B = 11, 22  # the seeds of two lanes
HISTORY = (*obj.TERMS, "validation")
VALIDATION = HISTORY.index("validation")
STAGES = {"structure": structure_stage, "label": label_stage, "joint": joint}


@functools.cache
def sample():
    data = make_regression_domains(n_domains=3, n_samples=(60, 40, 30), random_state=0)
    return Sample(
        X=data.X[["X1", "X2", "X5"]],
        y=data.y.to_numpy(),
        domain=data.sample_domain,
        domain_labels=(0, 1, 2),
        n_sources=3,
        label_name="Y",
        classes=None,
    )


def chain():
    """X1 → X2 → X5 and X1 → Y → X5: the label has a parent and a child."""
    mask = np.zeros((4, 4), dtype=bool)
    for i, j in ((0, 1), (1, 2), (0, 3), (3, 2)):
        mask[i, j] = True
    return FoundGraph(mask, mask.astype(float), np.zeros((4, 6)))


@functools.cache
def assembled(stage="label", settings=SETTINGS, seeds=(A,)):
    """Problem, trainer and plan of a stage of lanes with the given seeds."""
    graphs = [chain()] if settings.form.graph_first else None
    data = Data.of([sample()], [learn_table(sample())], settings, list(seeds), graphs)
    made = STAGES[stage](data)
    return made.problem, made.trainer, made.plan


def keys(*seeds):
    return jnp.stack([jax.random.key(s) for s in seeds])


def run(
    stage="label",
    settings=SETTINGS,
    seed=A,
    checkpoint=None,
    on_progress=None,
    start=None,
    **plan_changes,
):
    problem, trainer, plan = assembled(stage, settings, (seed,))
    on_progress = on_progress or (lambda epoch, loss: None)
    plan = replace(plan, **plan_changes)
    return train(trainer, problem, keys(seed), plan, checkpoint, on_progress, start=start)


def stacked(*problems):
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *problems)


def start_of(stage, seed=A):
    """The weights before the first step."""
    return np.asarray(assembled(stage)[1].start(jax.random.key(seed)).vector)


def final_validation(result, stage="label", lane=0):
    """Validation loss of the weights that were returned."""
    problem, trainer, _ = assembled(stage)
    own = jax.tree.map(lambda a: a[0], problem)
    return float(jax.jit(validation_loss, static_argnums=0)(trainer, own, result.vectors[lane]))

"""A fit from beginning to end: tables → problem → training → held-out rows → fitted models.

Several tables of one shape train as lanes of one program, and so do the members of an ensemble.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from .._runtime.cache import compilation_cache
from .._runtime.compile import BackgroundCompiler, clear_if_full
from .._runtime.progress import progress
from ..data.sample import Sample, learn_table
from ..inference.fitted import Fit
from .assemble import assemble
from .build import build, source_summary_call
from .checkpoint import Checkpoint
from .heldout import evaluate_heldout
from .loop import train
from .problem import Problem
from .settings import Settings
from .step import Trainer


def fit_models(
    samples: Sequence[Sample],
    settings: Settings,
    by: Callable[[Trainer, Problem], tuple[Trainer, Problem]] = lambda *usual: usual,
) -> list[Fit]:
    """Train one model per sample; all samples must have the same padded shape.

    `by` may replace the usual trainer and problem by those of another method.
    """
    tables = [learn_table(s) for s in samples]
    seeds = member_seeds(settings)
    clear_if_full()
    with compilation_cache():
        problem, trainer, plan = assemble(samples, tables, settings, seeds)
        trainer, problem = by(trainer, problem)
        keys = jnp.stack([jax.random.key(s) for _ in samples for s in seeds])
        checkpoint = Checkpoint.open(settings.checkpoint, trainer, plan, problem, seeds)
        compiler = BackgroundCompiler(source_summary_call(samples[0], tables[0], trainer, settings))
        with progress(plan.max_epochs, "training", settings.verbose) as bar:
            result = train(
                *(trainer, problem, keys, plan, checkpoint),
                on_progress=lambda epoch, loss: bar.update(epoch, validation=loss),
                then=evaluate_heldout,
            )
        problem = result.applied_to(problem)
        heldout = evaluate_heldout(trainer, problem, jnp.asarray(result.vectors))
        compiler.wait()
        return [
            build(sample, table, settings, trainer, problem, result, heldout, position)
            for position, (sample, table) in enumerate(zip(samples, tables, strict=True))
        ]


def member_seeds(settings: Settings) -> list[int]:
    """One seed for each member of the ensemble."""
    return [
        int(np.random.SeedSequence([settings.random_state, m]).generate_state(1)[0])
        for m in range(settings.n_members)
    ]

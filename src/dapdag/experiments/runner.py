"""Runs an experiment: what is missing is computed in parallel and kept run by run."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from .._runtime.progress import progress
from .methods import left_out
from .report import write_report
from .runs import Compute, Experiment, Outcome, Parameters, Run
from .store import Store, manifest_of


@dataclass(frozen=True)
class Failure:
    """Runs that ended with an error."""

    runs: tuple[Run, ...]
    reason: str
    trace: str


@dataclass(frozen=True)
class Result:
    """All rows of an experiment, where its files are, and what went wrong.

    `left_out` has a sentence for each method that cannot run here.
    """

    rows: pd.DataFrame
    folder: Path
    failures: tuple[Failure, ...]
    n_computed: int
    left_out: tuple[str, ...] = ()


def run(
    experiment: Experiment,
    folder: Path,
    *,
    preset: str = "quick",
    seeds: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
    n_jobs: int = 1,
    fresh: bool = False,
    verbose: int = 0,
    parameters: Parameters | None = None,
) -> Result:
    """Compute the runs that the folder lacks, then write its table, figure and rows.

    Parameters
    ----------
    experiment : Experiment
        What `load` returned.
    folder : path-like
        Where runs, table and figure are kept.
    preset : {"quick", "paper", "tiny"}, default="quick"
        Name of the parameters.
    seeds : sequence of int, optional
        Seeds instead of the preset's.
    methods : sequence of str, optional
        Methods instead of the preset's.
    n_jobs : int, default=1
        Groups of runs side by side, through joblib and hence through any of its backends.
    fresh : bool, default=False
        Forget what the folder holds.
    verbose : int, default=0
        1 shows a progress bar on a terminal.
    parameters : Parameters, optional
        Instead of the preset's, which then only names them.

    Returns
    -------
    Result
        Rows, and the files that were written.
    """
    chosen = parameters or _preset(experiment, preset)
    seeds = seeds_of(chosen) if seeds is None else seeds
    names = chosen.methods if methods is None else tuple(methods)
    wanted = experiment.runs(chosen, seeds, names)
    absent = left_out(names, wanted)
    if not wanted:
        raise ValueError("; ".join([f"{experiment.name}: no seed or no method to run", *absent]))
    store = Store.open(folder, manifest_of(experiment.name, preset, chosen), fresh)
    groups = grouped(store.missing(wanted), experiment)
    failures = _compute(
        experiment, chosen, groups, store, 1 if experiment.timed else n_jobs, verbose
    )
    rows = store.rows(wanted)
    if len(rows):
        write_report(experiment, chosen, rows, store)
    n_computed = sum(map(len, groups))
    return Result(rows, folder, tuple(failures), n_computed, tuple(absent))


def seeds_of(parameters: Parameters) -> range:
    """The seeds of a preset."""
    return range(parameters.first_seed, parameters.first_seed + parameters.n_seeds)


def grouped(runs: Iterable[Run], experiment: Experiment) -> list[list[Run]]:
    """The runs that are computed together, in the order of their first."""
    groups: dict[Hashable, list[Run]] = {}
    for one in runs:
        groups.setdefault(experiment.together(one), []).append(one)
    return list(groups.values())


def _preset(experiment: Experiment, preset: str) -> Parameters:
    if preset not in experiment.presets:
        known = [name for name in experiment.presets if name != "tiny"]
        raise ValueError(f"unknown preset {preset!r}: choose one of {known}")
    return experiment.presets[preset]


def _compute(
    experiment: Experiment,
    parameters: Parameters,
    groups: list[list[Run]],
    store: Store,
    n_jobs: int,
    verbose: int,
) -> list[Failure]:
    from joblib import Parallel, delayed

    failures, done = [], 0
    calls = (delayed(attempt)(experiment.compute, parameters, group) for group in groups)
    with progress(sum(map(len, groups)), experiment.name, verbose) as bar:
        # The workers may be on other machines: what they found is written here.
        for found in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls):
            if isinstance(found, Failure):
                failures.append(found)
                done += len(found.runs)
            else:
                for outcome in found:
                    store.add(outcome)
                done += len(found)
            bar.update(done)
    return failures


def attempt(
    compute: Compute, parameters: Parameters, runs: Sequence[Run]
) -> list[Outcome] | Failure:
    """The outcomes of a group; an error is handed back, so that the other groups go on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = compute(parameters, runs)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return Failure(tuple(runs), " ".join(reason.split()), traceback.format_exc())
    notes = tuple(sorted({f"{w.category.__name__}: {w.message}" for w in caught}))
    return [replace(outcome, notes=notes) for outcome in found]

"""Every figure and table of the paper, by the name of what it shows.

``load("comparison")`` gives an :class:`~dapdag.experiments.runs.Experiment`, and
:func:`dapdag.experiments.runner.run` runs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Experiment

# Name → what it shows; the module has the same name with underscores.
CATALOGUE = {
    "comparison": "scores against the benchmarks, by number of sources",
    "ranks": "ranks of the methods by target variable and by distance",
    "graphs": "distance of learned graphs to the true ones, against CD-NOD and others",
    "ablations": "parts of the DAG loss switched off, beside the numbers of the paper",
    "distances": "difference of E against the Sinkhorn distance of the data",
    "environments": "learned against true difference of E, by number of sources",
    "studies": "scores per held-out study, on data of MAGGIC's shape or published ones",
    "scalability": "score and training time by number of variables",
}

__all__ = ["CATALOGUE", "load"]


def load(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in CATALOGUE:
        raise ValueError(f"unknown experiment {name!r}: choose one of {list(CATALOGUE)}")
    module = import_module(f".paper.{name.replace('-', '_')}", __package__)
    return module.EXPERIMENT

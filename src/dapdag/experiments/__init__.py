"""Every figure and table of the paper, by the name of what it shows.

``load("comparison")`` gives an :class:`~dapdag.experiments.runs.Experiment`, and
:func:`dapdag.experiments.runner.run` runs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Experiment

# Name of the experiment and of its module → what it shows.
CATALOGUE = {
    "comparison": "scores against the benchmarks, by number of sources",
    "ranks": "ranks of the methods by target variable and by distance",
    "graphs": "distance of learned graphs to the true ones, against CD-NOD and others",
    "ablations": "what each part of the DAG loss and of the graph is worth",
    "distances": "difference of E against the Sinkhorn distance of the data",
    "environments": "learned against true difference of E, by number of sources",
    "studies": "scores per held-out study, on data of MAGGIC's shape or published ones",
    "scalability": "score and training time by number of variables",
    "reversal": "loss where an effect of the label turns round, against its strength",
}
# Beyond the paper: modules beside the engine.
FURTHER = ("reversal",)

__all__ = ["CATALOGUE", "load"]


def load(name: str) -> Experiment:
    """The experiment of that name, from the attributes of its module.

    A module of `dapdag.experiments.paper` has ``TITLE``, ``PRESETS`` (parameters by name: quick,
    paper, tiny) and the functions ``runs``, ``compute``, ``table``, ``figure`` and ``statements``;
    it may have ``together``, ``TIMED`` and ``TRAINS``. `dapdag.experiments.runs.Experiment` says
    what each is for.

    Parameters
    ----------
    name : str
        Name in `CATALOGUE`.

    Returns
    -------
    Experiment
        The experiment.
    """
    if name not in CATALOGUE:
        raise ValueError(f"unknown experiment {name!r}: choose one of {list(CATALOGUE)}")
    from .runs import Experiment

    module = import_module(f".{name}" if name in FURTHER else f".paper.{name}", __package__)
    own = vars(module)
    optional = {"together": "together", "timed": "TIMED", "trains": "TRAINS"}
    return Experiment(
        name=name,
        title=module.TITLE,
        presets=module.PRESETS,
        runs=module.runs,
        compute=module.compute,
        table=module.table,
        figure=module.figure,
        statements=module.statements,
        **{field: own[key] for field, key in optional.items() if key in own},
    )

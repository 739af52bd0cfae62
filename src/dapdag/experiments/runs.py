"""What an experiment is made of: runs, what comes out of them, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .statements import Statement

Scalar = str | int | float | bool
Row = dict[str, Any]  # "metric", "value" and whatever tells the rows of one run apart


@dataclass(frozen=True)
class Budget:
    """What every network may spend, whatever the method; other methods take what they need."""

    n_members: int = 2
    max_epochs: int = 100
    patience: int = 20
    n_candidates: int = 1


QUICK = Budget(n_members=1, max_epochs=100)
TINY = Budget(n_members=1, max_epochs=5)


@dataclass(frozen=True)
class Parameters:
    """What a preset fixes. Which methods and how many seeds are run does not change a run."""

    methods: tuple[str, ...] = ()
    n_seeds: int = 10
    first_seed: int = 1000
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True)
class Run:
    """One method under one setting on one seed."""

    method: str
    seed: int
    setting: tuple[tuple[str, Scalar], ...] = ()

    @classmethod
    def of(cls, method: str, seed: int, **setting: Scalar) -> Run:
        return cls(method, seed, tuple(setting.items()))

    def __getitem__(self, name: str) -> Any:
        return dict(self.setting)[name]

    @property
    def columns(self) -> dict[str, Scalar]:
        """The run as the first columns of its rows."""
        return {**dict(self.setting), "method": self.method, "seed": self.seed}

    @property
    def key(self) -> str:
        """A name that tells it from all other runs of its experiment."""
        return ",".join(f"{k}={quote(str(v), safe='+ ')}" for k, v in self.columns.items())


@dataclass(frozen=True)
class Outcome:
    """What one run measured, how long it took, and what was warned of on the way."""

    run: Run
    rows: tuple[Row, ...]
    seconds: float
    notes: tuple[str, ...] = ()


Compute = Callable[[Any, Sequence[Run]], list[Outcome]]


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper.

    Attributes
    ----------
    name : str
        Name in `CATALOGUE`.
    title : str
        Name in tables and figures.
    presets : mapping from str to Parameters
        Parameters by name.
    runs : callable
        All runs for these parameters, seeds and methods.
    compute : Compute
        Outcomes of runs that belong together, a function that a worker can import.
    table, figure, statements : callable
        What is made of all rows.
    together : callable
        Runs for which this is equal are computed in one call, as lanes of one program.
    timed : bool
        True where the time of a run is a result: then nothing else runs beside it.
    trains : bool
        False where no network is trained.
    """

    name: str
    title: str
    presets: Mapping[str, Parameters]
    runs: Callable[[Any, Sequence[int], Sequence[str]], list[Run]]
    compute: Compute
    table: Callable[[pd.DataFrame, Any], str]
    figure: Callable[[pd.DataFrame, Any], Figure]
    statements: Callable[[pd.DataFrame, Any], list[Statement]]
    together: Callable[[Run], Hashable] = lambda run: run
    timed: bool = False
    trains: bool = True

"""Aggregate numbers about the data a model was trained on, for the report.

No row is kept. `training/summary.py` computes them and bounds the rows that each stands for.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from .data.schema import Column, describe_column
from .data.table import Table


@dataclass(frozen=True)
class Bin:
    """Rows with similar predictions: their number, mean prediction and mean observation."""

    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Coverage:
    """The share of rows that lie in the central interval of this nominal level."""

    level: float
    observed: float


@dataclass(frozen=True)
class Source:
    """One source domain in numbers.

    Attributes
    ----------
    name : hashable
        Label of the domain.
    rows : int
        Its rows.
    labelled : int
        Those with a label.
    label : tuple of float
        Mean and sd of numbers, or share of each class; empty if too few.
    missing : tuple of float
        Share of each column's cells that are missing.
    clipped : tuple of int
        Cells of each column outside its limits.
    cells : tuple of tuple of float
        Of each column like `label`: mean and sd of numbers, or share of each level.
    """

    name: Hashable
    rows: int
    labelled: int
    label: tuple[float, ...]  # mean and sd of numbers, or share of each class; () if too few
    missing: tuple[float, ...]  # share of each column's cells
    clipped: tuple[int, ...]  # cells of each column outside its limits
    # of each column like `label`: mean and sd of numbers, or share of each level; () if too few
    cells: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Heldout:
    """Predictions for rows of the sources that were kept out of training, against the truth.

    Classes: bins of the probability of the second class (of the likeliest one, if there are more
    than two) against its frequency. Numbers: bins of the prediction against the mean label.
    Every member predicts its own rows.

    Attributes
    ----------
    rows : int
        Their number.
    bins : tuple of Bin
        Rows with similar predictions.
    """

    rows: int
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Record:
    """Provenance of a model: versions, settings, columns, sources and held-out rows.

    Attributes
    ----------
    created : str
        UTC, ISO 8601.
    versions : dict from str to str
        Versions of dapdag and of the packages it rests on.
    settings : dict from str to value
        Parameters of the fit.
    columns : tuple of Column
        The features.
    label : Column
        The label.
    sources : tuple of Source
        The sources.
    unlabelled_rows : int
        Rows of targets that took part in training.
    heldout : Heldout or None
        Rows that were kept out of training.
    """

    created: str  # UTC, ISO 8601
    versions: dict[str, str]
    settings: dict[str, Any]
    columns: tuple[Column, ...]
    label: Column
    sources: tuple[Source, ...]
    unlabelled_rows: int  # of targets that took part in training
    heldout: Heldout | None

    @property
    def rows(self) -> int:
        """Rows of all sources."""
        return sum(source.rows for source in self.sources)

    def missing(self) -> pd.DataFrame:
        """Share of missing cells: one row per column, one column per source."""
        return self._per_column({s.name: s.missing for s in self.sources})

    def missing_overall(self) -> pd.Series:
        """Share of missing cells over the rows of all sources, per column."""
        rows = np.array([source.rows for source in self.sources], dtype=float)
        return self.missing() @ rows / rows.sum()

    def clipped(self) -> pd.DataFrame:
        """Number of cells outside the range: one row per column, one column per source."""
        return self._per_column({s.name: s.clipped for s in self.sources})

    def _per_column(self, values: dict[Hashable, tuple]) -> pd.DataFrame:
        return pd.DataFrame(values, index=[column.name for column in self.columns])

    def to_json(self) -> dict[str, Any]:
        """Everything but the names, which stand in the model's table and list of sources."""
        return {
            "created": self.created,
            "versions": self.versions,
            "settings": self.settings,
            "sources": [
                {key: value for key, value in asdict(source).items() if key != "name"}
                for source in self.sources
            ],
            "unlabelled_rows": self.unlabelled_rows,
            "heldout": None if self.heldout is None else asdict(self.heldout),
        }

    @staticmethod
    def from_json(coded: Mapping[str, Any], table: Table, names: Sequence[Hashable]) -> "Record":
        """The record again, for a model with this table and these sources."""
        columns = tuple(map(describe_column, table.features))
        return Record(
            created=str(coded["created"]),
            versions={str(k): str(v) for k, v in coded["versions"].items()},
            settings=dict(coded["settings"]),
            columns=columns,
            label=describe_column(table.label),
            sources=tuple(
                _source(name, one, len(columns))
                for name, one in zip(names, coded["sources"], strict=True)
            ),
            unlabelled_rows=int(coded["unlabelled_rows"]),
            heldout=None if coded["heldout"] is None else _heldout(coded["heldout"]),
        )


def _source(name: Hashable, coded: Mapping[str, Any], n_columns: int) -> Source:
    missing, clipped, cells = coded["missing"], coded["clipped"], coded["cells"]
    if not len(missing) == len(clipped) == len(cells) == n_columns:
        raise ValueError(f"the record of {name!r} has not one number for each column")
    return Source(
        name,
        int(coded["rows"]),
        int(coded["labelled"]),
        tuple(map(float, coded["label"])),
        tuple(map(float, missing)),
        tuple(map(int, clipped)),
        tuple(tuple(map(float, one)) for one in cells),
    )


def _heldout(coded: Mapping[str, Any]) -> Heldout:
    return Heldout(
        int(coded["rows"]),
        tuple(
            Bin(int(b["rows"]), float(b["predicted"]), float(b["observed"])) for b in coded["bins"]
        ),
    )

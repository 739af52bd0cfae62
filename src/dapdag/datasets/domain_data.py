"""Data sets of several domains, simulated or real."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from dapdag.data.row_roles import checked_groups, checked_weights

Array = NDArray[np.float64]
Values = Mapping[str, Array]
Conditional = Callable[[Values, Array], tuple[Array, Array]]
Task = Literal["regression", "classification"]


@dataclass(frozen=True, eq=False)
class Split:
    """Labelled sources and the domain left out of them.

    Attributes
    ----------
    X : DataFrame
        Features of the sources.
    y : Series
        Labels of the sources.
    sample_domain : array
        Domain of every row of the sources.
    X_target : DataFrame
        Features of the domain left out.
    y_target : Series
        Its labels.
    sample_weight : array
        Weights of the sources' rows; None if all count alike.
    groups : array
        Groups of the sources' rows; None if every row is on its own.
    weight_target : array
        Weights of the target's rows; None if all count alike.
    """

    X: pd.DataFrame
    y: pd.Series
    sample_domain: NDArray[Any]
    X_target: pd.DataFrame
    y_target: pd.Series
    sample_weight: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None
    weight_target: NDArray[np.float64] | None = None

    def with_rows(self, rows: NDArray[Any]) -> "Split":
        """The split with these rows of the sources only: positions or a mask."""
        return replace(
            self,
            X=self.X.iloc[rows],
            y=self.y.iloc[rows],
            sample_domain=self.sample_domain[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            groups=None if self.groups is None else self.groups[rows],
        )


@dataclass(frozen=True, eq=False, repr=False)
class DomainData:
    """Rows of several domains and, where known, their data-generating process.

    Parameters
    ----------
    X : DataFrame
        Features of every row.
    y : Series
        Label of every row, with a name.
    sample_domain : array
        Domain label of every row.
    task : {"regression", "classification"}
        What the label is.
    name : str
        Short name.
    description : str, default=""
        One sentence about the data.
    licence : str, default=""
        Terms under which they may be used.
    env : mapping from domain to value, optional
        True E of a domain, by its label: a float, or an array or named Series when E has several
        dimensions. Empty when unknown.
    graph : networkx.DiGraph, optional
        True DAG over the features and the label; the node attribute ``perturbed`` says whether E
        acts on that variable. None when unknown.
    conditional : callable, optional
        Function of the feature values and E (one per row) that returns the mean and the standard
        deviation of the label given both. None when unknown.
    targets : tuple, optional
        Domains that are meant to be predicted, never to be trained on. Empty when any may be left
        out.
    sample_weight, groups : array, optional
        How much every row counts, at least 0, and what it belongs to, such as a patient. None: all
        rows count alike; every row is on its own.
    """

    X: pd.DataFrame
    y: pd.Series
    sample_domain: NDArray[Any]
    task: Task
    name: str
    description: str = ""
    licence: str = ""
    env: Mapping[Hashable, Any] = field(default_factory=dict)
    graph: nx.DiGraph | None = None
    conditional: Conditional | None = None
    targets: tuple[Hashable, ...] = ()
    sample_weight: NDArray[np.float64] | None = None
    groups: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        checked_weights(self.sample_weight, len(self.X))
        checked_groups(self.groups, len(self.X))
        if not len(self.X) == len(self.y) == len(self.sample_domain):
            raise ValueError(
                f"X, y and sample_domain must have one entry per row; got {len(self.X)}, "
                f"{len(self.y)} and {len(self.sample_domain)}."
            )
        if self.task not in ("regression", "classification"):
            raise ValueError(f"task must be 'regression' or 'classification', got {self.task!r}.")

    @property
    def domains(self) -> list[Any]:
        """Domain labels, in order of appearance.

        Returns
        -------
        list
            Labels of all domains.
        """
        return list(pd.unique(self.sample_domain).tolist())

    @property
    def sources(self) -> list[Any]:
        """Domains to train on: all but `targets`.

        Returns
        -------
        list
            Labels of the domains to train on.
        """
        return [domain for domain in self.domains if domain not in self.targets]

    def leave_out(self, domain: Hashable) -> Split:
        """One domain as the target, all others but `targets` as sources.

        Rows of the sources whose group has rows in the target are left out: it would not be new.

        Parameters
        ----------
        domain : hashable
            Label of the domain to leave out.

        Returns
        -------
        Split
            Labelled sources and the target.

        Examples
        --------
        >>> from dapdag.datasets import make_regression_domains
        >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
        >>> split.X.shape, split.X_target.shape
        ((240, 7), (60, 7))
        """
        if domain not in self.domains:
            raise ValueError(f"Unknown domain {domain!r}; the domains are {self.domains}.")
        target = self.sample_domain == domain
        source = ~target
        for other in self.targets:
            source &= self.sample_domain != other
        weight, groups = self.sample_weight, self.groups
        if groups is not None:
            source &= ~pd.Index(groups).isin(groups[target])
            if not source.any():
                raise ValueError(f"every group has rows in {domain!r}: no source is left")
        return Split(
            X=self.X[source],
            y=self.y[source],
            sample_domain=self.sample_domain[source],
            X_target=self.X[target],
            y_target=self.y[target],
            sample_weight=None if weight is None else weight[source],
            groups=None if groups is None else groups[source],
            weight_target=None if weight is None else weight[target],
        )

    def oracle(self, X: pd.DataFrame, env: ArrayLike) -> Array:
        """E[y | X, E]; for classes, the probability of class 1.

        Parameters
        ----------
        X : DataFrame
            Rows with this data's feature columns, in any order, without missing values.
        env : array-like
            One value of E for all rows, or one per row; where E has several dimensions, these are
            the columns of the latter.

        Returns
        -------
        array of shape (rows,)
            Expected label, or probability of class 1.
        """
        return self._moments(X, env)[0]

    def oracle_std(self, X: pd.DataFrame, env: ArrayLike) -> Array:
        """Standard deviation of a continuous label given X and E.

        Parameters
        ----------
        X : DataFrame
            Rows with this data's feature columns, in any order, without missing values.
        env : array-like
            One value of E for all rows, or one per row.

        Returns
        -------
        array of shape (rows,)
            Standard deviation of the label.
        """
        if self.task != "regression":
            raise ValueError(f"oracle_std is for regression; the task of {self.name} is classes.")
        return self._moments(X, env)[1]

    def _moments(self, X: pd.DataFrame, env: ArrayLike) -> tuple[Array, Array]:
        if self.conditional is None:
            raise ValueError(f"{self.name} has no oracle: its data-generating process is unknown.")
        shape = np.shape(next(iter(self.env.values()), 0.0))
        return self.conditional(self._feature_values(X), _one_env_per_row(env, len(X), shape))

    def _feature_values(self, X: pd.DataFrame) -> dict[str, Array]:
        columns = list(self.X.columns)
        missing = [c for c in columns if c not in X.columns]
        if missing:
            raise ValueError(f"X lacks the column(s) {missing}; the oracle needs {columns}.")
        incomplete = [c for c in columns if X[c].isna().any()]
        if incomplete:
            raise ValueError(f"The oracle needs complete rows; column(s) {incomplete} have NaN.")
        return {c: X[c].to_numpy(dtype=np.float64) for c in columns}

    def __repr__(self) -> str:
        known = [
            what
            for what, there in (
                ("env", self.env),
                ("graph", self.graph is not None),
                ("oracle", self.conditional is not None),
            )
            if there
        ]
        return (
            f"DomainData({self.name!r}, {self.task} of {self.y.name!r}, {len(self.X)} rows, "
            f"{self.X.shape[1]} features, {len(self.domains)} domains, "
            f"known: {', '.join(known) or 'nothing'})"
        )


def _one_env_per_row(env: ArrayLike, n_rows: int, shape: tuple[int, ...]) -> Array:
    """E of every row, [rows] or [rows, dimensions]; `shape` is that of one domain's E."""
    values = np.asarray(env, dtype=np.float64)
    if values.shape == shape:
        return np.broadcast_to(values, (n_rows, *shape)).copy()
    if values.shape != (n_rows, *shape):
        wanted = f"{shape[0]} numbers or as many" if shape else "one number or one"
        raise ValueError(f"env must be {wanted} per row ({n_rows}), got shape {values.shape}.")
    return values

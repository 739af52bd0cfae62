"""What a study knows before it looks at the data: forbidden and required edges, tiers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Edges i → j that may be, and edges that must be, in the graph."""

    allowed: Mask  # [columns, columns]
    required: Mask  # [columns, columns]

    def take(self, columns: Sequence[int]) -> Knowledge:
        """The same for some of the columns, in their order."""
        which = np.ix_(columns, columns)
        return Knowledge(self.allowed[which], self.required[which])


def read_knowledge(
    names: Sequence[Hashable],
    forbidden_edges: Iterable[tuple[Hashable, Hashable]] | None,
    required_edges: Iterable[tuple[Hashable, Hashable]] | None,
    tiers: Sequence[Iterable[Hashable]] | None,
    max_parents: int,
) -> Knowledge:
    """Translate names and patterns such as ``"lab_*"``, and refuse contradictions.

    Edges are pairs (cause, effect); a pattern stands for every column that it matches. Columns of
    an earlier tier are not caused by columns of a later one; columns in no tier are free.
    """
    names = list(names)
    n = len(names)
    forbidden, why = np.zeros((n, n), dtype=bool), {}
    for i, j, text in _edges("forbidden_edges", forbidden_edges, names):
        forbidden[i, j] = True
        why[i, j] = f"forbidden_edges ({text})"
    for (i, j), text in _against_tiers(tiers, names).items():
        forbidden[i, j] = True
        why.setdefault((i, j), text)
    required = np.zeros((n, n), dtype=bool)
    for i, j, _ in _edges("required_edges", required_edges, names):
        if forbidden[i, j]:
            raise ValueError(
                f"required_edges has {names[i]!r} → {names[j]!r}, which contradicts {why[i, j]}: "
                "take one of them out."
            )
        required[i, j] = True
    _check_required(required, names, max_parents)
    # an edge against a required path would close a cycle
    reach = nx.transitive_closure(nx.from_numpy_array(required, create_using=nx.DiGraph))
    against = np.zeros((n, n), dtype=bool)
    for i, j in reach.edges:
        against[j, i] = True
    return Knowledge(~forbidden & ~against & ~np.eye(n, dtype=bool), required)


def _check_required(required: Mask, names: Sequence[Hashable], max_parents: int) -> None:
    graph = nx.from_numpy_array(required, create_using=nx.DiGraph)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [names[i] for i, _ in nx.find_cycle(graph)]
        shown = " → ".join(repr(name) for name in [*cycle, cycle[0]])
        raise ValueError(f"required_edges close a cycle: {shown}; take one of the edges out.")
    for j in np.flatnonzero(required.sum(axis=0) > max_parents).tolist():
        raise ValueError(
            f"required_edges give {names[j]!r} {int(required[:, j].sum())} parents, more than "
            f"max_parents={max_parents}: raise max_parents."
        )


def _edges(
    what: str, edges: Iterable[tuple[Hashable, Hashable]] | None, names: Sequence[Hashable]
) -> list[tuple[int, int, str]]:
    found = []
    for edge in edges or ():
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise ValueError(f"{what} must hold pairs (cause, effect), got {edge!r}.")
        causes, effects = (_matches(what, name, names) for name in edge)
        text = f"{edge[0]!r} → {edge[1]!r}"
        pairs = [(i, j, text) for i in causes for j in effects if i != j]
        if not pairs:
            raise ValueError(f"{what} has {text}: a column cannot cause itself.")
        found.extend(pairs)
    return found


def _against_tiers(
    tiers: Sequence[Iterable[Hashable]] | None, names: Sequence[Hashable]
) -> dict[tuple[int, int], str]:
    """Edges from a later tier to an earlier one."""
    if tiers is None:
        return {}
    if isinstance(tiers, (str, dict)) or not isinstance(tiers, Sequence):
        raise ValueError(f"tiers must be a list of lists of names, first causes first: {tiers!r}.")
    tier_of: dict[int, int] = {}
    for number, tier in enumerate(tiers):
        alone = isinstance(tier, str) or not isinstance(tier, Iterable)
        members: list[Any] = [tier] if alone else list(tier)
        for member in members:
            for j in _matches("tiers", member, names):
                if tier_of.setdefault(j, number) != number:
                    raise ValueError(
                        f"tiers has {names[j]!r} in tier {tier_of[j] + 1} and in tier "
                        f"{number + 1}: a column belongs to one tier."
                    )
    return {
        (i, j): f"tiers ({names[i]!r} is in tier {a + 1}, {names[j]!r} in tier {b + 1})"
        for i, a in tier_of.items()
        for j, b in tier_of.items()
        if a > b
    }


def _matches(what: str, name: Hashable, names: Sequence[Hashable]) -> list[int]:
    """Columns with this name, or else those that it matches as a pattern."""
    exact = [j for j, other in enumerate(names) if other == name]
    if exact or not isinstance(name, str):
        found = exact
    else:
        found = [j for j, o in enumerate(names) if isinstance(o, str) and fnmatchcase(o, name)]
    if not found:
        shown = ", ".join(repr(n) for n in names[:10]) + (", …" if len(names) > 10 else "")
        raise ValueError(f"{what} names {name!r}, which matches no column; columns are {shown}.")
    return found

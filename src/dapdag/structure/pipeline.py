"""The search from an encoded table to a graph: screen, score, order, describe."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dapdag._runtime.progress import progress
from dapdag.structure import constants as c
from dapdag.structure.candidates import association, forward_selection
from dapdag.structure.columns import Encoded
from dapdag.structure.dictionary import Features, fit_features
from dapdag.structure.exact import exact_order
from dapdag.structure.knowledge import Knowledge
from dapdag.structure.orders import OrderTables, best_graph, search_orders
from dapdag.structure.parent_sets import score_parents
from dapdag.structure.parents import ParentScores
from dapdag.structure.probabilities import edge_probability
from dapdag.structure.refinement import Refinement
from dapdag.structure.shifts import edge_weights, level_table, shift_row
from dapdag.structure.statistics import Array
from dapdag.structure.targets import target_of

Result = TypeVar("Result")


@dataclass(frozen=True)
class Options:
    """How to search."""

    max_parents: int
    seed: int
    n_jobs: int | None
    verbose: int


@dataclass(frozen=True, eq=False)
class Found:
    """What the search found, in the order of the table's columns."""

    edge: NDArray[np.bool_]
    probability: Array
    weight: Array
    score: float
    shifts: dict[Hashable, dict[str, float]]


def discover(table: Encoded, knowledge: Knowledge, options: Options) -> Found:
    """Find the best DAG over the columns of a table, and describe its mechanisms."""
    if not table.n_columns:
        return Found(np.zeros((0, 0), bool), np.zeros((0, 0)), np.zeros((0, 0)), 0.0, {})
    features = fit_features(table)
    candidates = find_candidates(features, knowledge, options)

    def score(j: int) -> ParentScores:
        required = tuple(np.flatnonzero(knowledge.required[:, j]).tolist())
        return score_parents(features, j, candidates[j], required, options.max_parents)

    scores = _for_each_column(score, table.n_columns, "parent sets", options)
    scores, order = refined(features, scores, knowledge, options)
    edge = best_graph(scores, order)
    parents = parents_of(edge)

    def describe(j: int) -> tuple[dict[str, float], Array]:
        target = target_of(features, j, parents[j], known=scores[j].models)
        return shift_row(level_table(target, parents[j])), edge_weights(target, parents[j])

    described = _for_each_column(describe, table.n_columns, "mechanisms", options)
    weight = np.zeros(edge.shape)
    for j, (_, own) in enumerate(described):
        weight[list(parents[j]), j] = own
    masks = [s.mask(own) for s, own in zip(scores, parents, strict=True)]
    return Found(
        edge=edge,
        probability=edge_probability(scores, order, options.seed),
        weight=weight,
        score=float(sum(s.raw[mask] for s, mask in zip(scores, masks, strict=True))),
        shifts={name: row for name, (row, _) in zip(table.names, described, strict=True)},
    )


def refined(
    features: Features, scores: list[ParentScores], knowledge: Knowledge, options: Options
) -> tuple[list[ParentScores], list[int]]:
    """Scores with the sets next to those of the best graph, and the best order."""
    order = best_order(scores, options.seed)
    refinement = Refinement.of(features)
    done: set[tuple[int, tuple[int, ...]]] = set()
    for _ in range(c.REFINE_ROUNDS):
        parents = parents_of(best_graph(scores, order))
        fresh = [j for j, own in enumerate(parents) if (j, own) not in done]
        if not fresh:
            break
        done |= {(j, parents[j]) for j in fresh}
        scores = _refined_once(refinement, scores, parents, fresh, knowledge, options)
        order = best_order(scores, options.seed)
    return scores, order


def _refined_once(
    refinement: Refinement,
    scores: list[ParentScores],
    parents: list[tuple[int, ...]],
    columns: list[int],
    knowledge: Knowledge,
    options: Options,
) -> list[ParentScores]:
    """Scores in which the sets next to the parents of some columns are known."""

    def refine(at: int) -> ParentScores:
        j = columns[at]
        required = tuple(np.flatnonzero(knowledge.required[:, j]).tolist())
        return refinement.refine(
            j, scores[j], parents[j], knowledge.allowed[:, j], required, options.max_parents
        )

    again = _for_each_column(refine, len(columns), "refinement", options)
    out = list(scores)
    for j, own in zip(columns, again, strict=True):
        out[j] = own
    return out


def parents_of(edge: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Parents of every column."""
    return [tuple(np.flatnonzero(column).tolist()) for column in edge.T]


def find_candidates(
    features: Features, knowledge: Knowledge, options: Options
) -> list[tuple[int, ...]]:
    """Candidate parents of every column, sorted."""
    d = features.table.n_columns
    strength = association(features)

    def select(j: int) -> tuple[int, ...]:
        required = tuple(np.flatnonzero(knowledge.required[:, j]).tolist())
        allowed = np.flatnonzero(knowledge.allowed[:, j])
        strongest = allowed[np.argsort(-strength[allowed, j], kind="stable")]
        screened = tuple(sorted({*strongest[: c.SCREEN_SIZE].tolist(), *required}))
        return forward_selection(features, j, screened, required)

    return [tuple(sorted(k)) for k in _for_each_column(select, d, "candidates", options)]


def best_order(scores: list[ParentScores], seed: int) -> list[int]:
    """The order whose best graph has the highest score; exact where there are few variables."""
    candidates = [s.candidates for s in scores]
    best = [s.best_within[0] for s in scores]
    if len(scores) <= c.EXACT_VARIABLES:
        return exact_order(candidates, best)
    return search_orders(OrderTables.of(candidates, best), seed)


def _for_each_column(
    function: Callable[[int], Result], n: int, what: str, options: Options
) -> list[Result]:
    """Apply a function to every column, in threads, with a progress bar."""
    out: list[Result] = []
    tasks = (delayed(function)(j) for j in range(n))
    with progress(n, what, options.verbose) as bar:
        parallel = Parallel(n_jobs=options.n_jobs, prefer="threads", return_as="generator")
        for result in parallel(tasks):
            out.append(result)
            bar.update(len(out))
    return out

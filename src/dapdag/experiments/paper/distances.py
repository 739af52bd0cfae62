"""Differences of E against Sinkhorn distances of the data sets (the paper's check of intuition).

For every pair of domains: |E_i − E_j| and the distance of their rows, with and without the label,
as they are and standardised over all domains.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...datasets import DomainData
from ...evaluate.distances import sinkhorn_distance
from ...plotting.style import BLUE, INK, VERMILLION
from ..cases import MAKE
from ..figures import new_figure, shared_legend, tidy
from ..runs import Outcome, Parameters, Run
from ..statements import Statement, mean_effect, rank_correlation
from ..tables import markdown, mean_and_error

SINKHORN = "sinkhorn"
ROWS_SHOWN = {True: "all variables", False: "features only"}


@dataclass(frozen=True)
class DistanceParameters(Parameters):
    tasks: tuple[str, ...] = ("regression", "classification")
    n_domains: int = 9
    n_rows: int = 500


def runs(parameters: DistanceParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    if list(names) != [SINKHORN]:
        raise ValueError(f"this experiment has one method, {SINKHORN!r}, not {list(names)}")
    return [
        Run.of(SINKHORN, seed, task=task, labels=labels, standardised=standardised)
        for task in parameters.tasks
        for standardised in (False, True)
        for labels in (True, False)
        for seed in seeds
    ]


def compute(parameters: DistanceParameters, runs: Sequence[Run]) -> list[Outcome]:
    outcomes = []
    for run in runs:
        start = time.perf_counter()
        data = MAKE[run["task"]](
            n_domains=parameters.n_domains, n_samples=parameters.n_rows, random_state=run.seed
        )
        blocks = _blocks(data, run["labels"], run["standardised"])
        rows = tuple(
            {
                "metric": "distance",
                "value": sinkhorn_distance(blocks[i], blocks[j]),
                "pair": k,
                "env_difference": abs(data.env[i] - data.env[j]),
            }
            for k, (i, j) in enumerate(combinations(data.domains, 2))
        )
        outcomes.append(Outcome(run, rows, time.perf_counter() - start))
    return outcomes


def _blocks(data: DomainData, labels: bool, standardised: bool) -> dict[Hashable, NDArray]:
    table = data.X.assign(**{str(data.y.name): data.y}) if labels else data.X
    values = table.to_numpy(dtype=float)
    if standardised:
        values = (values - values.mean(0)) / values.std(0)
    return {d: values[data.sample_domain == d] for d in data.domains}


def correlations(rows: pd.DataFrame) -> pd.DataFrame:
    """Per run the rank correlation, and Pearson's with the distance and with its logarithm."""
    keys = ["task", "standardised", "labels", "seed"]
    found = []
    for key, part in rows.groupby(keys, sort=False):
        e, distance = part["env_difference"], part["value"]
        found.append(
            {
                **dict(zip(keys, key, strict=True)),
                "rank": rank_correlation(e, distance),
                "linear": float(np.corrcoef(e, distance)[0, 1]),
                "log": float(np.corrcoef(e, np.log(distance))[0, 1]),
            }
        )
    return pd.DataFrame(found)


def table(rows: pd.DataFrame, parameters: DistanceParameters) -> str:
    found = correlations(rows)
    body = []
    for (task, standardised, labels), part in found.groupby(
        ["task", "standardised", "labels"], sort=False
    ):
        scale = "standardised" if standardised else "as they are"
        cells = [mean_and_error(part[kind]) for kind in ("rank", "linear", "log")]
        body.append([f"{task}, {ROWS_SHOWN[bool(labels)]}, {scale}", *cells])
    header = ["data", "rank correlation", "Pearson", "Pearson with log distance"]
    note = (
        f"Correlation of |difference of E| with the Sinkhorn distance over the pairs of "
        f"{parameters.n_domains} domains: mean (standard error) over seeds."
    )
    return f"{markdown(header, body)}\n\n{note}"


def figure(rows: pd.DataFrame, parameters: DistanceParameters) -> Figure:
    """The first seed in the paper's form: both curves over the pairs."""
    shown = rows[rows["seed"] == rows["seed"].min()]
    tasks = list(dict.fromkeys(shown["task"]))
    panels = [(True, False), (False, False), (True, True)]
    picture, axes = new_figure(len(tasks), len(panels), 4.2, 2.7)
    for line, task in zip(axes, tasks, strict=True):
        for ax, (labels, standardised) in zip(line, panels, strict=True):
            part = shown[
                (shown["task"] == task)
                & (shown["labels"] == labels)
                & (shown["standardised"] == standardised)
            ].sort_values("env_difference")
            place = np.arange(len(part))
            log = task == "regression"
            distance = np.log(part["value"]) if log else part["value"]
            ax.plot(
                place,
                part["env_difference"],
                color=BLUE,
                marker="o",
                markersize=3,
                linewidth=1.2,
                label="|difference of E|",
            )
            ax.plot(
                place,
                _on_scale_of(part["env_difference"], distance),
                color=VERMILLION,
                marker="^",
                markersize=3,
                linestyle="none",
                label="Sinkhorn distance (regression: its log), shifted and scaled",
            )
            rank = rank_correlation(part["env_difference"], part["value"])
            scale = ", standardised" if standardised else ""
            tidy(
                ax,
                f"{task.capitalize()}, {ROWS_SHOWN[labels]}{scale}",
                "pair of domains, by difference of E",
                "|difference of E|",
            )
            ax.text(
                0.03,
                0.92,
                f"rank correlation {rank:.2f}",
                transform=ax.transAxes,
                fontsize="small",
                color=INK,
                va="top",
            )
    shared_legend(picture, axes)
    return picture


def _on_scale_of(reference: pd.Series, values: pd.Series) -> NDArray[np.float64]:
    """The values moved by the line that brings them closest to the reference."""
    a, b = np.polyfit(values, reference, 1)
    return np.asarray(a * values + b)


def statements(rows: pd.DataFrame, parameters: DistanceParameters) -> list[Statement]:
    table = correlations(rows)
    results = []
    for task in dict.fromkeys(rows["task"]):
        found = table[table["task"] == task].pivot(
            index="seed", columns=["standardised", "labels"], values="rank"
        )
        with_labels = found[False, True]
        claim = f"{task}: differences of E track Sinkhorn distances"
        results.append(mean_effect(claim, with_labels, "rank correlation"))
        claim = f"{task}: they also do without the label"
        results.append(mean_effect(claim, found[False, False], "rank correlation"))
        claim = f"{task}: standardising brings them closer"
        gain = found[True, True] - with_labels
        results.append(mean_effect(claim, gain, "rank correlation"))
    return results


TITLE = "Difference of E against Sinkhorn distance"
PRESETS = {
    "quick": DistanceParameters(methods=(SINKHORN,), n_seeds=6),
    "paper": DistanceParameters(methods=(SINKHORN,), n_seeds=30),
    "tiny": DistanceParameters(methods=(SINKHORN,), n_seeds=2, n_domains=4, n_rows=40),
}
TRAINS = False

"""What each part is worth: of the DAG loss in the paper's form, of the graph in ours.

In the paper's form the terms of the loss are switched off one by one (the paper's ablation tables
and figure): Rec is the reconstruction of all variables, Dag the acyclicity penalty, Spa the group
lasso. Our form has neither penalty: the graph is searched first. There the same fit is made on
other graphs, and without inference on the graph.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...evaluate.metrics import lower_is_better, metric_title
from ...graph import empty_graph
from ...graph_baselines import cdnod
from ...inference.parts import Parts, using
from ...plotting.style import BLUE, GREY, ORANGE
from ..cases import (
    METRICS,
    Case,
    first_sources,
    fit_all,
    predictions,
    same_setting,
    scores,
    simulated,
)
from ..figures import new_figure, tidy
from ..methods import usable
from ..runs import QUICK, TINY, Outcome, Parameters, Run
from ..statements import Statement, mean_effect, per_seed
from ..tables import markdown, mean_and_deviation
from .numbers import ABLATIONS

PARTS = ("Rec", "Dag", "Spa")
FULL, SEARCHED = "Rec+Dag+Spa", "searched"
VARIANTS = {
    "paper": ("Dag+Spa", "Rec+Dag", "Rec+Spa", FULL, "Rec", "Dag", "Spa"),
    "default": (SEARCHED, "true", "cd-nod", "empty", "networks"),
}
REFERENCES = {"paper": FULL, "default": SEARCHED}
FORMS = {"paper": "paper's form", "default": "structure first"}
TITLES = {
    SEARCHED: "searched graph (the default)",
    "true": "true graph",
    "cd-nod": "graph of CD-NOD, domain test",
    "empty": "graph without edges",
    "networks": "searched graph, no inference on it",
}
_OFF = {
    "Rec": {"reconstruction_weight": 0.0},
    "Dag": {"acyclicity_weight": 0.0},
    "Spa": {"sparsity_weight": 0.0},
}
# The same method without any part of the DAG loss and with one filter.
REFERENCE = "brm"
METHODS = (*VARIANTS["paper"], *VARIANTS["default"], REFERENCE)


@dataclass(frozen=True)
class AblationParameters(Parameters):
    tasks: tuple[str, ...] = ("regression", "classification")
    forms: tuple[str, ...] = ("paper", "default")
    n_sources: tuple[int, ...] = (3, 5, 7)
    n_rows: int = 500


def changes(variant: str) -> dict[str, Any]:
    """Parameters of the paper's form that leave only the named parts of the DAG loss."""
    kept = variant.split("+")
    off = {k: v for part in PARTS if part not in kept for k, v in _OFF[part].items()}
    return {"structure": "paper", **off}


def graph_of(variant: str, case: Case) -> str | nx.DiGraph:
    """The `structure` of a variant of our form."""
    if variant == "true":
        return case.data.graph
    X, y, sites = case.training_set(with_target=False)
    if variant == "cd-nod":
        return cdnod(X.assign(**{str(y.name): y}), sites, test="domain")
    return empty_graph([*X.columns, y.name]) if variant == "empty" else "search"


def runs(parameters: AblationParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    if unknown := [n for n in names if n not in METHODS]:
        raise ValueError(f"unknown variant(s) {unknown}: choose among {list(METHODS)}")
    if importlib.util.find_spec("causallearn") is None:  # of the extra `bench`
        names = [n for n in names if n != "cd-nod"]
    found = [
        Run.of(variant, seed, task=task, n_sources=m, form=form)
        for task in parameters.tasks
        for form in parameters.forms
        for m in parameters.n_sources
        for variant in names
        if variant in VARIANTS[form]
        for seed in seeds
    ]
    found += [
        Run.of(name, seed, task=task, n_sources=m, form="–")
        for task in parameters.tasks
        for m in parameters.n_sources
        for name in usable([n for n in names if n == REFERENCE], task)
        for seed in seeds
    ]
    return found


def compute(parameters: AblationParameters, runs: Sequence[Run]) -> list[Outcome]:
    cases: list[Case] = [
        first_sources(simulated(r["task"], parameters.n_rows, r.seed), r["n_sources"]) for r in runs
    ]
    fitted, seconds = _fitted(runs[0], cases, parameters, [r.seed for r in runs])
    return [
        Outcome(run, tuple(scores(case, predictions(model, case))), taken)
        for run, case, model, taken in zip(runs, cases, fitted, seconds, strict=True)
    ]


def _fitted(
    run: Run, cases: Sequence[Case], parameters: AblationParameters, seeds: Sequence[int]
) -> tuple[Sequence[Any], Sequence[float]]:
    """An estimator per case, all of the run's variant, and the seconds of each."""
    budget, variant = parameters.budget, run.method
    if variant == REFERENCE:
        return fit_all(REFERENCE, cases, budget, seeds)
    if run["form"] == "paper":
        return fit_all("dapdag-b", cases, budget, seeds, **changes(variant))
    with using(Parts(graph_inference=variant != "networks")):
        if variant in (SEARCHED, "networks"):
            return fit_all("dapdag-b", cases, budget, seeds)
        alone = [
            fit_all("dapdag-b", [case], budget, [seed], structure=graph_of(variant, case))
            for case, seed in zip(cases, seeds, strict=True)
        ]
    return [models[0] for models, _ in alone], [taken[0] for _, taken in alone]


def table(rows: pd.DataFrame, parameters: AblationParameters) -> str:
    parts = []
    for task in dict.fromkeys(rows["task"]):
        own = rows[rows["task"] == task]
        for form in [f for f in FORMS if f in set(own["form"])]:
            for metric in METRICS[task]:
                parts.append(f"## {task.capitalize()}, {FORMS[form]}: {metric_title(metric)}")
                parts.append(_table(own, form, ABLATIONS.get((task, metric), {}), metric))
    parts.append(
        "Mean (standard deviation) over seeds, as the paper prints them; R² of a target no lower "
        "than -1. "
        "The paper's equations leave σ of E and of the noise open, so levels need not agree: "
        "compare the differences within a column."
    )
    return "\n\n".join(parts)


def _table(rows: pd.DataFrame, form: str, printed: dict[Any, str], metric: str) -> str:
    sizes = list(dict.fromkeys(rows["n_sources"]))
    printed = printed if form == "paper" else {}
    header = ["DAG loss" if form == "paper" else "graph of the fit"]
    for m in sizes:
        header += [f"M = {m}", f"M = {m}, printed in the paper"][: 1 + bool(printed)]
    body = []
    for variant in [*VARIANTS[form], REFERENCE]:
        own = rows[(rows["method"] == variant) & rows["form"].isin([form, "–"])]
        if not len(own):
            continue
        line = ["none, one filter (BRM)" if variant == REFERENCE else TITLES.get(variant, variant)]
        for m in sizes:
            line.append(mean_and_deviation(per_seed(own[own["n_sources"] == m], metric, variant)))
            if printed:
                line.append(printed.get((variant, m), "–"))
        body.append(line)
    return markdown(header, body)


def figure(rows: pd.DataFrame, parameters: AblationParameters) -> Figure:
    tasks = list(dict.fromkeys(rows["task"]))
    forms = [f for f in FORMS if f in set(rows["form"])]
    picture, axes = new_figure(len(tasks), len(forms), 5.6, 3.4)
    for line, task in zip(axes, tasks, strict=True):
        metric = METRICS[task][0]
        for ax, form in zip(line, forms, strict=True):
            _draw(ax, rows[rows["task"] == task], form, metric)
            tidy(ax, f"{task.capitalize()}, {FORMS[form]}", "", "")
            direction = "lower" if lower_is_better(metric) else "higher"
            ax.set_xlabel(
                f"{metric_title(metric)} less that of the full method ({direction} is better)"
            )
    return picture


def _draw(ax: Axes, rows: pd.DataFrame, form: str, metric: str) -> None:
    """Differences to the full method, paired by seed and number of sources."""
    there = set(rows[rows["form"] == form]["method"])
    variants = [v for v in VARIANTS[form] if v in there and v != REFERENCES[form]][::-1]
    found = [effect_of(rows, metric, form, v) for v in variants]
    ax.axvline(0, color=GREY, linewidth=1)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.errorbar(
        [s.effect for s in found],
        range(len(variants)),
        xerr=[np.nan_to_num(s.error) for s in found],
        color=BLUE if form == "paper" else ORANGE,
        marker="o",
        linestyle="",
        capsize=2,
    )
    ax.set_yticks(range(len(variants)), [TITLES.get(v, v) for v in variants], fontsize="small")


def effect_of(rows: pd.DataFrame, metric: str, form: str, variant: str) -> Statement:
    """The variant's score minus that of the full method, by seed."""
    part = rows[rows["form"] == form]
    by = ["n_sources"]
    full = per_seed(part, metric, REFERENCES[form], by)
    difference = per_seed(part, metric, variant, by) - full
    return mean_effect(variant, difference.groupby(level="seed").mean(), metric_title(metric))


# What is claimed of a variant of either form: that it is worse than the full method.
CLAIMS = {
    "paper": {
        "Dag+Spa": "reconstruction helps",
        "Rec+Spa": "the acyclicity penalty helps",
        "Rec+Dag": "the group lasso helps",
    },
    "default": {
        "networks": "inference on the graph helps",
        "cd-nod": "GraphSearch's graph predicts better than CD-NOD's",
        "empty": "the graph predicts better than none",
    },
}


def statements(rows: pd.DataFrame, parameters: AblationParameters) -> list[Statement]:
    found = []
    for task in dict.fromkeys(rows["task"]):
        part, metric = rows[rows["task"] == task], METRICS[task][0]
        sign = 1 if lower_is_better(metric) else -1
        for form in [f for f in FORMS if f in set(part["form"])]:
            there = set(part[part["form"] == form]["method"])
            for variant, claim in CLAIMS[form].items():
                if {variant, REFERENCES[form]} <= there:
                    loss = effect_of(part, metric, form, variant)
                    text = f"{task}, {FORMS[form]}: {claim}"
                    found.append(Statement(text, sign * loss.effect, loss.error, loss.n, loss.unit))
    return found


TITLE = "Ablations: the DAG loss and the graph"
PRESETS = {
    "quick": AblationParameters(methods=METHODS, n_seeds=6, n_sources=(7,), budget=QUICK),
    "paper": AblationParameters(methods=METHODS, n_seeds=30),
    "tiny": AblationParameters(
        methods=("Dag+Spa", FULL, SEARCHED, "true", "networks"),
        n_seeds=2,
        n_sources=(3,),
        n_rows=60,
        tasks=("regression",),
        budget=TINY,
    ),
}
together = same_setting

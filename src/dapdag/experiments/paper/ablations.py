"""Parts of the DAG loss switched off one by one (the paper's ablation tables and figure).

Rec is the reconstruction of all variables, Dag the acyclicity penalty, Spa the group lasso. In the
paper's form the penalties act on the very filters that predict the label; in our default form the
label has predictors of its own, and the DAG loss acts on it through the environment alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...evaluate.metrics import metric_title
from ...plotting.style import BLUE, GREY, INK, ORANGE
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
from ..figures import new_figure, shared_legend, tidy
from ..methods import usable
from ..runs import QUICK, TINY, Outcome, Parameters, Run
from ..statements import Statement, mean_effect, per_seed
from ..tables import markdown, mean_and_deviation
from .numbers import ABLATIONS

PARTS = ("Rec", "Dag", "Spa")
FULL = "Rec+Dag+Spa"
VARIANTS = ("Dag+Spa", "Rec+Dag", "Rec+Spa", FULL, "Rec", "Dag", "Spa")
FORMS = {"paper": "paper's form", "default": "our default form"}
_OFF = {
    "Rec": {"reconstruction_weight": 0.0},
    "Dag": {"acyclicity_weight": 0.0},
    "Spa": {"sparsity_weight": 0.0},
}
# The same method without any part of the DAG loss and with one filter.
REFERENCE = "brm"


@dataclass(frozen=True)
class AblationParameters(Parameters):
    tasks: tuple[str, ...] = ("regression", "classification")
    forms: tuple[str, ...] = ("paper", "default")
    n_sources: tuple[int, ...] = (3, 5, 7)
    n_rows: int = 500


def changes(variant: str, form: str) -> dict[str, object]:
    """Parameters of DAPDAG-B that leave only the named parts of the DAG loss."""
    kept = variant.split("+")
    off = {k: v for part in PARTS if part not in kept for k, v in _OFF[part].items()}
    return {"structure": "search" if form == "default" else "paper", **off}


def runs(parameters: AblationParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    unknown = [n for n in names if n not in (*VARIANTS, REFERENCE)]
    if unknown:
        raise ValueError(f"unknown variant(s) {unknown}: choose among {[*VARIANTS, REFERENCE]}")
    variants = [n for n in names if n != REFERENCE]
    found = [
        Run.of(variant, seed, task=task, n_sources=m, form=form)
        for task in parameters.tasks
        for form in parameters.forms
        for m in parameters.n_sources
        for variant in variants
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
    first = runs[0]
    cases: list[Case] = [
        first_sources(simulated(r["task"], parameters.n_rows, r.seed), r["n_sources"]) for r in runs
    ]
    seeds = [r.seed for r in runs]
    if first.method == REFERENCE:
        fitted, seconds = fit_all(REFERENCE, cases, parameters.budget, seeds)
    else:
        changed = changes(first.method, first["form"])
        fitted, seconds = fit_all("dapdag-b", cases, parameters.budget, seeds, **changed)
    return [
        Outcome(run, tuple(scores(case, predictions(model, case))), taken)
        for run, case, model, taken in zip(runs, cases, fitted, seconds, strict=True)
    ]


def table(rows: pd.DataFrame, parameters: AblationParameters) -> str:
    parts = []
    for task in dict.fromkeys(rows["task"]):
        for metric in METRICS[task]:
            parts.append(f"## {task.capitalize()}: {metric_title(metric)}")
            parts.append(_table(rows[rows["task"] == task], task, metric))
    parts.append(
        "Mean (standard deviation) over seeds, as the paper prints them; R² of a target no lower "
        "than -1. "
        "The paper's equations leave σ of E and of the noise open, so levels need not agree: "
        "compare the differences within a column."
    )
    return "\n\n".join(parts)


def _table(rows: pd.DataFrame, task: str, metric: str) -> str:
    sizes = list(dict.fromkeys(rows["n_sources"]))
    forms = [f for f in FORMS if f in set(rows["form"])]
    printed = ABLATIONS.get((task, metric), {})
    header = ["DAG loss"]
    for m in sizes:
        header += [f"M = {m}, {FORMS[f]}" for f in forms]
        if printed:
            header.append(f"M = {m}, printed in the paper")
    body = []
    for variant in dict.fromkeys(rows["method"]):
        own = rows[rows["method"] == variant]
        line = ["none, one filter (BRM)" if variant == REFERENCE else variant]
        for m in sizes:
            part = own[own["n_sources"] == m]
            for f in forms:
                of_form = part if variant == REFERENCE else part[part["form"] == f]
                line.append(mean_and_deviation(per_seed(of_form, metric, variant)))
            if printed:
                line.append(printed.get((variant, m), "–"))
        body.append(line)
    return markdown(header, body)


def figure(rows: pd.DataFrame, parameters: AblationParameters) -> Figure:
    tasks = list(dict.fromkeys(rows["task"]))
    panels = [(t, METRICS[t][0]) for t in tasks]
    picture, axes = new_figure(1, len(panels), 5.2, 3.8)
    for ax, (task, metric) in zip(axes[0], panels, strict=True):
        _draw(ax, rows[rows["task"] == task], metric)
        tidy(ax, task.capitalize(), "parts of the DAG loss", f"loss of {metric_title(metric)}")
        ax.set_ylabel(f"{metric_title(metric)}, difference to {FULL}", color=INK)
    shared_legend(picture, axes)
    return picture


def _draw(ax: Axes, rows: pd.DataFrame, metric: str) -> None:
    """Differences to the full loss, paired by seed and number of sources."""
    variants = [v for v in VARIANTS if v in set(rows["method"]) and v != FULL]
    styles = {"paper": (BLUE, "o"), "default": (ORANGE, "s")}
    forms = [f for f in FORMS if f in set(rows["form"])]
    ax.axhline(0, color=GREY, linewidth=1)
    for k, form in enumerate(forms):
        colour, marker = styles[form]
        found = [effect_of_leaving(rows, metric, form, v) for v in variants]
        ax.errorbar(
            np.arange(len(variants)) + 0.2 * (k - (len(forms) - 1) / 2),
            [s.effect for s in found],
            yerr=[np.nan_to_num(s.error) for s in found],
            color=colour,
            marker=marker,
            linestyle="",
            capsize=2,
            label=FORMS[form],
        )
    ax.set_xticks(range(len(variants)), variants, rotation=30, ha="right", fontsize="small")


def effect_of_leaving(rows: pd.DataFrame, metric: str, form: str, variant: str) -> Statement:
    """The variant's score minus that of the full loss."""
    part = rows[rows["form"] == form]
    by = ["n_sources"]
    difference = per_seed(part, metric, variant, by) - per_seed(part, metric, FULL, by)
    return mean_effect(variant, difference.groupby(level="seed").mean(), metric_title(metric))


def statements(rows: pd.DataFrame, parameters: AblationParameters) -> list[Statement]:
    found = []
    without = {"Rec": "Dag+Spa", "Dag": "Rec+Spa", "Spa": "Rec+Dag"}
    names = {"Rec": "reconstruction", "Dag": "the acyclicity penalty", "Spa": "the group lasso"}
    for task in dict.fromkeys(rows["task"]):
        part, metric = rows[rows["task"] == task], METRICS[task][0]
        sign = 1 if metric == "log_loss" else -1
        for form in [f for f in FORMS if f in set(part["form"])]:
            for removed, variant in without.items():
                if {variant, FULL} <= set(part["method"]):
                    loss = effect_of_leaving(part, metric, form, variant)
                    claim = f"{task}, {FORMS[form]}: {names[removed]} helps"
                    found.append(
                        Statement(claim, sign * loss.effect, loss.error, loss.n, loss.unit)
                    )
    return found


TITLE = "Ablations of the DAG loss"
PRESETS = {
    "quick": AblationParameters(
        methods=(*VARIANTS, REFERENCE),
        n_seeds=6,
        n_sources=(7,),
        budget=QUICK,
    ),
    "paper": AblationParameters(methods=(*VARIANTS, REFERENCE), n_seeds=30),
    "tiny": AblationParameters(
        methods=("Dag+Spa", FULL),
        n_seeds=2,
        n_sources=(3,),
        n_rows=60,
        forms=("default",),
        tasks=("regression",),
        budget=TINY,
    ),
}
together = same_setting

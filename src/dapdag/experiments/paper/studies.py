"""Scores per held-out study (the paper's MAGGIC tables and figure).

Each study is the target once, all others are the sources; seeds are replicates of the training on
the same data. Runs on simulated studies of MAGGIC's shape, and on any published data set that
`dapdag.datasets.real` can load.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...datasets import DomainData
from ...datasets.maggic_like import PAPER_SIZES, make_maggic_like
from ...evaluate.distances import describe_targets
from ...evaluate.metrics import WORST_R2, lower_is_better, metric_title
from .. import methods
from ..cases import METRICS, Case, score_runs
from ..figures import axis_title, look, new_figure, shared_legend, tidy
from ..runs import QUICK, TINY, Outcome, Parameters, Row, Run
from ..statements import Statement, mean_effect, slope
from ..tables import markdown, mean_and_deviation
from .numbers import STUDIES_AUC

SIMULATED = "maggic_like"
SHOWN = {"classification": ("auc", "apr", "log_loss"), "regression": METRICS["regression"]}
PAPERS = ("dapdag-b", "dapdag-b-paper", "castle", "missforest", "brm", "mdan", "mlp")


@dataclass(frozen=True)
class StudyParameters(Parameters):
    data: str = SIMULATED
    data_seed: int = 1000
    sizes: tuple[int, ...] = PAPER_SIZES  # of the simulated studies
    env_dim: int = 3  # the paper's choice for MAGGIC


def on_data(preset: str, data: str) -> StudyParameters:
    """A preset's parameters on another data set."""
    from ...datasets.real import LOADERS

    if data not in (SIMULATED, *LOADERS):
        raise ValueError(f"unknown data set {data!r}: choose one of {[SIMULATED, *LOADERS]}")
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}: choose one of {list(PRESETS)[:2]}")
    return replace(PRESETS[preset], data=data)


@lru_cache(maxsize=2)
def load_studies(parameters: StudyParameters) -> DomainData:
    """All studies, without the rows that have no label."""
    if parameters.data == SIMULATED:
        sizes = parameters.sizes
        data = make_maggic_like(len(sizes), sizes, random_state=parameters.data_seed)
    else:
        from ...datasets.real import LOADERS

        data = LOADERS[parameters.data]()
    known = np.flatnonzero(data.y.notna())
    y = data.y.iloc[known]
    if data.task == "classification" and pd.api.types.is_numeric_dtype(y):
        y = y.astype(int)
    return replace(data, X=data.X.iloc[known], y=y, sample_domain=data.sample_domain[known])


@lru_cache(maxsize=2)
def study_distances(parameters: StudyParameters) -> pd.DataFrame:
    """Size of each study and its mean distance to the others."""
    data = load_studies(parameters)
    return describe_targets(data, data.domains)


def runs(parameters: StudyParameters, seeds: Sequence[int], names: Sequence[str]) -> list[Run]:
    data = load_studies(parameters)
    return [
        Run.of(method, seed, study=str(study))
        for method in methods.usable(names, data.task)
        for seed in seeds
        for study in data.domains
    ]


def together(run: Run) -> Hashable:
    """All studies of one replicate: they are lanes of one program."""
    return run.method, run.seed


def compute(parameters: StudyParameters, runs: Sequence[Run]) -> list[Outcome]:
    data = load_studies(parameters)
    named = {str(domain): domain for domain in data.domains}
    facts = study_distances(parameters)

    def case_of(run: Run) -> Case:
        target = named[run["study"]]
        return Case(data, tuple(d for d in data.domains if d != target), target)

    def details(case: Case) -> Row:
        own = facts[facts.index == case.target].iloc[0]
        return {"n_rows": int(own["n_rows"]), "distance": float(own["sinkhorn"])}

    return score_runs(runs, case_of, parameters.budget, details, env_dim=parameters.env_dim)


def per_study(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean over replicates: studies in rows, methods in columns."""
    part = rows[rows["metric"] == metric]
    if metric == "r2":
        part = part.assign(value=part["value"].clip(lower=WORST_R2))
    names = list(dict.fromkeys(part["method"]))
    found = part.pivot_table(index="study", columns="method", values="value", sort=False)
    return found[[n for n in names if n in found]]


def table(rows: pd.DataFrame, parameters: StudyParameters) -> str:
    task = load_studies(parameters).task
    parts = [f"Data: `{parameters.data}`."]
    for metric in SHOWN[task]:
        parts += [f"## {metric_title(metric)}", _table(rows, metric)]
    parts.append(
        "Mean (standard deviation) over replicates; in brackets the rows of the study and its mean "
        "Sinkhorn divergence to the sources. Bold is best."
    )
    return "\n\n".join(parts)


def _table(rows: pd.DataFrame, metric: str) -> str:
    part = rows[rows["metric"] == metric]
    means = per_study(rows, metric)
    lowest = lower_is_better(metric)
    body = []
    for study, values in means.iterrows():
        own = part[part["study"] == study]
        known = values.dropna()
        best = None if known.empty else (known.idxmin() if lowest else known.idxmax())
        line = [f"{study} ({own['n_rows'].iloc[0]}; {own['distance'].iloc[0]:.2f})"]
        for name in means:
            text = mean_and_deviation(own[own["method"] == name]["value"])
            line.append(f"**{text}**" if name == best else text)
        body.append(line)
    body.append(["mean over studies", *(f"{v:.3f}" for v in means.mean())])
    return markdown(["study", *(methods.title(str(m)) for m in means)], body)


def figure(rows: pd.DataFrame, parameters: StudyParameters) -> Figure:
    task = load_studies(parameters).task
    metrics = SHOWN[task][:2]
    n_studies = rows["study"].nunique()
    picture, axes = new_figure(len(metrics), 1, max(6.0, 0.9 * n_studies), 2.9)
    for ax, metric in zip(axes[:, 0], metrics, strict=True):
        part = rows[rows["metric"] == metric]
        means = per_study(rows, metric)
        deviation = part.pivot_table(
            index="study", columns="method", values="value", aggfunc="std", sort=False
        )
        for k, name in enumerate(means):
            spread = deviation[name] if name in deviation else pd.Series(0.0, index=means.index)
            ax.errorbar(
                np.arange(len(means)) + 0.6 * ((k + 0.5) / means.shape[1] - 0.5),
                means[name],
                yerr=spread.reindex(means.index).fillna(0.0),
                label=methods.title(str(name)),
                capsize=2,
                markersize=5,
                **{**look(str(name), [str(m) for m in means]), "linestyle": ""},
            )
        ax.set_xticks(range(len(means)), [str(s) for s in means.index], fontsize="small")
        tidy(ax, "", "held-out study", axis_title(metric))
    shared_legend(picture, axes)
    return picture


def statements(rows: pd.DataFrame, parameters: StudyParameters) -> list[Statement]:
    task = load_studies(parameters).task
    found = []
    for metric in SHOWN[task]:
        means = per_study(rows, metric)
        if "dapdag-b" not in means or means.shape[1] < 2:
            continue
        sign = -1 if lower_is_better(metric) else 1
        unit = metric_title(metric)
        rivals = means.drop(columns="dapdag-b")
        for rival in rivals:
            gain = sign * (means["dapdag-b"] - means[rival])
            claim = f"{unit}: DAPDAG-B beats {methods.title(str(rival))}, mean over studies"
            found.append(mean_effect(claim, gain, unit))
        distance = rows.drop_duplicates("study").set_index("study")["distance"]
        gain = sign * (means["dapdag-b"] - rivals.mean(axis=1))
        claim = f"{unit}: its gain over the mean of the others grows with the study's distance"
        found.append(slope(claim, distance[means.index], gain, f"{unit} per unit"))
    if task == "classification":
        ours, best, far = np.array(list(STUDIES_AUC.values())).T
        claim = "in the paper's own AUC table the gain grows with the distance"
        found.append(slope(claim, far / 100, ours - best, "AUC per 100 units"))
    return found


TITLE = "Scores per held-out study"
PRESETS = {
    "quick": StudyParameters(
        # MissForest alone would take ten minutes.
        methods=(*(m for m in PAPERS if m != "missforest"), "boosting", "linear"),
        n_seeds=2,
        budget=QUICK,
    ),
    "paper": StudyParameters(
        methods=(*PAPERS, "boosting", "lightgbm", "forest", "linear"), n_seeds=10
    ),
    "tiny": StudyParameters(
        methods=("dapdag-b", "linear"),
        n_seeds=2,
        env_dim=1,
        sizes=(60, 48, 54, 40),
        budget=TINY,
    ),
}

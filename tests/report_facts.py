"""Facts as a report gathers them, made up: pages can be looked at without training a model."""

from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dapdag.effects import EnvironmentEffects
from dapdag.explain import SiteDifference
from dapdag.inference.reliability import equal_bins, quantile_bins
from dapdag.record import Column, Heldout, Record, Source
from dapdag.report.facts import Extremes, Facts, New
from dapdag.report.scores import NewScores

HOSTILE = ("<script>alert(1)</script>", "a\"b'&amp;", "</script><b>", "${x}_1$", "plain")


def environments(names: Sequence[Hashable], dims: int, rng: np.random.Generator) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for k in range(1, dims + 1):
        columns[f"E{k}_mean"] = rng.normal(size=len(names))
        columns[f"E{k}_sd"] = rng.uniform(0.05, 0.4, len(names))
    return pd.DataFrame(columns, index=pd.Index(list(names), dtype=object))


def make_graph(names: Sequence[Hashable], rng: np.random.Generator, density: float) -> nx.DiGraph:
    graph = nx.DiGraph()
    for name in names:
        graph.add_node(name, environment=float(rng.random() ** 2), label=name == names[-1])
    for i, j in np.argwhere(np.triu(rng.random((len(names), len(names))) < density, 1)).tolist():
        graph.add_edge(names[i], names[j], weight=1.0, effect=float(rng.uniform(0.1, 0.9)))
    graph.graph |= {"removed": [(names[0], names[-1])], "threshold": 0.1}
    return graph


def made_facts(
    names: Sequence[Hashable] = HOSTILE,
    classes: Sequence[Any] | None = (0, 1),
    n_sites: int = 4,
    env_dim: int = 1,
    new_sites: Sequence[Hashable] = ("<i>north</i>", "south"),
    with_truth: bool = True,
    with_assessment: bool = True,
    density: float = 0.4,
    seed: int = 0,
) -> Facts:
    rng = np.random.default_rng(seed)
    label = Column("<out>&come", "binary" if classes else "continuous", tuple(classes or ()), None)
    columns = tuple(Column(name, "continuous", (), (-1.0, 2.5)) for name in names)
    sites = [f"site <{k}>" for k in range(n_sites)]
    sources = environments(sites, env_dim, rng)
    variables = [*names, label.name]
    grid = pd.Index(np.linspace(-1, 1, 21), name="E1")
    values = pd.DataFrame({v: rng.normal() + rng.normal() * grid.to_numpy() for v in variables})
    effects = EnvironmentEffects(values.set_axis(grid), pd.Series(1.0, index=variables))
    several = n_sites > 1
    return Facts(
        title="A report on <things>",
        classes=None if classes is None else list(classes),
        label=label,
        columns=columns,
        record=_record(columns, label, sites, classes, rng),
        sources=sources,
        uses_environment=several,
        prediction={
            "experts": {"pooled": 0.5, "environment": 0.5 * several, "graph": 0.0},
            "adapts": several,
            "prevalence_slope": None,
        },
        graph=make_graph(variables, rng, density),
        effects=effects if several else None,
        effect_owner={v: v for v in variables},
        history=pd.DataFrame(
            {"prediction": np.geomspace(2, 1, 30), "validation": np.geomspace(2, 1.2, 30)}
        ),
        interrupted=False,
        assessment=_assessment(sites, classes, rng) if with_assessment else None,
        new=_new(columns, new_sites, classes, env_dim, with_truth, rng) if new_sites else None,
    )


def _record(columns, label, sites, classes, rng) -> Record:
    summary = (1.5, 0.7) if classes is None else tuple(np.full(len(classes), 1 / len(classes)))
    predicted = rng.random(200)
    happened = rng.random(200) < predicted
    heldout = Heldout(
        200,
        tuple(quantile_bins(happened, predicted, fewest=10)),
    )
    return Record(
        created="2026-01-02T03:04:05+00:00",
        versions={"dapdag": "1"},
        settings={"hidden": 8, "acyclicity": None},
        columns=columns,
        label=label,
        sources=tuple(
            Source(
                site,
                100 + k,
                100,
                summary,
                tuple(rng.random(len(columns)).tolist()),
                tuple(rng.integers(0, 5, len(columns)).tolist()),
                ((0.2, 1.1),) * len(columns),
            )
            for k, site in enumerate(sites)
        ),
        unlabelled_rows=7,
        heldout=heldout,
    )


def _assessment(sites, classes, rng) -> pd.DataFrame:
    metrics = ("r2", "coverage") if classes is None else ("log_loss", "auc")
    return pd.DataFrame(
        [
            {
                "target": site,
                "replicate": r,
                "method": method,
                "metric": metric,
                "value": float(rng.uniform(0.2, 0.9)),
                "outside": site == sites[0] if method == "dapdag" else None,
            }
            for site in sites
            for r in range(2)
            for method in ("dapdag", "<linear>")
            for metric in metrics
        ]
    )


def _interval(mean, classes):
    if classes is None:
        return np.stack([mean - 0.8, mean + 0.8], axis=1)
    return np.stack([mean**1.5, mean**0.5], axis=1) if len(classes) == 2 else None


def _new(columns, sites, classes, env_dim, with_truth, rng) -> New:
    n, names = 60, [c.name for c in columns]
    codes = np.arange(n) % len(sites)
    probability = None if classes is None else rng.dirichlet(np.ones(len(classes)), n)
    mean = rng.normal(size=n)
    if probability is not None:
        mean = probability[:, 1] if len(classes) == 2 else probability.max(1)
    truth = rng.normal(size=n) if classes is None else rng.choice(np.asarray(classes), n)
    outside = np.arange(len(sites)) == 0
    found = environments(sites, env_dim, rng).assign(outside=outside)
    bins = [] if classes is None else equal_bins(rng.random(n) < mean, mean)
    scores = NewScores({"auc": 0.7, "brier": 0.2}, n, [{"auc": 0.7}] * len(sites), [30, 30], bins)
    return New(
        domains=list(sites),
        codes=codes,
        environments=found,
        novel={sites[0]: [names[0]]},
        mean=mean,
        std=np.full(n, 0.5) if classes is None else None,
        interval=_interval(mean, classes),
        probability=probability,
        missing=pd.DataFrame(rng.random((len(names), len(sites))), names, list(sites)),
        strange=pd.DataFrame(rng.integers(0, 3, (len(names), len(sites))), names, list(sites)),
        cells=[((0.5, 1.0),) * len(names)] * len(sites),
        ids=[f"patient <{k}>" for k in range(n)],
        warnings=("column '<x>': 2 cell(s) hold a value that no source has",),
        truth=truth if with_truth else None,
        scores=scores if with_truth else None,
        expected={site: _expected(classes) for site in sites},
        extremes=_extremes(sites) if len(sites) > 1 else None,
    )


def _expected(classes) -> pd.DataFrame:
    names = ["r2", "rmse"] if classes is None else ["auc", "log_loss", "brier"]
    index = [*names, "calibration_in_the_large"]
    return pd.DataFrame([(0.6, 0.5, 0.7)] * len(index), index, ["expected", "low", "high"])


def _extremes(sites) -> Extremes:
    parts = {"contribution": [0.2, -0.05, 0.0], "sd": [0.02, 0.01, 0.01]}
    frame = pd.DataFrame(parts, ["case mix", "mechanism of <x>", "label"])
    found = SiteDifference(0.1, 0.25, frame, "<out>&come", 1)
    return Extremes(sites[0], sites[-1], found)

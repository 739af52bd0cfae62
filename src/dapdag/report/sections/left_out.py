"""How well each source is predicted by a model that never saw it."""

import numpy as np
import pandas as pd

from ..._runtime.text import plural, score
from ...evaluate.metrics import metric_title
from ..facts import Facts
from ..markup import Markup, details, markup, paragraph, table, tag
from .predictions import glossary

SIGNED = ("calibration",)


def left_out(facts: Facts) -> Markup:
    scores = facts.assessment
    if scores is None:
        return paragraph(
            "Not assessed. The honest test of a model for new sites is to leave out each known "
            "site in turn, learn from the others, and predict it. That takes as many trainings as "
            "there are sites: ",
            tag("code", "dapdag fit DATA --assess …"),
            " does it and keeps the result in the model.",
            class_="warning",
        )
    means = scores.groupby(["method", "target", "metric"], sort=False)["value"].mean()
    methods = list(dict.fromkeys(scores["method"]))
    metrics = [
        m for m in dict.fromkeys(scores["metric"]) if means.xs(m, level="metric").notna().any()
    ]
    own = methods[0]
    outside = _outside(scores, own)
    parts = [
        paragraph(
            "Each site was left out once; a model with the same settings learned from the others "
            "and predicted it. This is the best available guess of how well a truly new site "
            "would be predicted."
        ),
        _table(means, own, metrics, outside),
        glossary(metrics),
    ]
    if outside:
        parts.append(
            paragraph(
                "Sites marked * lay outside the others when they were left out.", class_="small"
            )
        )
    if len(methods) > 1:
        parts.append(
            details(
                f"Compared with {plural(len(methods) - 1, 'other method')}",
                tag("div", [_comparison(means, methods, m) for m in metrics], class_="figures"),
            )
        )
    return markup(parts)


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else score(value)


def _outside(scores: pd.DataFrame, method: str) -> set:
    if "outside" not in scores:
        return set()
    of_method = scores[scores["method"] == method]
    known = of_method[of_method["outside"].notna()]
    share = known.groupby("target", sort=False)["outside"].agg(lambda o: o.astype(bool).mean())
    return set(share.index[share > 0.5])


def _table(means: pd.Series, method: str, metrics: list[str], outside: set) -> Markup:
    wide = means.xs(method, level="method").unstack("metric").reindex(columns=metrics)
    rows = [
        [f"{target} *" if target in outside else target, *(_cell(v) for v in row)]
        for target, row in zip(wide.index, wide.to_numpy(dtype=float), strict=True)
    ]
    average = [_mean(wide[metric], metric) for metric in metrics]
    rows.append([tag("strong", "Mean"), *(tag("strong", cell) for cell in average)])
    return table(
        ["Site left out", *(metric_title(m) for m in metrics)],
        rows,
        "Prediction of each site by a model that did not see it",
        numeric=range(1, len(metrics) + 1),
    )


def _mean(values: pd.Series, metric: str) -> str:
    """Over the sites; of errors in both directions their mean size, because they would cancel."""
    if metric in SIGNED:
        return f"±{_cell(float(values.abs().mean()))}"
    return _cell(float(values.mean()))


def _comparison(means: pd.Series, methods: list[str], metric: str) -> Markup:
    wide = means.xs(metric, level="metric").unstack("method").reindex(columns=methods)
    rows = [
        [target, *(_cell(v) for v in row)]
        for target, row in zip(wide.index, wide.to_numpy(dtype=float), strict=True)
    ]
    return table(
        ["Site left out", *methods], rows, metric_title(metric), numeric=range(1, len(methods) + 1)
    )

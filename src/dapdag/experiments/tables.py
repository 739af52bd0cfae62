"""Markdown tables of means and their spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from ..evaluate import metrics
from .methods import title
from .statements import per_seed

Cell = Callable[[pd.Series], str]


def mean_and_error(values: pd.Series) -> str:
    """Mean and standard error of the mean."""
    return _with_parentheses(values, float(values.std() / np.sqrt(len(values))))


def mean_and_deviation(values: pd.Series) -> str:
    """Mean and standard deviation, as the paper prints them."""
    return _with_parentheses(values, float(values.std()))


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [header, rule, *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def method_table(
    rows: pd.DataFrame,
    metric: str,
    column: str,
    column_title: str,
    cell: Cell = mean_and_error,
    rivals: Callable[[str], bool] = lambda method: True,
    low: bool | None = None,
) -> str:
    """One line per method, one column per value of `column`; the best of the rivals in bold.

    `low` says that low is best; None looks at the metric.
    """
    part = rows[rows["metric"] == metric]
    columns = list(dict.fromkeys(part[column]))
    names = list(dict.fromkeys(part["method"]))
    means = pd.DataFrame(
        {
            c: {m: per_seed(part[part[column] == c], metric, m).mean() for m in names}
            for c in columns
        }
    )
    judged = means.loc[[m for m in names if rivals(m)]]
    lowest = metrics.lower_is_better(metric) if low is None else low
    sign = -1 if lowest else 1
    best = (sign * judged).idxmax() if len(judged) > 1 else pd.Series(None, index=columns)
    body = []
    for m in names:
        line = [title(m)]
        for c in columns:
            values = per_seed(part[part[column] == c], metric, m)
            text = cell(values) if len(values) else "–"
            line.append(f"**{text}**" if best[c] == m else text)
        body.append(line)
    header = [metrics.metric_title(metric), *(f"{column_title}{c}" for c in columns)]
    return markdown(header, body)


def _with_parentheses(values: pd.Series, spread: float) -> str:
    if not len(values):
        return "–"
    inside = f"{spread:.3f}" if np.isfinite(spread) else "–"
    return f"{values.mean():.3f} ({inside})"

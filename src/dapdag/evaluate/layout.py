"""Scores of an evaluation as tables for readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from dapdag.evaluate.evaluation import Evaluation


def ordered(evaluation: Evaluation, table: pd.DataFrame) -> pd.DataFrame:
    """Targets and methods in the order of the evaluation."""
    columns = [m for m in evaluation.methods if m in table.columns]
    rows = [t for t in evaluation.targets.index if t in table.index]
    return table.loc[rows, columns]


def score_cells(
    evaluation: Evaluation, values: pd.DataFrame, digits: int, distance: str | None
) -> pd.DataFrame:
    """ "Mean (sd)" over replicates: one row per target, one column per method."""
    groups = values.groupby(["target", "method"], sort=False)["value"]
    mean = ordered(evaluation, groups.mean().unstack("method"))
    sd = ordered(evaluation, groups.std().unstack("method"))
    cells = pd.DataFrame(
        [
            [_cell(m, s, digits) for m, s in zip(mean.loc[t], sd.loc[t], strict=True)]
            for t in mean.index
        ],
        index=[_with_distance(evaluation.targets, t, distance) for t in mean.index],
        columns=mean.columns,
    )
    cells.index.name = "target"
    return cells


def markdown_of(cells: pd.DataFrame, best: pd.DataFrame, targets: pd.Index) -> str:
    """A table of text in Markdown, the best of each row in bold."""
    lines = [f"| target | {' | '.join(map(str, cells.columns))} |"]
    lines.append("|---" * (cells.shape[1] + 1) + "|")
    for target, (shown, row) in zip(targets, cells.iterrows(), strict=True):
        bold = best.loc[target] if target in best.index else pd.Series(False, cells.columns)
        texts = [f"**{row[m]}**" if bold[m] else row[m] for m in cells.columns]
        lines.append(f"| {shown} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _cell(mean: float, sd: float, digits: int) -> str:
    if np.isnan(mean):
        return "-"
    return f"{mean:.{digits}f}" + ("" if np.isnan(sd) else f" ({sd:.{digits}f})")


def _with_distance(targets: pd.DataFrame, target: Any, distance: str | None) -> str:
    if distance not in targets.columns or np.isnan(targets.loc[target, distance]):
        return str(target)
    return f"{target} ({targets.loc[target, distance]:.3g})"

"""Environments of sites on a terminal, as JSON, and the warning about those beyond the sources."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from dapdag._runtime.text import fixed

from ._show import print_table

if TYPE_CHECKING:
    import pandas as pd

MOST_WARNINGS = 5


def warn_of_outsiders(model: Any, environments: pd.DataFrame) -> None:
    """One warning for each of the first sites beyond the sources, one for all others.

    A site that is outside for its features, not for its E, was reported when E was inferred.
    """
    sources = model.source_environments_
    means = sources.filter(like="_mean")
    found = environments[means.columns]
    beyond = ((found < means.min()) | (found > means.max())).any(axis=1)
    outside = environments[environments["outside"] & beyond]
    for name, row in outside.head(MOST_WARNINGS).iterrows():
        spans = ", ".join(
            f"{column.removesuffix('_mean')} {fixed(row[column])}, sources "
            f"{fixed(sources[column].min())} to {fixed(sources[column].max())}"
            for column in means
        )
        warnings.warn(
            f"{_site(name)} lies outside what the sources span ({spans}): its predictions are "
            "extrapolated",
            stacklevel=2,
        )
    if len(outside) > MOST_WARNINGS:
        warnings.warn(
            f"{len(outside) - MOST_WARNINGS} more sites lie outside what the sources span",
            stacklevel=2,
        )


def show_environments(model: Any, new: pd.DataFrame | None) -> None:
    """The sources' E and the new sites', in the order of the first dimension."""
    import pandas as pd

    sources = model.source_environments_.assign(kind="source")
    parts = [sources]
    if new is not None:
        kind = new["outside"].map({True: "new, outside", False: "new"})
        parts.append(new.drop(columns="outside").assign(kind=kind))
    both = pd.concat(parts).sort_values("E1_mean", kind="stable")
    dims = [column.removesuffix("_mean") for column in both.filter(like="_mean")]
    print_table(
        ["site", "", *(text for dim in dims for text in (dim, "sd"))],
        [
            [
                str(name),
                row["kind"],
                *(fixed(row[f"{d}_{s}"]) for d in dims for s in ("mean", "sd")),
            ]
            for name, row in both.iterrows()
        ],
        title="Environments",
        numbers=range(2, 2 + 2 * len(dims)),
    )


def environment_records(environments: pd.DataFrame) -> list[dict[str, Any]]:
    """One mapping per site, of plain values."""
    records = environments.reset_index(names="site").to_dict("records")
    return [
        {str(k): v.item() if hasattr(v, "item") else v for k, v in record.items()}
        for record in records
    ]


def _site(name: Any) -> str:
    return "the new site" if name == "new" else f"site {str(name)!r}"

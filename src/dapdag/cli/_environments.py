"""Environments of sites on a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dapdag._runtime.text import fixed

from ._show import print_table

if TYPE_CHECKING:
    import pandas as pd


def show_environments(model: Any, new: pd.DataFrame | None) -> None:
    """The new sites and below them the sources, each in the order of the first dimension of E."""
    import pandas as pd

    parts = []
    if new is not None:
        kind = new["outside"].map({True: "new, outside", False: "new"})
        parts.append(new.drop(columns="outside").assign(kind=kind))
    parts.append(model.source_environments_.assign(kind="source"))
    both = pd.concat([part.sort_values("E1_mean", kind="stable") for part in parts])
    dims = [str(column).removesuffix("_mean") for column in both.filter(like="_mean")]
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

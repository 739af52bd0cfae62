"""Outcomes of new rows, as the model knows them."""

from __future__ import annotations

from typing import Any

from dapdag._runtime.text import level, nearest, quoted


def label_column(model: Any, given: str | None) -> str:
    """The column that was named, or the one that the model was trained to predict."""
    return str(model.fitted_.model.table.label.name) if given is None else given


def outcomes(model: Any, rows: Any, column: str) -> Any:
    """Each row's outcome, with the classes' own values or as a number; None where it is missing."""
    import pandas as pd

    from dapdag.io.columns import clean_numbers

    values = rows.rows.frame[column]
    if not hasattr(model, "classes_"):
        found = clean_numbers(rows.rows, column)
    else:
        classes = list(model.classes_)
        known = {name: c for c in classes for name in (str(c), level(c))}
        found = values.astype(object).map(lambda v: _class(v, known, column), na_action="ignore")
        found = found.where(values.notna(), None)
    if pd.isna(found).all():
        raise ValueError(f"--label {column}: no row has a value there")
    return found.to_numpy()


def _class(value: Any, known: dict[str, Any], column: str) -> Any:
    text = level(value).strip()
    for candidate in (text, _number(text)):
        if candidate in known:
            return known[candidate]
    meant = nearest(text, known)
    raise ValueError(
        f"--label {column}: {text!r} is none of the model's classes, "
        + (f"did you mean {meant!r}?" if meant else f"which are {quoted(known)}")
    )


def _number(text: str) -> str:
    """`1.0` as `1`."""
    try:
        return level(float(text))
    except ValueError:
        return text

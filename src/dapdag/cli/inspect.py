"""`dapdag inspect`: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dapdag._runtime.text import fine_percent, fixed, level

from ._shared import Json, ModelFile, Quiet, load_model, print_json


def inspect(model: ModelFile, quiet: Quiet = False, as_json: Json = False) -> None:
    """Show what a model file holds.

    Columns and sources it was trained on, settings, training, versions.

    \b
    Example:
      dapdag inspect heart.dapdag
    """
    fitted = load_model(model)
    found = summary(fitted, model)
    if as_json:
        print_json(found)
        return
    _show(fitted, found, in_full=not quiet)


def summary(model: Any, path: Path) -> dict[str, Any]:
    """Everything as plain values."""
    from dapdag._sklearn.shares import prediction_parts
    from dapdag.data.schema import describe_column

    record, table = model.record_, model.fitted_.model.table
    columns = [describe_column(variable) for variable in table.features]
    missing = record.missing_overall()
    sources = {s.name: s for s in record.sources}
    loss = float(model.history_["validation"].min())
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "estimator": type(model).__name__,
        "created": record.created,
        "versions": record.versions,
        "label": {"name": str(table.label.name), **_column(describe_column(table.label))},
        "columns": [
            {
                "name": str(column.name),
                **_column(column),
                "missing": float(missing[column.name]),
            }
            for column in columns
        ],
        "sources": [
            {
                "name": str(name),
                "rows": sources[name].rows,
                "labelled": sources[name].labelled,
                **{key: float(value) for key, value in row.items()},
            }
            for name, row in model.source_environments_.iterrows()
        ],
        "unlabelled_rows": record.unlabelled_rows,
        "settings": {key: _plain(value) for key, value in model.get_params(deep=False).items()},
        "changed": sorted(_changed(model)),
        "training": {
            "epochs": int(model.n_epochs_),
            "validation_loss": loss if loss == loss else None,
            "members": int(model.fitted_.model.n_members),
        },
        "prediction": prediction_parts(model),
        "graph": {"edges": model.graph_.number_of_edges()},
        "assessed": model.assessment_ is not None,
    }


def _show(model: Any, found: dict[str, Any], in_full: bool) -> None:
    from dapdag._sklearn.shares import between_sites_in_words, parts_in_words

    from ._show import print_lines, print_table

    label, training = found["label"], found["training"]
    loss = training["validation_loss"]
    print_lines(
        f"{found['file']}: {found['estimator']} of {label['name']}"
        f", made {found['created'][:10]} by dapdag {found['versions']['dapdag']}",
        f"{len(found['columns'])} columns, {len(found['sources'])} sources, "
        f"{found['graph']['edges']} edges, {training['epochs']} epochs"
        + ("" if loss is None else f", validation loss {fixed(loss, 3)}"),
    )
    print_lines(parts_in_words(model), between_sites_in_words(model))
    if label["levels"]:
        print_lines(f"Classes: {', '.join(map(str, label['levels']))}")
    changed = {name: found["settings"][name] for name in found["changed"]}
    settings = ", ".join(f"{name}={value}" for name, value in changed.items())
    print_lines(f"Settings: {settings or 'all at their defaults'}", "")
    if not in_full:
        return
    print_table(
        ["column", "type", "missing", "values"],
        [
            [shown["name"], column.type, fine_percent(shown["missing"]), column.values]
            for shown, column in zip(found["columns"], model.record_.columns, strict=True)
        ],
        numbers=[2],
    )
    dims = [key.removesuffix("_mean") for key in found["sources"][0] if key.endswith("_mean")]
    print_table(
        ["source", "rows", "labelled", *(text for dim in dims for text in (dim, "sd"))],
        [
            [
                s["name"],
                *(f"{s[key]:,}" for key in ("rows", "labelled")),
                *(fixed(s[f"{dim}_{part}"]) for dim in dims for part in ("mean", "sd")),
            ]
            for s in found["sources"]
        ],
        numbers=range(1, 3 + 2 * len(dims)),
        most=25,
    )
    if found["unlabelled_rows"]:
        print_lines(f"{found['unlabelled_rows']:,} rows of unlabelled targets took part.")


def _column(column: Any) -> dict[str, Any]:
    return {
        "type": column.type,
        "levels": [level(value) for value in column.levels],
        "range": None if column.range is None else list(column.range),
        "clipped_at": None if column.limits is None else list(column.limits),
    }


def _changed(model: Any) -> set[str]:
    import inspect as python_inspect

    defaults = python_inspect.signature(type(model).__init__).parameters
    now = model.get_params(deep=False)
    return {name for name, value in now.items() if defaults[name].default != value}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)

"""`dapdag fit --tune`: a small search by left-out sites before the model is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dapdag._runtime.text import fixed

from ._shared import say, without_notes_on_absent_features

if TYPE_CHECKING:
    from dapdag.io import Study


def tuned(model: Any, study: Study, minutes: float, silent: bool) -> tuple[Any, dict[str, Any]]:
    """The unfitted model with the settings that were chosen, and what was found, for programs."""
    from dapdag.evaluate import select
    from dapdag.evaluate.tuning import tuning_candidates

    if not minutes > 0:
        raise ValueError(f"--tune-minutes {minutes}: it must be more than 0")
    with without_notes_on_absent_features():
        found = select(
            tuning_candidates(model),
            study.labelled(),
            time_budget=60 * minutes,
            progress=not silent,
        )
    if not silent:
        _show(found)
    verbose = model.get_params()["verbose"]
    summary = {
        "chosen": found.chosen,
        "metric": found.metric,
        "means": {str(k): float(v) for k, v in found.table["mean"].items()},
        "skipped": list(found.skipped),
    }
    return found.estimator.set_params(verbose=verbose), {"tuned": summary}


def _show(found: Any) -> None:
    from ._show import print_table

    rows = [
        [
            str(name),
            fixed(float(row["mean"]), 3),
            fixed(float(row["standard_error"]), 3),
            f"{row['seconds']:.0f}",
            "chosen" if row["chosen"] else "best mean" if row["best"] else "",
        ]
        for name, row in found.table.iterrows()
    ]
    print_table(
        ["settings", f"mean {found.metric}", "standard error", "seconds", ""],
        rows,
        title="Left-out sites; the first within one standard error of the best is chosen",
        numbers=(1, 2, 3),
    )
    if found.skipped:
        say(f"note: no time for {', '.join(found.skipped)}: --tune-minutes gives more")

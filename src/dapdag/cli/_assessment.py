"""`dapdag fit --assess`: every site predicted from the others, against references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._shared import say, without_notes_on_absent_features

if TYPE_CHECKING:
    from dapdag.io import Study


def assess_model(model: Any, study: Study, silent: bool) -> Any:
    """Scores and statistics of a model like this one, and of the references, at each site."""
    from dapdag import evaluate

    with without_notes_on_absent_features():
        return evaluate.assess(model, study.labelled(), progress=not silent)


def assessment_json(model: Any) -> dict[str, Any]:
    """Scores of left-out sites and the verdict on them, as plain values."""
    import json

    from dapdag.evaluate.clinical.stored import score_rows
    from dapdag.report.verdict import verdict_json, verdict_of

    scores = score_rows(model.assessment_)
    if scores is None:
        return {}
    verdict = verdict_of(scores)
    return {
        "assessment": json.loads(scores.to_json(orient="records")),
        "verdict": None if verdict is None else verdict_json(verdict),
    }


def show_assessment(model: Any) -> None:
    """Scores by site, and the verdict in words."""
    from dapdag._runtime.text import fixed
    from dapdag.evaluate.clinical.stored import score_rows
    from dapdag.report.verdict import verdict_of

    from ._show import print_lines, print_table

    scores = score_rows(model.assessment_)
    if scores is None:
        print_lines("How well a new site is predicted was not assessed: fit with --assess.")
        return
    for metric in [m for m in ("log_loss", "auc", "rmse", "r2") if m in set(scores["metric"])]:
        wide = scores[scores["metric"] == metric].pivot_table(
            "value", index="target", columns="method", sort=False
        )
        print_table(
            ["site left out", *map(str, wide.columns)],
            [[str(site), *(fixed(v, 3) for v in row)] for site, row in wide.iterrows()],
            title=metric,
            numbers=range(1, 1 + wide.shape[1]),
            most=25,
        )
    verdict = verdict_of(scores)
    if verdict is not None:
        for sentence in verdict.sentences():
            print_lines(sentence)
        if not verdict.is_good:
            say("this model is not clearly better than its references", "warning")

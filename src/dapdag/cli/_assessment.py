"""`dapdag fit --assess`: every site predicted from the others, against references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._shared import say, without_notes_on_absent_features

if TYPE_CHECKING:
    from dapdag.io import Study


def assess_model(model: Any, study: Study, silent: bool) -> Any:
    """Scores of a model like this one, and of the references, at each site in turn."""
    from sklearn.base import clone

    from dapdag.evaluate import leave_one_domain_out
    from dapdag.evaluate.references import reference_models

    own = clone(model).set_params(verbose=0)
    with without_notes_on_absent_features():
        found = leave_one_domain_out(
            {"dapdag": own, **reference_models(study.task)}, study.labelled(), progress=not silent
        )
    return found.scores


def assessment_json(model: Any) -> dict[str, Any]:
    """Scores of left-out sites and the verdict on them, as plain values."""
    import json

    from dapdag.report.verdict import verdict_json, verdict_of

    if model.assessment_ is None:
        return {}
    verdict = verdict_of(model.assessment_)
    return {
        "assessment": json.loads(model.assessment_.to_json(orient="records")),
        "verdict": None if verdict is None else verdict_json(verdict),
    }


def show_assessment(model: Any) -> None:
    """Scores by site, and the verdict in words."""
    from dapdag._runtime.text import fixed
    from dapdag.report.verdict import verdict_of

    from ._show import print_lines, print_table

    if model.assessment_ is None:
        print_lines("How well a new site is predicted was not assessed: fit with --assess.")
        return
    shown = [m for m in ("log_loss", "auc", "rmse", "r2") if m in set(model.assessment_["metric"])]
    for metric in shown:
        scores = model.assessment_[model.assessment_["metric"] == metric]
        wide = scores.pivot_table("value", index="target", columns="method", sort=False)
        print_table(
            ["site left out", *map(str, wide.columns)],
            [[str(site), *(fixed(v, 3) for v in row)] for site, row in wide.iterrows()],
            title=metric,
            numbers=range(1, 1 + wide.shape[1]),
            most=25,
        )
    verdict = verdict_of(model.assessment_)
    if verdict is not None:
        for sentence in verdict.sentences():
            print_lines(sentence)
        if not verdict.is_good:
            say("this model is not clearly better than its references", "warning")

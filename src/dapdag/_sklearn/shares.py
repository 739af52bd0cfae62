"""What a model's prediction consists of, in numbers and in words."""

from typing import Any

import numpy as np

from .._runtime.text import listing, number
from ..inference.combination import EXPERTS
from .notices import uses_environment

WORDS = {
    "pooled": "networks without E",
    "environment": "networks with E",
    "graph": "the graph",
}
DOES_NOT_ADAPT = "this model does not adapt to sites; E is descriptive"


def prediction_parts(estimator: Any) -> dict[str, Any]:
    """Shares of the experts, whether E acts on predictions, and slope and τ² between sites.

    The slope says how far the levels (means, class prevalences) predicted for left-out sources
    were followed: 1 is fully, 0 is the usual level of the sources. τ² is the variance between
    sites that was left of them (of the standardised label, or of log-odds).
    """
    model = estimator.fitted_.model
    return {
        "experts": dict(zip(EXPERTS, map(float, model.combination.weights), strict=True)),
        "adapts": uses_environment(model),
        "site_slope": float(model.calibration.slope),
        "tau2": float(model.calibration.tau2),
    }


def parts_in_words(estimator: Any) -> str:
    """`70 % networks without E and 30 % networks with E`; a line below if it does not adapt."""
    found = prediction_parts(estimator)
    shares = [f"{100 * w:.0f} % {WORDS[name]}" for name, w in found["experts"].items() if w > 0]
    said = f"Prediction: {listing(shares)}"
    if found["adapts"]:
        return f"{said}."
    return f"{said}.\n{DOES_NOT_ADAPT[:1].upper()}{DOES_NOT_ADAPT[1:]}."


def between_sites_in_words(estimator: Any) -> str:
    """Slope and τ of the label's level over left-out sources."""
    found = estimator.fitted_.model.calibration
    if not found.n_sites:
        return "Between sites: too few sources to leave any out."
    what = "mean" if found.overall is None else "log-odds"
    return (
        f"Between sites ({found.n_sites} left out): slope {found.slope:.2f} of the {what}, "
        f"deviation left {number(deviation_between_sites(estimator))}."
    )


def deviation_between_sites(estimator: Any) -> float:
    """τ, in the units of a number, or of log-odds."""
    model = estimator.fitted_.model
    label: Any = model.table.label
    scale = label.deviation if model.calibration.overall is None else 1.0
    return float(np.sqrt(model.calibration.tau2) * scale)

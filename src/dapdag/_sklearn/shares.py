"""What a model's prediction consists of, in numbers and in words."""

from typing import Any

from .._runtime.text import listing
from ..inference.combination import EXPERTS
from .notices import uses_environment

WORDS = {
    "pooled": "networks without E",
    "environment": "networks with E",
    "graph": "inference on the graph",
}
DOES_NOT_ADAPT = "this model does not adapt to sites; E is descriptive"


def prediction_parts(estimator: Any) -> dict[str, Any]:
    """Shares of the experts, whether a site's E acts on its predictions, and the prevalence slope.

    The slope says how far predicted class proportions of left-out sources were followed: 1 is
    fully, 0 is the mean of the sources; None for numbers.
    """
    model = estimator.fitted_.model
    slope = None if model.prevalence is None else float(model.prevalence.slope)
    return {
        "experts": dict(zip(EXPERTS, map(float, model.combination.weights), strict=True)),
        "adapts": uses_environment(model),
        "prevalence_slope": slope,
    }


def parts_in_words(estimator: Any) -> str:
    """`70 % networks without E and 30 % networks with E`, and whether the model adapts."""
    found = prediction_parts(estimator)
    shares = [f"{100 * w:.0f} % {WORDS[name]}" for name, w in found["experts"].items() if w > 0]
    said = f"Prediction: {listing(shares)}"
    return f"{said}; {DOES_NOT_ADAPT}." if not found["adapts"] else f"{said}."

"""Switches for the mechanisms beyond the paper, one each: `benchmarks/parts.py` measures them.

Private: no estimator has a parameter for them, and no file stores them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Parts:
    """Which mechanisms are on. The defaults, all of them, are the method.

    Attributes
    ----------
    env_squared_inputs : E² beside E as input of the label networks.
    pooled_networks : label networks that do not see E take part in the prediction.
    graph_inference : inference on the graph takes part in the prediction.
    site_effects : in inference on the graph, a new site's own effects on the mechanisms are
        estimated; without, its mechanisms are those of the sources.
    referee : where experts disagree at a new site, those that contradict the label's parents get
        no weight.
    stacking_weight : estimated on left-out sources; without, ½ each for the networks with and
        without E.
    source_cap : the loss difference of a single source counts at most .5.
    label_rate : the label networks of a regression learn at four times the rate.
    weight_average : exponential moving average of the weights over 200 steps.
    min_steps : an epoch has at least 16 steps.
    heldout_noise : the noise scale of the label is the error of held-out rows, not the learned one.
    between_sites : the variance at a new site is multiplied by the ratio of squared errors to
        stated variances within left-out sources, and the variance between them is added.
    row_noise : the variance of a number depends on its prediction, as left-out errors do.
    missing_cost : rows with missing features have wider intervals, or flatter probabilities.
    site_slope : the predicted level of a new site (mean, or class prevalence) is shrunk towards the
        sources'.
    map_refinement : outside the range of the sources E is the maximum of its posterior under the
        decoder, not the encoder's mean.
    env_clipping : E is clipped at two ranges beyond the sources.
    narrow_mean : a narrow posterior of E is replaced by its mean.
    """

    env_squared_inputs: bool = True
    pooled_networks: bool = True
    graph_inference: bool = True
    site_effects: bool = True
    referee: bool = True
    stacking_weight: bool = True
    source_cap: bool = True
    label_rate: bool = True
    weight_average: bool = True
    min_steps: bool = True
    heldout_noise: bool = True
    between_sites: bool = True
    row_noise: bool = True
    missing_cost: bool = True
    site_slope: bool = True
    map_refinement: bool = True
    env_clipping: bool = True
    narrow_mean: bool = True


# Applied to a fitted model: switching them needs no other training.
AT_PREDICTION = (
    "referee",
    "heldout_noise",
    "between_sites",
    "row_noise",
    "missing_cost",
    "site_slope",
    "map_refinement",
    "env_clipping",
    "narrow_mean",
)

ALL = Parts()
_in_use = ContextVar("parts", default=ALL)


def current() -> Parts:
    """The switches that a fit started now will use."""
    return _in_use.get()


@contextmanager
def using(parts: Parts) -> Iterator[None]:
    """Fits started inside have these mechanisms; others go on as usual."""
    token = _in_use.set(parts)
    try:
        yield
    finally:
        _in_use.reset(token)

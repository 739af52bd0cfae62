"""Which loss is meant, and the loss of single cells under it."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Array, Float

from . import likelihoods
from .acyclicity import ACYCLICITY
from .decoder import Decoder
from .layout import Layout


@dataclass(frozen=True)
class Formulation:
    """Which loss is meant: point or Bayesian, with which h.

    What an ablation takes out, environments or structure, is not computed; a penalty on cycles of
    weight 0 is reported, but takes no part: on cyclic weights it may overflow. Unless
    `predicts_label`, the loss has no term of the label's prediction: its networks are trained
    afterwards, on E as it then is.
    """

    bayesian: bool = True
    acyclicity: str = "trace_power"
    uses_environment: bool = True
    uses_structure: bool = True
    penalises_cycles: bool = True
    predicts_label: bool = True

    @property
    def h(self) -> Callable[[Array], Array]:
        return ACYCLICITY[self.acyclicity]


def cell_losses(
    formulation: Formulation, layout: Layout, decoder: Decoder, outputs: Array, values: Array
) -> Float[Array, "rows variables"]:
    """The loss of every cell under its variable's likelihood (or the paper's squared error)."""
    if formulation.bayesian:
        return -likelihoods.log_density(layout, outputs, values, decoder.log_scale)
    return likelihoods.squared_or_cross_entropy(layout, outputs, values)

"""What every single row of a site says: about E, and about each feature given its parents and E."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from .._runtime.compile import jit
from ..data.chunks import padded
from ..data.layout import Encoded, column_owner
from ..model import Summary
from ..model.parameters import unravel
from .fitted import EnvPosterior, FittedModel
from .reconstruction import reconstruct


@dataclass(frozen=True)
class RowEvidence:
    """The two numbers per row whose sums give the posterior of E, [members, rows, dim] each."""

    excess: NDArray[np.float64]
    weighted: NDArray[np.float64]

    def summary(self, rows: NDArray) -> Summary:
        """The encoder's summary of some of the rows."""
        parts = (array[:, rows].sum(1) for array in (self.excess, self.weighted))
        return Summary(*parts)

    def score(self, model: FittedModel, q: EnvPosterior) -> NDArray[np.float64]:
        """How much each row asks E to be larger than at `q`, averaged over members: [rows, dim]."""
        precision = model.prior_precision + self.excess
        return np.asarray((self.weighted - precision * q.mean[:, None]).mean(0))


def row_evidence(model: FittedModel, rows: Encoded) -> RowEvidence:
    """Evidence of every row for E."""
    n, data = len(rows.values), padded(rows)
    about = model.sizes, model.layout, model.vectors, data.values, data.observed
    excess, location = (np.asarray(a, dtype=float)[:, :n] for a in _evidence(*about))
    return RowEvidence(excess, (model.prior_precision + excess) * location)


def feature_residuals(
    model: FittedModel, rows: Encoded, q: EnvPosterior
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Value less what parents and E give, for every column of the features that do not depend on
    the label: [rows, columns], 0 where a cell is missing; and the feature of each column."""
    found = reconstruct(model, rows, q.mean)
    width = model.table.feature_width
    owner = column_owner(model.table.features, width)
    usable = [
        j
        for j, variable in enumerate(model.table.features)
        if any(variable.scale) and model.parents[-1, j] == 0
    ]
    columns = np.flatnonzero(np.isin(owner, usable))
    residual = (rows.values[:, :width] - found[:, :width])[:, columns]
    return residual * rows.observed[:, owner[columns]], owner[columns]


@jit()
def _evidence(sizes, layout, vectors, values, observed):
    networks = jax.vmap(lambda v: unravel(sizes, v))(jnp.asarray(vectors))
    inputs = layout.inputs(values, observed) * layout.from_features

    def member(network) -> tuple[Array, Array]:
        return network.encoder.row_evidence(inputs)

    return jax.vmap(member)(networks)

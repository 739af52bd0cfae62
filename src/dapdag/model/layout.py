"""How the variables of a table lie in the columns of an array.

A variable is a node of the graph; it takes one column, or several when it is categorical (its
one-hot block). The label is always the last variable and its columns are the last ones. Columns
and variables are padded to few sizes so that tables of similar width share one compiled program:
a padded column belongs to no variable, and a padded variable is of no type, so neither enters any
sum.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Layout(eqx.Module):
    """Which column belongs to which variable, and of what type each variable is.

    Attributes
    ----------
    owner : one-hot rows, `owner[c, v] = 1` when column `c` belongs to variable `v`.
    owner_index : the same as an index (0 for padded columns, whose `owner` row is zero).
    continuous, binary, categorical : 0/1 per variable; at most one of them is 1.
    center : what is subtracted from a column before it enters a network, so that a missing
        cell (input 0) stands at the mean.
    scale : standard deviation per column, the unit in which edge strengths are expressed.
    """

    owner: Float[Array, "columns variables"]
    owner_index: Int[Array, " columns"]
    continuous: Float[Array, " variables"]
    binary: Float[Array, " variables"]
    categorical: Float[Array, " variables"]
    center: Float[Array, " columns"]
    scale: Float[Array, " columns"]

    @property
    def real(self) -> Float[Array, " variables"]:
        """1 for a variable of the table, 0 for padding."""
        return self.continuous + self.binary + self.categorical

    def inputs(
        self, values: Float[Array, "rows columns"], observed: Float[Array, "rows variables"]
    ) -> Float[Array, "rows columns"]:
        """What the networks see: centred values, 0 where a cell is missing."""
        return (values - self.center) * self.to_columns(observed)

    def to_columns(self, per_variable: Float[Array, "*batch variables"]) -> Array:
        """Repeat a value per variable over the variable's columns; 0 in padded columns."""
        return per_variable[..., self.owner_index] * self.owner.sum(1)

    def any_edge(self) -> Bool[Array, "variables variables"]:
        """Every edge between two different real variables."""
        real = self.real > 0
        return real[:, None] & real[None, :] & ~jnp.eye(real.shape[0], dtype=bool)

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

from .constants import NARROW_COLUMNS


class Layout(eqx.Module):
    """Which column belongs to which variable, and of what type each variable is.

    Attributes
    ----------
    owner : one-hot rows, `owner[c, v] = 1` when column `c` belongs to variable `v`; 0 in the
        rows of padded columns.
    continuous, binary, categorical : 0/1 per variable; at most one of them is 1.
    center : what is subtracted from a column before it enters a network, so that a missing
        cell (input 0) stands at the mean.
    scale : standard deviation per column, the unit in which edge strengths are expressed.
    kinds : the types that occur among the variables; others are not compiled in.
    label_kind : the type of the label.
    indicators : whether the networks also see which cells are missing.
    reads, reads_any : inputs that each variable's filter reads, and 1 where there is one and not
        padding; None where filters read all inputs (the paper's soft graph).
    """

    owner: Float[Array, "columns variables"]
    continuous: Float[Array, " variables"]
    binary: Float[Array, " variables"]
    categorical: Float[Array, " variables"]
    center: Float[Array, " columns"]
    scale: Float[Array, " columns"]
    kinds: tuple[str, ...] = eqx.field(static=True)
    label_kind: str = eqx.field(static=True)
    indicators: bool = eqx.field(static=True)
    reads: Int[Array, "variables slots"] | None = None
    reads_any: Float[Array, "variables slots"] | None = None

    @property
    def real(self) -> Float[Array, " variables"]:
        """1 for a variable of the table, 0 for padding."""
        return self.continuous + self.binary + self.categorical

    def inputs(
        self, values: Float[Array, "rows columns"], observed: Float[Array, "rows variables"]
    ) -> Float[Array, "rows inputs"]:
        """What the networks see: centred values, 0 where a cell is missing.

        With indicators there follows one input per variable: 1 where its cell is missing.
        """
        centred = (values - self.center) * self.to_columns(observed)
        if not self.indicators:
            return centred
        return jnp.concatenate([centred, (1.0 - observed) * self.real], axis=-1)

    @property
    def input_owner(self) -> Float[Array, "inputs variables"]:
        """The variable that each input belongs to, as one-hot rows."""
        if not self.indicators:
            return self.owner
        return jnp.concatenate([self.owner, jnp.diag(self.real)])

    @property
    def from_features(self) -> Float[Array, " inputs"]:
        """1 for inputs that belong to a feature, 0 for those of the label and for padding."""
        return self.input_owner[:, :-1].sum(1)

    def to_columns(self, per_variable: Float[Array, "*batch variables"]) -> Array:
        """Repeat a value per variable over the variable's columns; 0 in padded columns."""
        if self._is_narrow:
            return per_variable @ self.owner.T
        return per_variable[..., self._owner_index] * self.owner.sum(1)

    def to_variables(self, cells: Float[Array, "*batch columns"]) -> Array:
        """Sum over the columns of each variable."""
        if self._is_narrow:
            return cells @ self.owner
        none = jnp.zeros((*cells.shape[:-1], self.owner.shape[1]))
        return none.at[..., self._owner_index].add(cells * self.owner.sum(1))

    def largest(self, cells: Float[Array, "*batch columns"]) -> Array:
        """Largest among the columns of each variable; −∞ for one without columns."""
        if self._is_narrow:
            return jnp.where(self.owner.T > 0, cells[..., None, :], -jnp.inf).max(-1)
        none = jnp.full((*cells.shape[:-1], self.owner.shape[1]), -jnp.inf)
        owned = jnp.where(self.owner.sum(1) > 0, cells, -jnp.inf)
        return none.at[..., self._owner_index].max(owned)

    @property
    def _is_narrow(self) -> bool:
        """Few columns: one product with `owner` is faster than an indexed sum, which is linear."""
        return self.owner.shape[0] <= NARROW_COLUMNS

    @property
    def _owner_index(self) -> Int[Array, " columns"]:
        return self.owner.argmax(1)

    def label_alone(self, width: int) -> "Layout":
        """The layout of the label's columns, the last `width`, alone."""
        return Layout(
            owner=self.owner[-width:, -1:],
            continuous=self.continuous[-1:],
            binary=self.binary[-1:],
            categorical=self.categorical[-1:],
            center=self.center[-width:],
            scale=self.scale[-width:],
            kinds=(self.label_kind,),
            label_kind=self.label_kind,
            indicators=False,
        )

    def any_edge(self) -> Bool[Array, "variables variables"]:
        """Every edge between two different real variables."""
        real = self.real > 0
        return real[:, None] & real[None, :] & ~jnp.eye(real.shape[0], dtype=bool)

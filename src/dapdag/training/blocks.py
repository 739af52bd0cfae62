"""The data of one lane as padded arrays: one block per domain, training and validation apart."""

import equinox as eqx
from jaxtyping import Array, Float, Int


class Blocks(eqx.Module):
    """Rows of every domain, shuffled once, padded to common sizes.

    A training block goes on with its first rows again for one more batch, so that a window may
    start at any row and every row is drawn equally often. `n_rows` is 0 for domains that only pad.
    """

    values: Float[Array, "*lanes domains rows columns"]
    observed: Float[Array, "*lanes domains rows variables"]
    n_rows: Int[Array, "*lanes domains"]
    valid_values: Float[Array, "*lanes domains valid_rows columns"]
    valid_observed: Float[Array, "*lanes domains valid_rows variables"]
    valid_present: Float[Array, "*lanes domains valid_rows"]

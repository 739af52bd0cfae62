"""Where sites lie on the main axis along which they differ.

If one latent environment acts on several variables, the sites' means of all variables move along
one curve, and their first principal component orders the sites as the environment does. A
mechanism that follows the environment then needs one coefficient per term where free site effects
need one per term and site.
"""

from __future__ import annotations

import numpy as np

from dapdag.structure.columns import Encoded
from dapdag.structure.statistics import Array


def site_positions(table: Encoded) -> Array:
    """First principal component of the sites' mean normal scores, with variance 1 over rows."""
    count = np.diff(table.bounds).astype(float)
    sums = np.add.reduceat(table.normal, table.bounds[:-1], axis=0)
    means = sums / count[:, None] / table.normal_scale  # [sites, columns]
    weight = count / count.sum()
    centred = means - weight @ means
    left, _, _ = np.linalg.svd(np.sqrt(weight)[:, None] * centred, full_matrices=False)
    position = left[:, 0] / np.sqrt(weight)
    position = position - weight @ position
    scale = np.sqrt(weight @ position**2)
    return np.asarray(position / scale if scale > 0 else position)

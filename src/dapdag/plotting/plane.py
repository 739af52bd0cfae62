"""Environments of two or more dimensions as points and ellipses in a plane."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from dapdag.plotting.labels import label_points, shortened

# Beyond this many, only targets are named.
MAX_NAMES = 25
# Radius of the 95 % region of a normal distribution in the plane, in standard deviations.
RADIUS_95 = float(np.sqrt(-2 * np.log(0.05)))


@dataclass(frozen=True)
class Plane:
    """Domains in the plane that is drawn."""

    points: NDArray[np.float64]  # [domains, 2]
    covariances: NDArray[np.float64]  # [domains, 2, 2]
    titles: tuple[str, str]
    is_whole: bool  # nothing is projected away


def plane_of(table: pd.DataFrame, is_source: NDArray[np.bool_]) -> Plane:
    """The plane of E itself, or the one in which the sources differ most."""
    names = [str(c).removesuffix("_mean") for c in table if str(c).endswith("_mean")]
    means = table[[f"{name}_mean" for name in names]].to_numpy(dtype=float)
    variances = table[[f"{name}_sd" for name in names]].to_numpy(dtype=float) ** 2
    if len(names) == 2:
        axes, titles = np.eye(2), (names[0], f"{names[1]} (ellipses: 95 % regions)")
    else:
        axes, titles = _principal_axes(means[is_source], names)
    covariances = np.einsum("dk,nd,dl->nkl", axes, variances, axes)
    return Plane(means @ axes, covariances, titles, len(names) == 2)


def _principal_axes(
    sources: NDArray[np.float64], names: list[str]
) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Two orthonormal axes [dim, 2] and what to call them."""
    spread = sources - sources.mean(0)
    if len(sources) < 3 or not spread.any():
        # Too few sources have no plane of their own.
        return np.eye(len(names))[:, :2], (names[0], f"{names[1]} (of {len(names)} dimensions)")
    _, size, axes = np.linalg.svd(spread, full_matrices=False)
    axes = axes[:2].T
    # The sign of an axis is arbitrary; the largest component points up.
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), [0, 1]])
    share = size**2 / (size**2).sum()
    return axes, (
        f"first principal axis of E ({share[0]:.0%} of the sources' spread)",
        f"second principal axis ({share[1]:.0%})",
    )


def plot_plane(
    ax: Axes, plane: Plane, table: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]
) -> None:
    """Points in the look of their kind, each with its 95 % region."""
    kinds = table["kind"].to_numpy()
    for centre, covariance, kind in zip(plane.points, plane.covariances, kinds, strict=True):
        variances, axes = np.linalg.eigh(covariance)
        width, height = 2 * RADIUS_95 * np.sqrt(np.maximum(variances, 0))
        angle = np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))
        color = looks[kind]["color"]
        ax.add_patch(
            Ellipse(tuple(centre), width, height, angle=angle, color=color, alpha=0.12, lw=0)
        )
    for kind in dict.fromkeys(kinds):
        ax.plot(*plane.points[kinds == kind].T, **looks[kind])
    ax.autoscale_view()


def name_points(
    ax: Axes,
    plane: Plane,
    table: pd.DataFrame,
    colors: Mapping[str, str],
    is_source: NDArray[np.bool_],
) -> None:
    """Names beside the points, as far as there is room; targets are always named."""
    crowded = len(table) > MAX_NAMES
    names = [
        "" if crowded and source else shortened(str(domain), 22)
        for domain, source in zip(table.index, is_source, strict=True)
    ]
    label_points(ax, plane.points, names, [colors[kind] for kind in table["kind"]])

"""Environments of two and more dimensions in the plane."""

import numpy as np
import pytest
from matplotlib.patches import Ellipse, Rectangle
from plotting_helpers import environments

from dapdag.plotting import plot_environments
from dapdag.plotting.plane import plane_of


def test_names_in_the_plane_do_not_cover_each_other():
    ax = plot_environments(environments(12, dims=2))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 12
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_the_span_in_the_plane_is_the_box_beyond_which_targets_are_outside():
    sources = environments(6, dims=2)
    ax = plot_environments(sources, environments(1, dims=2, prefix="new ", seed=1))
    box = next(p for p in ax.patches if isinstance(p, Rectangle))
    means = sources[["E1_mean", "E2_mean"]].to_numpy()
    np.testing.assert_allclose(box.get_xy(), means.min(axis=0))
    np.testing.assert_allclose([box.get_width(), box.get_height()], np.ptp(means, axis=0))


def test_more_than_two_dimensions_are_seen_where_the_sources_differ_most():
    sources = environments(9, dims=4)
    sources["E3_mean"] *= 10
    sources["E2_mean"] *= 5
    plane = plane_of(sources, np.ones(9, dtype=bool))
    order = sources["E3_mean"].to_numpy()
    assert abs(np.corrcoef(plane.points[:, 0], order)[0, 1]) > 0.95
    ax = plot_environments(sources)
    assert "first principal axis" in ax.get_xlabel()
    assert not any(isinstance(p, Rectangle) for p in ax.patches)


def test_projected_uncertainty_is_that_of_the_projected_draws():
    sources = environments(9, dims=3)
    plane = plane_of(sources, np.ones(9, dtype=bool))
    spread = sources[[f"E{k}_mean" for k in (1, 2, 3)]].to_numpy()
    axes = np.linalg.lstsq(spread, plane.points, rcond=None)[0]
    rng = np.random.default_rng(0)
    deviations = sources[[f"E{k}_sd" for k in (1, 2, 3)]].to_numpy()[0]
    draws = (deviations * rng.normal(size=(20000, 3))) @ axes
    np.testing.assert_allclose(plane.covariances[0], np.cov(draws.T), atol=2e-3)
    ellipse = next(p for p in plot_environments(sources).patches if isinstance(p, Ellipse))
    area = np.sqrt(np.linalg.det(plane.covariances[0])) * 4 * -2 * np.log(0.05)
    assert ellipse.width * ellipse.height == pytest.approx(area)

"""Calibration of probabilities and coverage of intervals."""

import numpy as np
import pytest

from dapdag.plotting import plot_calibration, plot_coverage


def test_calibration_shows_every_row_once():
    rng = np.random.default_rng(0)
    proba = rng.random(5000)
    y = rng.random(5000) < proba
    ax = plot_calibration(y, np.column_stack([1 - proba, proba]))
    assert sum(int(text.get_text()) for text in ax.texts) == 5000
    curve = next(line for line in ax.lines if line.get_marker() == "o")
    assert np.abs(curve.get_xdata() - curve.get_ydata()).max() < 0.06


def test_calibration_of_constant_and_extreme_probabilities():
    for proba in (0.0, 0.3, 1.0):
        ax = plot_calibration([0, 1, 1], np.full(3, proba))
        ax.figure.canvas.draw()
        assert [text.get_text() for text in ax.texts] == ["3"]


def test_calibration_refuses_what_is_no_probability():
    with pytest.raises(ValueError, match="between 0 and 1"):
        plot_calibration([0, 1], [0.5, 1.2])
    with pytest.raises(ValueError, match="0 and 1 only"):
        plot_calibration([1, 2], [0.5, 0.2])


def test_coverage_of_right_and_of_too_narrow_intervals():
    rng = np.random.default_rng(0)
    y = rng.normal(size=4000)
    right = plot_coverage(y, np.zeros(4000), np.ones(4000)).lines[1]
    assert np.abs(right.get_xdata() - right.get_ydata()).max() < 0.03
    narrow = plot_coverage(y, np.zeros(4000), np.full(4000, 0.5))
    assert "90 % intervals hold 59%" in narrow.get_title(loc="left")
    with pytest.raises(ValueError, match="2, 2 and 1"):
        plot_coverage([1, 2], [1, 2], [1])

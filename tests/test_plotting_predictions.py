"""Predicted against observed numbers."""

import numpy as np
import pytest

from dapdag.plotting import plot_predictions


def test_predictions_state_fit_and_coverage():
    rng = np.random.default_rng(0)
    true = rng.normal(size=4000)
    ax = plot_predictions(true, true + 0.5 * rng.normal(size=4000), np.full(4000, 0.5))
    assert "R² = 0.7" in ax.get_title(loc="left")
    assert "95% of the rows" in ax.texts[0].get_text()


def test_predictions_that_cannot_be_judged_are_refused():
    with pytest.raises(ValueError, match="y_true holds 1 missing"):
        plot_predictions([1, np.nan], [1, 2])
    with pytest.raises(ValueError, match="3 and 2"):
        plot_predictions([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="y_std"):
        plot_predictions([1, 2], [1, 2], [1, -1])

"""The losses of a training."""

import numpy as np
import pytest
from plotting_helpers import falling, loss_history

from dapdag.plotting import plot_history


def test_history_names_each_term_once_and_legibly():
    terms = {f"term {k}": falling(2, 1 + 0.001 * k) for k in range(12)}
    ax = plot_history(loss_history(total=falling(9, 2), never=np.full(50, np.nan), **terms))
    ax.figure.canvas.draw()
    assert {text.get_text() for text in ax.texts} == {"total", *terms}
    assert len(ax.lines) == 13
    centres = sorted(text.xyann[1] for text in ax.texts)
    height = ax.texts[0].get_fontsize() / (ax.get_window_extent().height * 72 / ax.figure.dpi)
    assert min(np.diff(centres)) > 0.9 * height


@pytest.mark.parametrize(
    ("terms", "scale"),
    [
        ({"label": falling(2, 1)}, "linear"),
        ({"label": falling(2, 1) - 1.5}, "linear"),
        ({"label": falling(2, 1), "acyclicity": falling(1, 1e-9)}, "log"),
        ({"label": falling(2, 1), "acyclicity": np.r_[falling(1, 1e-9)[:-1], 0]}, "log"),
        ({"label": np.r_[1e4, -falling(2, 1)[1:]]}, "symlog"),
        ({"label": np.zeros(50)}, "linear"),
    ],
)
def test_history_uses_a_logarithmic_axis_only_where_it_helps(terms, scale):
    ax = plot_history(loss_history(**terms))
    ax.figure.canvas.draw()
    assert ax.get_yscale() == scale
    low, high = ax.get_ylim()
    assert scale != "log" or high / low < 1e7


def test_history_without_terms_is_refused():
    with pytest.raises(ValueError, match="no numeric loss terms"):
        plot_history(loss_history())

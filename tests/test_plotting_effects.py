"""Effects of E on the variables."""

import networkx as nx
import numpy as np
import pytest
from plotting_helpers import effects_of, perturbed_graph

from dapdag.plotting import plot_environment_effects, plot_environment_strength


def test_effects_are_drawn_on_one_scale_largest_first():
    ax = plot_environment_effects(effects_of(small=0.5, large=-4.0, none=0.0))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["large", "small", "none"]
    heights = [np.ptp(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) > 2]
    np.testing.assert_allclose(heights[0] / heights[1], 8.0)
    assert heights[2] == 0
    said = [text.get_text() for text in ax.texts]
    assert said == ["9 → 1   −4.0 sd", "4.5 → 5.5   +0.5 sd", "5 → 5   0 sd"]


def test_effects_beyond_the_largest_are_counted():
    ax = plot_environment_effects(effects_of(a=1.0, b=2.0, c=3.0), n_largest=2)
    assert "1 less affected" in ax.get_title(loc="left")


def test_strengths_are_ranked_and_the_label_stands_out():
    ax = plot_environment_strength(perturbed_graph(a=0.1, Y=0.3, b=0.2))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Y", "b", "a"]
    assert [bar.get_width() for bar in ax.patches] == [0.3, 0.2, 0.1]
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()
    with pytest.raises(ValueError, match="environment"):
        plot_environment_strength(nx.DiGraph([("a", "b")]))

"""Distances between environments."""

import numpy as np
import pandas as pd
import pytest
from plotting_helpers import environments

from dapdag.plotting import environment_distances, plot_distances


def test_distances_of_environments_are_those_of_normal_distributions():
    table = pd.DataFrame({"E1_mean": [0.0, 3.0], "E1_sd": [1.0, 5.0]}, index=["a", "b"])
    distances = environment_distances(table.iloc[:1], table.iloc[1:].assign(outside=True))
    np.testing.assert_allclose(distances.loc["a", "b"], 5.0)
    assert list(distances.index) == list(distances.columns) == ["a", "b"]


def test_similar_domains_stand_side_by_side():
    at = pd.Series({"a": 0.0, "far": 9.0, "b": 0.1, "far too": 9.1})
    distances = pd.DataFrame(np.abs(at.to_numpy()[:, None] - at.to_numpy()), at.index, at.index)
    ax = plot_distances(distances, targets=["b"])
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert abs(names.index("a") - names.index("b")) == 1
    assert abs(names.index("far") - names.index("far too")) == 1
    shown = ax.images[0].get_array()
    order = [list(at.index).index(name) for name in names]
    np.testing.assert_allclose(shown, distances.to_numpy()[np.ix_(order, order)])
    colors = {t.get_text(): t.get_color() for t in ax.get_yticklabels()}
    assert colors["b"] != colors["a"]
    assert len(ax.lines) == 3  # branches of the tree


def test_tables_that_are_no_distances_are_refused():
    good = environment_distances(environments(3))
    with pytest.raises(ValueError, match="same domains"):
        plot_distances(good.iloc[:2])
    with pytest.raises(ValueError, match="symmetric"):
        plot_distances(good + np.triu(np.ones((3, 3)), 1))
    with pytest.raises(ValueError, match="finite"):
        plot_distances(-good)

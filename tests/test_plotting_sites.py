"""Pictures of a site over time and of why it differs."""

import numpy as np
import pandas as pd
import pytest

from dapdag.explain import SiteDifference, Track
from dapdag.plotting import plot_site_difference, plot_track


def followed(n=15):
    index = pd.Index([str(k) for k in range(n)], name="period")
    periods = pd.DataFrame(
        {"rows": 10, "E1_mean": np.linspace(0, 1, n), "E1_sd": 0.1, "outside": False}, index=index
    )
    components = pd.DataFrame({"change": [1.0], "p_value": [0.01]}, index=["E1"])
    return Track(periods, pd.DataFrame(index=index), components, 0.01)


def test_a_point_per_period_and_the_range_of_the_sources():
    sources = pd.DataFrame({"E1_mean": [-0.5, 0.8], "E1_sd": 0.1})
    ax = plot_track(followed(), sources)
    (line,) = (one for one in ax.lines if one.get_marker() == "o")
    np.testing.assert_allclose(line.get_ydata(), np.linspace(0, 1, 15))
    assert len(ax.get_xticks()) <= 8
    assert "moved" in ax.get_title("left")
    with pytest.raises(ValueError, match="no dimension 2"):
        plot_track(followed(), dimension=2)


def test_a_bar_per_part():
    parts = pd.DataFrame({"contribution": [0.5, -0.2], "sd": [0.1, 0.0]}, index=["case mix", "E"])
    ax = plot_site_difference(SiteDifference(1.0, 1.3, parts, "Y"))
    assert sorted(bar.get_width() for bar in ax.patches) == [-0.2, 0.5]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["E", "case mix"]

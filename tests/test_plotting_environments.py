"""Environments in rows, and against the true ones."""

import numpy as np
import pandas as pd
import pytest
from plotting_helpers import environments, legend_of

from dapdag.plotting import plot_environments, plot_true_vs_inferred


def test_domains_are_sorted_by_their_mean():
    sources, targets = environments(6), environments(2, prefix="new ", seed=1)
    ax = plot_environments(sources, targets.assign(outside=[True, False]))
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == list(pd.concat([sources, targets])["E1_mean"].sort_values().index)
    assert legend_of(ax) == {
        "source",
        "target",
        "target outside the sources",
        "span of the source means",
    }


def test_among_many_domains_every_target_is_named():
    targets = environments(5, prefix="new ", seed=1)
    ax = plot_environments(environments(200), targets)
    names = {tick.get_text() for tick in ax.get_yticklabels()}
    assert set(targets.index) <= names
    assert len(names) < 70


def test_true_environments_are_aligned_with_the_inferred_ones():
    sources = environments(6)
    ax = plot_environments(sources, true={k: 3 - 2 * e for k, e in sources["E1_mean"].items()})
    ticks = next(line for line in ax.lines if line.get_marker() == "|")
    np.testing.assert_allclose(ticks.get_xdata(), sources["E1_mean"])


def test_a_single_source_has_no_span():
    assert legend_of(plot_environments(environments(1))) == {"source"}
    assert legend_of(plot_environments(environments(1, dims=2))) == {"source"}


def test_tables_without_environments_are_refused():
    with pytest.raises(ValueError, match="E1_sd"):
        plot_environments(environments(3).drop(columns="E1_sd"))
    with pytest.raises(ValueError, match="E2_mean"):
        plot_environments(environments(3, dims=2), environments(2))


def test_correlation_with_the_true_environment_is_in_the_title():
    sources = environments(6, dims=2)
    true = -3 * sources["E2_mean"]
    for given in (true, dict(true), true.to_numpy()):
        ax = plot_true_vs_inferred(given, sources)
        assert "correlation −1.00" in ax.get_title(loc="left")
        assert "E2" in ax.get_ylabel()


def test_domains_without_a_true_environment_are_named():
    with pytest.raises(ValueError, match="'site 2'"):
        plot_true_vs_inferred({"site 0": 0, "site 1": 1}, environments(3))
    with pytest.raises(ValueError, match=r"\(3\).*\(2,\)"):
        plot_true_vs_inferred([0, 1], environments(3))

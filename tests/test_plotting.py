import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Ellipse, FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from dapdag.effects import EnvironmentEffects
from dapdag.plotting import (
    environment_distances,
    plot_calibration,
    plot_coverage,
    plot_distances,
    plot_environment_effects,
    plot_environment_strength,
    plot_environments,
    plot_graph,
    plot_history,
    plot_predictions,
    plot_true_vs_inferred,
)
from dapdag.plotting.graph_artists import _curve
from dapdag.plotting.labels import shortened
from dapdag.plotting.layout import layered_layout
from dapdag.plotting.plane import plane_of
from dapdag.plotting.style import spread

PAPER_EDGES = [
    *[("X1", "X2"), ("X2", "X3"), ("X1", "Y"), ("X2", "Y"), ("X1", "X4")],
    *[("X4", "X5"), ("Y", "X5"), ("X3", "X6"), ("Y", "X6"), ("X6", "X7")],
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def random_dag(seed, density=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 31))
    density = rng.uniform(0, 0.3) if density is None else density
    names = [f"node_{k}" + "_with_a_long_name" * int(rng.integers(3)) for k in range(n)]
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for i, j in np.argwhere(np.triu(rng.random((n, n)) < density, 1)):
        graph.add_edge(names[i], names[j], weight=float(rng.random()))
    return graph


def random_layout(seed):
    graph = random_dag(seed)
    rng = np.random.default_rng(seed)
    sizes = {node: tuple(rng.uniform([15, 15], [150, 60])) for node in graph}
    return graph, layered_layout(graph, sizes)


def edges_of(box):
    left, bottom = box.x - box.width / 2, box.y - box.height / 2
    return left, bottom, left + box.width, bottom + box.height


def environments(n, dims=1, prefix="site ", seed=0):
    rng = np.random.default_rng(seed)
    columns = {}
    for k in range(1, dims + 1):
        columns[f"E{k}_mean"] = rng.normal(size=n)
        columns[f"E{k}_sd"] = rng.uniform(0.05, 0.2, size=n)
    return pd.DataFrame(columns, index=[f"{prefix}{k}" for k in range(n)])


def loss_history(**terms):
    return pd.DataFrame({"epoch": np.arange(50), **terms})


def falling(start, end):
    return np.geomspace(start, end, 50)


LONG = "a hospital whose name is far too long to be written beside a point"


def effects_of(**slopes):
    """Straight lines from E = −1 to 1, each variable with a standard deviation of 2."""
    env = pd.Index(np.linspace(-1, 1, 11), name="E1")
    values = pd.DataFrame({name: 5 + s * env.to_numpy() for name, s in slopes.items()}, index=env)
    return EnvironmentEffects(values, pd.Series(2.0, index=list(slopes)))


def perturbed_graph(**strengths):
    graph = nx.DiGraph()
    for name, strength in strengths.items():
        graph.add_node(name, environment=strength, label=name == "Y")
    return graph


X = np.linspace(-1, 1, 40)
DRAWINGS = {
    "graph": lambda ax=None: plot_graph(nx.DiGraph(PAPER_EDGES), label="Y", ax=ax),
    "comparison": lambda ax=None: plot_graph(
        nx.DiGraph(PAPER_EDGES), truth=nx.DiGraph([("X1", "X2"), *PAPER_EDGES[2:]]), ax=ax
    ),
    "rows": lambda ax=None: plot_environments(environments(8), environments(2, seed=1), ax=ax),
    "plane": lambda ax=None: plot_environments(environments(8, dims=2), ax=ax),
    "one site": lambda ax=None: plot_environments(
        environments(1), environments(1, prefix=LONG, seed=1), ax=ax
    ),
    "projection": lambda ax=None: plot_environments(
        environments(8, dims=4), environments(1, dims=4, prefix=LONG), ax=ax
    ),
    "coverage": lambda ax=None: plot_coverage(X, 0.9 * X, np.full(40, 0.2), ax=ax),
    "distances": lambda ax=None: plot_distances(
        environment_distances(environments(5), environments(1, prefix=LONG, seed=1)), ax=ax
    ),
    "many distances": lambda ax=None: plot_distances(
        environment_distances(environments(60)), ax=ax
    ),
    "effects": lambda ax=None: plot_environment_effects(
        effects_of(**{f"variable {k} {'x' * k * 3}": k for k in range(20)}), ax=ax
    ),
    "strength": lambda ax=None: plot_environment_strength(
        perturbed_graph(**{LONG: 0.3, "b": 0.2, "Y": 0.0}), ax=ax
    ),
    "true": lambda ax=None: plot_true_vs_inferred(np.arange(8), environments(8), ax=ax),
    "predictions": lambda ax=None: plot_predictions(X, 0.9 * X, np.full(40, 0.2), ax=ax),
    "calibration": lambda ax=None: plot_calibration(X > 0, (X + 1) / 2, ax=ax),
    "history": lambda ax=None: plot_history(loss_history(label=falling(2, 1)), ax=ax),
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_draws_on_the_given_axes_without_touching_settings(draw):
    _, ax = plt.subplots()
    before = dict(matplotlib.rcParams)
    assert draw(ax=ax) is ax
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == [ax.figure.number]


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_makes_a_figure_of_its_own_in_which_nothing_is_cut_off(draw):
    ax = draw()
    figure = ax.figure
    figure.canvas.draw()
    inside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert inside.x0 > -0.02
    assert inside.y0 > -0.02
    assert inside.x1 < width + 0.02
    assert inside.y1 < height + 0.02


@pytest.mark.parametrize("seed", range(16))
def test_boxes_never_overlap(seed):
    _, layout = random_layout(seed)
    boxes = np.array([edges_of(box) for box in layout.boxes.values()])
    left, bottom, right, top = boxes.T
    apart = (right[:, None] <= left) | (top[:, None] <= bottom)
    apart = apart | apart.T
    assert apart[~np.eye(len(boxes), dtype=bool)].all()


@pytest.mark.parametrize("seed", range(10, 20))
def test_edges_run_through_no_box(seed):
    _, layout = random_layout(seed)
    for (u, v), route in layout.routes.items():
        line = Path(_curve(route).to_polygons(closed_only=False)[0])
        x, y = line.interpolated(30).vertices.T
        for node, box in layout.boxes.items():
            left, bottom, right, top = edges_of(box)
            hit = (x > left + 1e-6) & (x < right - 1e-6) & (y > bottom) & (y < top)
            assert node in (u, v) or not hit.any()


@pytest.mark.parametrize("seed", range(10))
def test_causes_stand_left_of_their_effects(seed):
    graph, layout = random_layout(seed)
    assert layout.boxes.keys() == set(graph)
    assert all(layout.boxes[u].x < layout.boxes[v].x for u, v in graph.edges)


def test_ordering_avoids_crossings_that_can_be_avoided():
    graph = nx.DiGraph([("a", "y"), ("b", "x"), ("c", "z"), ("a", "x"), ("b", "z")])
    boxes = layered_layout(graph, dict.fromkeys(graph, (20.0, 20.0))).boxes
    ends = [(boxes[u].y, boxes[v].y) for u, v in graph.edges]
    assert not any((a - c) * (b - d) < 0 for a, b in ends for c, d in ends)


@pytest.mark.parametrize("figsize", [(3, 2), (6.4, 4.8), (14, 5)])
@pytest.mark.parametrize("seed", [3, 4])
def test_every_name_is_drawn_inside_its_box(figsize, seed):
    graph = random_dag(seed)
    _, ax = plt.subplots(figsize=figsize, layout="constrained")
    plot_graph(graph, ax=ax)
    ax.figure.canvas.draw()
    names = {text.get_text().replace("\n", ""): text for text in ax.texts}
    assert names.keys() == set(graph)
    boxes = [p.get_window_extent() for p in ax.patches if isinstance(p, FancyBboxPatch)]
    for text in names.values():
        extent = text.get_window_extent()
        assert any(
            box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 <= box.y1
            for box in boxes
        )


def legend_of(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}


def test_comparison_shows_what_is_right_reversed_extra_and_missing():
    truth = nx.DiGraph(PAPER_EDGES)
    learned = truth.copy()
    learned.remove_edges_from([("X1", "X2"), ("X2", "Y"), ("X4", "X5")])
    learned.add_edges_from([("X2", "X1"), ("X3", "X7")])
    ax = plot_graph(learned, truth=truth)
    lines = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    assert len(lines) == 11
    assert sum(line.get_linestyle() != "-" for line in lines) == 2
    assert len({line.get_edgecolor() for line in lines}) == 4
    assert legend_of(ax) == {"correct edge", "reversed edge", "extra edge", "missing edge"}
    assert "7 of 10 edges right, distance 4" in ax.get_title(loc="left")


def test_missing_edges_against_the_learned_order_are_drawn_backwards():
    learned, truth = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("c", "a"), ("b", "c")])
    truth.add_nodes_from("abc")
    ax = plot_graph(learned, truth=truth)
    assert len([patch for patch in ax.patches if isinstance(patch, PathPatch)]) == 3


def test_nodes_on_which_the_environment_acts_have_a_ring():
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, {"a": 1.0, "b": 0.5, "c": 0.01}, "environment")
    ax = plot_graph(graph, label="c")
    assert sum(isinstance(patch, FancyBboxPatch) for patch in ax.patches) == 3 + 2
    assert legend_of(ax) == {"label", "environment acts here"}


def test_stronger_edges_are_wider():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 0.1), ("b", "c", 0.9)])
    lines = [p for p in plot_graph(graph).patches if isinstance(p, PathPatch)]
    assert lines[0].get_linewidth() < lines[1].get_linewidth()


def test_the_same_graph_is_drawn_the_same_way():
    graph = random_dag(7)
    assert layered_layout(graph, dict.fromkeys(graph, (9, 9))).boxes == (
        layered_layout(graph.copy(), dict.fromkeys(graph, (9, 9))).boxes
    )


def test_graphs_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match="'Z'"):
        plot_graph(nx.DiGraph(PAPER_EDGES), label="Z")
    with pytest.raises(ValueError, match="itself.*'a'"):
        plot_graph(nx.DiGraph([("a", "a")]))


@pytest.mark.parametrize("graph", [nx.DiGraph(), nx.empty_graph(12, create_using=nx.DiGraph)])
def test_graphs_without_edges_are_drawn(graph):
    assert len(plot_graph(graph).texts) == len(graph)


def test_spread_keeps_order_and_distance_and_moves_little():
    wanted = np.array([0.0, 0.1, 0.1, 5.0])
    placed = spread(wanted, np.ones(4))
    assert (np.diff(placed) >= 1 - 1e-9).all()
    assert placed[:3].mean() == pytest.approx(wanted[:3].mean())
    assert placed[3] == 5.0
    bounded = spread(np.array([9.0, 9.0]), np.ones(2), within=(0, 3))
    np.testing.assert_allclose(bounded, [2, 3])


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


def test_names_in_the_plane_do_not_cover_each_other():
    ax = plot_environments(environments(12, dims=2))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 12
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_single_source_has_no_span():
    assert legend_of(plot_environments(environments(1))) == {"source"}
    assert legend_of(plot_environments(environments(1, dims=2))) == {"source"}


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


def test_long_names_keep_both_ends():
    short = shortened(LONG, 20)
    assert len(short) == 20
    assert short.startswith("a hospital")
    assert short.endswith("point")
    assert shortened("x") == "x"


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

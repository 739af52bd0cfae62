import numpy as np
import pandas as pd
import pytest
from scipy.stats import kurtosis, norm

from dapdag.data.columns import Continuous, Discrete, Standardised, learn_feature
from dapdag.data.layout import column_owner, layout_of, padded_size
from dapdag.data.table import Table


def sources(kind, n=1000):
    rng = np.random.default_rng(0)
    return {
        "normal": lambda: rng.normal(5.0, 3.0, n),
        "lognormal": lambda: np.exp(2 * rng.normal(size=n)),
        "cauchy": lambda: rng.standard_cauchy(n),
        "counts": lambda: rng.poisson(3, n).astype(float),
        "few": lambda: rng.normal(size=7),
    }[kind]()


KINDS = pytest.mark.parametrize("kind", ["normal", "lognormal", "cauchy", "counts", "few"])


@KINDS
def test_scores_rise_with_the_value(kind):
    column = sources(kind)
    variable = Continuous.learn("x", column)
    assert (np.diff(variable.knots) > 0).all() and (np.diff(variable.scores) > 0).all()
    wide = np.sort(np.concatenate([column, np.linspace(-1e3, 1e3, 5001)]))
    assert (np.diff(variable.encode(wide)[:, 0]) >= 0).all()


@KINDS
def test_scores_of_the_sources_are_standardised(kind):
    column = sources(kind)
    scores = Continuous.learn("x", column).encode(column)[:, 0].astype(float)
    assert abs(scores.mean()) < 1e-5 and abs(scores.std() - 1) < 1e-5


@KINDS
def test_far_outside_the_sources_the_score_is_constant_and_moderate(kind):
    variable = Continuous.learn("x", sources(kind))
    low, lower, high, higher = variable.encode(np.array([-1e9, -1e15, 1e9, 1e15]))[:, 0]
    assert low == lower and high == higher
    assert -8 < low < 0 < high < 8


@KINDS
def test_decoding_undoes_encoding_within_the_sources(kind):
    column = sources(kind)
    inside = np.quantile(column, np.linspace(0.1, 0.9, 50), method="closest_observation")
    variable = Continuous.learn("x", column)
    back = variable.decode(variable.encode(inside))
    np.testing.assert_allclose(back, inside, rtol=1e-3, atol=1e-3)


def test_heavy_tails_become_light():
    column = sources("cauchy", 5000)
    scores = Continuous.learn("x", column).encode(column)[:, 0]
    assert kurtosis(column) > 100
    assert abs(kurtosis(scores)) < 1.5


def test_order_alone_matters_within_the_sources():
    """Rank scores: a monotone change of units changes nothing but rounding."""
    column = sources("normal")
    inner = np.sort(column)[100:-100]
    a = Continuous.learn("x", column).encode(inner)
    b = Continuous.learn("x", np.exp(column)).encode(np.exp(inner))
    np.testing.assert_allclose(a, b, atol=0.1)


def test_scores_of_normal_sources_are_normal():
    column = sources("normal", 5000)
    scores = Continuous.learn("x", column).encode(column)[:, 0]
    q = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_allclose(np.quantile(scores, q), norm.ppf(q), atol=0.05)


def test_missing_cells_do_not_affect_the_scores():
    column = sources("normal")
    holed = np.insert(column, [0, 10, 500], np.nan)
    a, b = Continuous.learn("x", column), Continuous.learn("x", holed)
    np.testing.assert_array_equal(a.knots, b.knots)
    np.testing.assert_array_equal(a.scores, b.scores)


def test_many_rows_need_no_more_knots():
    assert len(Continuous.learn("x", sources("normal", 50_000)).knots) < 400


def test_a_regressions_label_is_standardised_and_comes_back():
    column = sources("lognormal")
    label = Standardised.learn("y", np.append(column, np.nan))
    encoded = label.encode(column)
    assert abs(encoded.mean()) < 1e-5 and abs(encoded.std() - 1) < 1e-5
    np.testing.assert_allclose(label.decode(encoded), column, rtol=1e-4, atol=1e-4)
    far = np.array([column.max() * 10])
    np.testing.assert_allclose(label.decode(label.encode(far)), far, rtol=1e-5)


def test_a_constant_label_does_not_divide_by_zero():
    label = Standardised.learn("y", np.full(9, 3.0))
    np.testing.assert_array_equal(label.encode(np.full(2, 3.0)), 0.0)
    np.testing.assert_array_equal(label.decode(np.zeros((2, 1))), 3.0)


def test_two_levels_take_one_column():
    variable = Discrete.learn("s", pd.Series(["m", "f", "f", "f", None]))
    assert (variable.kind, variable.width, variable.levels) == ("binary", 1, ("f", "m"))
    np.testing.assert_array_equal(variable.encode(pd.Series(["f", "m"]))[:, 0], [0, 1])
    assert variable.center == (0.25,)
    np.testing.assert_allclose(variable.scale, [np.sqrt(0.25 * 0.75)])
    np.testing.assert_array_equal(variable.decode(np.array([[0.2], [0.9]])), ["f", "m"])


def test_more_levels_take_a_column_each():
    column = pd.Series(["b", "a", "c", "a"])
    variable = Discrete.learn("s", column)
    assert (variable.kind, variable.width, variable.levels) == ("categorical", 3, ("a", "b", "c"))
    encoded = variable.encode(column)
    np.testing.assert_array_equal(encoded, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])
    assert variable.center == (0.5, 0.25, 0.25)
    np.testing.assert_array_equal(variable.decode(encoded), column)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.Series([0.5, 1.5, 2.5]), "continuous"),
        (pd.Series([1, 2, 3]), "continuous"),
        (pd.Series([1, 2, None], dtype="Int64"), "binary"),
        (pd.Series([0.0, 1.0, np.nan]), "binary"),
        (pd.Series([True, False]), "binary"),
        (pd.Series(["a", "b", "c"]), "categorical"),
        (pd.Series([1, 2, 3], dtype="category"), "categorical"),
        (pd.Series(["a", 1, 2.5], dtype=object), "categorical"),
    ],
)
def test_the_type_follows_from_the_values(column, kind):
    assert learn_feature("x", column).kind == kind


@pytest.fixture
def mixed():
    frame = pd.DataFrame(
        {
            "age": [30.0, 40.0, np.nan, 60.0, 70.0],
            "sex": ["f", "m", "m", None, "f"],
            "class": ["I", "II", "III", "II", "I"],
            "site": [1, 1, 1, 1, 1],
        }
    )
    features = tuple(learn_feature(name, frame[name]) for name in frame)
    return frame, Table(features, Standardised("y", 0.0, 1.0))


def test_a_table_encodes_columns_in_order_and_marks_missing_cells(mixed):
    frame, table = mixed
    values, observed = table.encode(frame)
    assert values.shape == (5, 1 + 1 + 3 + 1) and observed.shape == (5, 4)
    np.testing.assert_array_equal(observed == 0, frame.isna())
    assert values[2, 0] == 0 and np.isfinite(values).all()
    np.testing.assert_array_equal(values[:, 1], [0, 1, 1, 0, 0])
    np.testing.assert_array_equal(values[:, 2:5].argmax(1), [0, 1, 2, 1, 0])
    assert table.names == ["age", "sex", "class", "site", "y"]


def test_a_level_that_no_source_has_counts_as_missing(mixed):
    frame, table = mixed
    new = frame.assign(sex="d", **{"class": "IV"})
    values, observed = table.encode(new)
    assert (observed[:, 1:3] == 0).all()
    assert (values[:, 1:5] == 0).all()


def test_a_declared_category_that_no_source_has_counts_as_missing():
    column = pd.Series(pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"]))
    variable = learn_feature("x", column)
    assert variable.levels == ("a", "b")
    assert not variable.known(pd.Series(["c"])).any()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([2.0, 2.0, 2.0]),
        pd.Series([2.0, np.nan, 2.0]),
        pd.Series(["a", "a", "a"]),
        pd.Series([True, True, True]),
    ],
    ids=["number", "with-missing", "text", "bool"],
)
def test_a_constant_column_is_no_variable_of_the_graph(column):
    varied = learn_feature("v", pd.Series([1.0, 2.0, 3.0]))
    constant = learn_feature("c", column)
    table = Table((constant, varied), Standardised("y", 0.0, 1.0))
    layout = layout_of(table)
    np.testing.assert_array_equal(np.asarray(layout.real)[:2], [0, 1])
    assert np.asarray(layout.owner)[0].sum() == 0
    values, _ = table.encode(pd.DataFrame({"c": column, "v": [1.0, 2.0, 3.0]}))
    assert np.isfinite(values).all()


@pytest.mark.parametrize("smallest", [1, 4, 16, 64])
def test_padded_sizes_are_few_rising_and_large_enough(smallest):
    sizes = np.array([padded_size(n, smallest) for n in range(1, 1001)])
    n = np.arange(1, 1001)
    assert (sizes >= n).all() and (np.diff(sizes) >= 0).all()
    assert (sizes <= np.maximum(smallest, 2 * n)).all()
    assert len(set(sizes)) <= 20
    assert all(padded_size(int(s), smallest) == s for s in set(sizes))


def test_column_owner_maps_columns_to_variables():
    variables = (
        Standardised("a", 0, 1),
        Discrete("b", ("x", "y", "z"), (1.0, 1.0, 1.0)),
        Discrete("c", ("x", "y"), (1.0, 1.0)),
    )
    np.testing.assert_array_equal(column_owner(variables, 8), [0, 1, 1, 1, 2, -1, -1, -1])

"""What the user is shown of every column."""

import numpy as np
import pandas as pd
import pytest

from dapdag.data.columns import Discrete, Standardised, learn_feature
from dapdag.data.schema import describe_column, schema_frame
from dapdag.data.table import Table

FEATURES = {
    "age": pd.Series([30.0, 41.5, np.nan, 60.0]),
    "sex": pd.Series(["f", "m", "m", None]),
    "stage": pd.Series([1.0, 2.0, 4.0, 4.0], dtype="category"),
    "ward": pd.Series([7.0, 7.0, 7.0, 7.0]),
}
TABLE = Table(
    tuple(learn_feature(name, column) for name, column in FEATURES.items()),
    Standardised("cost", 1.0, 2.0),
)


@pytest.mark.parametrize(
    "name, kind, words, values",
    [
        ("age", "continuous", "number", "30 … 60"),
        ("sex", "binary", "binary", "f, m"),
        ("stage", "categorical", "category", "1, 2, 4"),
    ],
)
def test_a_column_is_described_by_its_kind_and_values(name, kind, words, values):
    column = describe_column(TABLE.features[list(FEATURES).index(name)])
    assert (column.name, column.kind, column.type, column.values) == (name, kind, words, values)


def test_a_label_of_numbers_has_no_range():
    label = describe_column(TABLE.label)
    assert (label.kind, label.range, label.values) == ("continuous", None, "")


def test_the_schema_says_the_same_of_every_feature():
    missing = pd.DataFrame({"A": [0.25, 0.25, 0.0, 0.0]}, index=list(FEATURES))
    found = schema_frame(TABLE, missing, missing["A"])
    assert list(found["kind"]) == ["continuous", "binary", "categorical", "constant"]
    described = [describe_column(v).values for v in TABLE.features[:3]]
    assert list(found["values"]) == [*described, ""]
    assert list(found["missing"]) == [0.25, 0.25, 0.0, 0.0]
    assert found.loc["ward", "note"] == "the same everywhere: not used"


def test_two_valued_numbers_are_discrete_and_three_are_not():
    assert isinstance(learn_feature("x", pd.Series([0.0, 5.0, 5.0])), Discrete)
    assert not isinstance(learn_feature("x", pd.Series([0.0, 5.0, 6.0])), Discrete)

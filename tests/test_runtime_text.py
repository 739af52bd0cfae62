"""Numbers, shares, counts and lists as people read them."""

import numpy as np
import pytest

from dapdag._runtime.text import (
    counted,
    fine_percent,
    fixed,
    interval_text,
    level,
    listing,
    number,
    percent,
    plural,
    plus_or_minus,
    quoted,
    significant,
)


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1234567.0, "1\u202f234\u202f567"),
        (-0.5, "−0.5"),
        (12.345, "12.3"),
        (999.7, "1000"),
        (0.00001234, "1.23e−05"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
    ],
)
def test_numbers_read_well(value, text):
    assert number(value) == text


def test_shares_never_read_as_none_or_all_unless_they_are():
    shown = [percent(v) for v in (0.0, 0.001, 0.5, 0.999, 1.0)]
    assert shown == ["0\u202f%", "<1\u202f%", "50\u202f%", ">99\u202f%", "100\u202f%"]


def test_words_agree_with_their_number():
    assert [plural(n, "site") for n in (0, 1, 2000)] == ["0 sites", "1 site", "2\u202f000 sites"]
    assert listing(["a", "b", "c"]) == "a, b and c"
    assert listing(range(9)) == "0, 1, 2, 3, 4, 5 and 3 more"
    assert counted(2000, "row") == "2,000 rows"
    assert quoted(["a", 1, "c"], most=2) == "'a', '1' and 1 more"


def test_no_zero_has_a_minus():
    assert [fixed(-0.001), plus_or_minus(-0.001), significant(-0.0)] == ["0.00", "0.00", "0"]
    assert [fixed(-0.01), plus_or_minus(0.01)] == ["−0.01", "+0.01"]


def test_terminals_show_decimals_and_dashes():
    assert [fixed(v) for v in (None, float("nan"), -1.234, 2)] == ["–", "–", "−1.23", "2.00"]
    assert [fine_percent(v) for v in (0.0, 0.0004, 0.25)] == ["–", "<0.1 %", "25.0 %"]
    assert significant(-0.123456) == "−0.1235"


def test_class_names_are_what_people_write() -> None:
    named = [level(v) for v in (1.0, np.float64(2), 0.5, "x", np.True_)]
    assert named == ["1", "2", "0.5", "x", "True"]


@pytest.mark.parametrize(
    "values, text",
    [
        ((0.8412, 0.79, 0.88), "0.84 (0.79, 0.88)"),
        ((-0.2, -0.5, 0.1), "−0.20 (−0.50, 0.10)"),
        ((float("nan"), 0.5, 0.9), "0.50 to 0.90"),
        ((0.5, float("nan"), float("nan")), "0.50"),
        ((float("nan"),) * 3, "–"),
        ((0.85, 0.0, 17996.58), "0.85 (0.00, 17,997)"),
    ],
)
def test_intervals_read_well(values, text):
    assert interval_text(*values) == text

"""Background knowledge: names, patterns and contradictions."""

import numpy as np
import pytest

from dapdag.structure.knowledge import read_knowledge

NAMES = ["age", "lab_a", "lab_b", "death"]


def _read(forbidden=None, required=None, tiers=None, max_parents=6):
    return read_knowledge(NAMES, forbidden, required, tiers, max_parents)


def test_patterns_stand_for_all_that_match():
    allowed = _read(forbidden=[("death", "lab_*")]).allowed
    assert not allowed[3, 1] and not allowed[3, 2]
    assert allowed[3, 0] and allowed[1, 3]


def test_tiers_forbid_edges_to_earlier_ones_only():
    allowed = _read(tiers=[["age"], ["lab_*"], ["death"]]).allowed
    expected = np.triu(np.ones((4, 4), dtype=bool), k=1)
    expected[2, 1] = True
    np.testing.assert_array_equal(allowed, expected)


def test_columns_in_no_tier_are_free():
    allowed = _read(tiers=[["age"], ["death"]]).allowed
    assert allowed[3, 1] and allowed[1, 0] and not allowed[3, 0]


def test_what_closes_a_cycle_with_required_edges_is_not_allowed():
    allowed = _read(required=[("age", "lab_a"), ("lab_a", "death")]).allowed
    assert not allowed[3, 0] and not allowed[1, 0]


@pytest.mark.parametrize(
    "knowledge, message",
    [
        ({"forbidden": [("weight", "age")]}, "'weight', which matches no column"),
        ({"required": [("age", "age")]}, "cannot cause itself"),
        ({"required": [("age", "death"), ("death", "age")]}, "cycle"),
        (
            {"required": [("age", "death")], "forbidden": [("age", "*")]},
            "'age' → 'death', which contradicts forbidden_edges",
        ),
        ({"required": [("death", "age")], "tiers": [["age"], ["death"]]}, "tier 2"),
        ({"tiers": [["age"], ["a*"]]}, "one tier"),
        ({"tiers": "age"}, "list of lists"),
        ({"required": ["age"]}, "pairs"),
        ({"required": [("age", "death"), ("lab_a", "death")], "max_parents": 1}, "max_parents"),
    ],
)
def test_contradictions_are_named(knowledge, message):
    with pytest.raises(ValueError, match=message):
        _read(**knowledge)

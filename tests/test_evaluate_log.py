"""The log of finished runs: what was written is read, what was cut short is not."""

import math

import pytest

from dapdag.evaluate.log import RunLog


@pytest.fixture
def log(tmp_path):
    return RunLog(tmp_path / "runs.jsonl")


def test_what_was_appended_is_read(log):
    assert log.read() == {}
    log.append("a", [{"value": 0.1, "name": "Süd"}])
    log.append("b", {"rows": [1, 2]})
    assert log.read() == {"a": [{"value": 0.1, "name": "Süd"}], "b": {"rows": [1, 2]}}


def test_of_two_lines_of_one_run_the_last_counts(log):
    log.append("a", 1)
    log.append("a", 2)
    assert log.read() == {"a": 2}


def test_what_is_not_finite_is_read_as_nan(log):
    log.append("a", {"value": math.nan, "rows": [math.inf, 1.0]})
    found = log.read()["a"]
    assert math.isnan(found["value"]) and math.isnan(found["rows"][0]) and found["rows"][1] == 1.0


@pytest.mark.parametrize("n_lost", range(1, 12))
def test_a_line_cut_short_costs_only_its_run(log, n_lost):
    log.append("a", 1.0)
    log.append("b", 2.0)
    log.path.write_bytes(log.path.read_bytes()[:-n_lost])
    # Without its line break alone a line is still whole.
    assert log.read() == ({"a": 1.0, "b": 2.0} if n_lost == 1 else {"a": 1.0})
    log.append("c", 3.0)
    assert {"a": 1.0, "c": 3.0}.items() <= log.read().items()


def test_a_run_that_is_forgotten_is_missing(log):
    log.append("a", 1)
    log.append("b", 2)
    log.forget(["a"])
    assert log.read() == {"b": 2}


def test_another_file_is_neither_read_nor_changed(log):
    log.path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is not a file of runs"):
        log.read()
    with pytest.raises(ValueError, match="is not a file of runs"):
        log.forget([])
    assert log.path.read_text() == "a,b\n1,2\n"

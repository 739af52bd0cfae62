"""Runs: finished ones are taken from the file, and what they record."""

import json

import pandas as pd
import pytest
from evaluate_helpers import TINY, Spy, forget, small_data
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge

from dapdag import DAPDAGRegressor
from dapdag.evaluate import leave_one_domain_out


@pytest.fixture(autouse=True)
def _spies():
    forget()


class TestCheckpoint:
    def test_a_rerun_takes_finished_runs_from_the_file(self, tmp_path):
        data, path = small_data(names=["1", "b", "c"]), tmp_path / "runs.jsonl"
        first = leave_one_domain_out({"spy": Spy()}, data, targets=["1"], checkpoint=path)
        assert len(Spy.fits) == 1
        both = leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 3
        again = leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 3
        pd.testing.assert_frame_equal(both.scores, again.scores, check_exact=False)
        assert again.by_target().loc["1", "spy"] == pytest.approx(first.by_target().loc["1", "spy"])

    def test_other_settings_or_data_run_anew(self, tmp_path):
        path = tmp_path / "runs.jsonl"
        options = {"targets": [0], "checkpoint": path, "distances": False}
        leave_one_domain_out({"m": Ridge(alpha=1.0)}, small_data(), **options)
        one = path.read_text()
        leave_one_domain_out({"m": Ridge(alpha=2.0)}, small_data(), **options)
        leave_one_domain_out({"m": Ridge(alpha=1.0)}, small_data(seed=1), **options)
        lines = path.read_text().splitlines()
        assert path.read_text().startswith(one)
        assert len({json.loads(line)["run"] for line in lines[1:]}) == 3

    def test_a_line_cut_short_costs_only_its_run(self, tmp_path):
        data, path = small_data(), tmp_path / "runs.jsonl"
        leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        path.write_text(path.read_text()[:-10])
        found = leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 4
        assert found.scores["value"].count() == 3 * 2
        leave_one_domain_out({"spy": Spy()}, data, checkpoint=path)
        assert len(Spy.fits) == 4

    def test_another_file_is_not_overwritten(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match="not a file of runs"):
            leave_one_domain_out({"spy": Spy()}, small_data(), checkpoint=path)
        assert path.read_text() == "a,b\n1,2\n"


@pytest.fixture(scope="module")
def ours():
    estimators = {"ours": DAPDAGRegressor(**TINY), "dummy": DummyRegressor()}
    return leave_one_domain_out(estimators, small_data(rows=24), targets=[2], distances=False)


class TestOurEstimator:
    def test_uncertainty_and_environment_are_recorded(self, ours):
        mine = ours.scores[ours.scores["method"] == "ours"]
        assert mine["value"].notna().all()
        assert set(mine["outside"]) <= {0.0, 1.0}
        assert (mine["env_distance"] >= 0).all()
        assert mine[mine["metric"] == "coverage"]["value"].between(0, 1).all()

    def test_others_have_no_environment(self, ours):
        theirs = ours.scores[ours.scores["method"] == "dummy"]
        assert theirs["outside"].isna().all()
        assert theirs["env_distance"].isna().all()

"""`dapdag adapt`, and `dapdag predict` with the file that it writes."""

import json
from io import StringIO

import numpy as np
import pandas as pd
from cli_helpers import assert_fits_a_terminal, assert_one_line, dapdag


def predictions(*arguments):
    done = dapdag("predict", *arguments, "--quiet")
    assert done.code == 0, done.err
    return pd.read_csv(StringIO(done.out))


def test_a_row_at_a_site_is_predicted_as_among_all_its_rows(study):
    whole = predictions(study / "model.dapdag", study / "north.csv")
    one = predictions(study / "n.dapdag", study / "row.csv")
    assert list(one) == list(whole) and len(one) == 1
    numbers = ["prediction", "low", "high"]
    np.testing.assert_allclose(one[numbers].iloc[0], whole[numbers].iloc[0], rtol=1e-4)


def test_rows_are_added_to_a_site(study):
    site = study / "grown.dapdag"
    for model, rows in ((study / "model.dapdag", "yesterday.csv"), (site, "today.csv")):
        done = dapdag("adapt", model, study / rows, "-o", site, "--json")
        assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["rows"] == 40 and set(found["expert_weights"]) == {
        "pooled",
        "environment",
        "graph",
    }
    scores = {row["score"]: row for row in found["expected_score"]}
    assert set(scores) == {"r2", "rmse", "calibration_in_the_large"}
    assert all(row["low"] < row["expected"] < row["high"] for row in scores.values())
    whole, parts = (predictions(s, study / "north.csv") for s in (study / "n.dapdag", site))
    np.testing.assert_allclose(parts["prediction"], whole["prediction"], rtol=1e-3, atol=1e-3)


def test_a_site_is_chosen_by_its_name(study):
    model, new = study / "model.dapdag", study / "new.csv"
    assert_one_line(
        dapdag("adapt", model, new, "-o", study / "x.dapdag", "--quiet"), "2 sites", "--site"
    )
    done = dapdag("adapt", model, new, "--site", "h3", "-o", study / "h3.dapdag", "--quiet")
    assert done.code == 0, done.err
    chosen, alone = (predictions(study / f, study / "row.csv") for f in ("h3.dapdag", "n.dapdag"))
    np.testing.assert_allclose(chosen["prediction"], alone["prediction"], rtol=1e-4)
    unknown = dapdag("adapt", model, new, "--site", "h9", "-o", study / "x.dapdag", "--quiet")
    assert_one_line(unknown, "h9", "h4")


def test_a_site_is_no_model(study):
    done = dapdag("report", study / "n.dapdag", "-o", study / "r.html", "--quiet")
    assert_one_line(done, "n.dapdag", "dapdag adapt", "dapdag fit")


def test_what_adapt_refuses(study):
    model, rows = study / "model.dapdag", study / "north.csv"
    assert_one_line(dapdag("adapt", model, rows, "-o", study / "site.csv"), "no table")
    assert_one_line(dapdag("adapt", rows, rows, "-o", study / "s.dapdag", "-q"), "is a table")
    done = dapdag("predict", study / "n.dapdag", study / "new.csv", "--domain", "hospital", "-q")
    assert_one_line(done, "--domain hospital", "one site")
    no_domain = dapdag("adapt", model, rows, "--site", "h3", "-o", study / "s.dapdag", "-q")
    assert_one_line(no_domain, "--site h3", "--domain")


def test_a_site_is_followed_over_time(study):
    rows = pd.read_csv(study / "new.csv").drop(columns="hospital")
    rows["admitted"] = [f"2024-{1 + k // 20:02d}-{1 + k % 20:02d}" for k in range(len(rows))]
    rows["order"] = range(2100, 2100 + len(rows))
    rows.to_csv(study / "dated.csv", index=False)
    done = dapdag("track", study / "model.dapdag", study / "dated.csv", "--time", "order", "-q")
    assert "2100 " in done.out and "2100.0" not in done.out
    done = dapdag("track", study / "model.dapdag", study / "dated.csv", "--time", "admitted")
    assert done.code == 0, done.err
    assert_fits_a_terminal(done.out)
    assert "The site over time" in done.out and "p = " in done.out
    asked = "track", study / "model.dapdag", study / "dated.csv", "--time", "admitted"
    done = dapdag(*asked, "--periods", "M", "--json", "-o", study / "track.png")
    found = json.loads(done.out)
    assert [p["rows"] for p in found["periods"]] == [20, 20, 20, 20]
    assert isinstance(found["moved"], bool) and (study / "track.png").stat().st_size > 1000
    done = dapdag("track", *asked[1:3], "--time", "X1", "--periods", "M", "-q")
    assert_one_line(done, "--time X1", "frequency of dates")
    done = dapdag("track", *asked[1:3], "--time", "when", "-q")
    assert_one_line(done, "when", "dated.csv")

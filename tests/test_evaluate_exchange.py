"""Statistics that sites computed by themselves are pooled as if all rows were in one place."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")

from dapdag.evaluate import pool_results, site_results
from dapdag.evaluate.clinical.by_site import validation_of


def outcomes(sites, binary=True):
    parts = []
    for k, name in enumerate(sites):
        rng = np.random.default_rng(k)
        eta = rng.normal(0.2 * k, 1.0, 150)
        p = 1 / (1 + np.exp(-eta)) if binary else eta
        y = (rng.random(150) < p).astype(float) if binary else eta + rng.normal(size=150)
        parts.append(pd.DataFrame({"target": name, "method": "model", "y": y, "p": p}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_pooled_results_are_the_summary_of_all_rows(task):
    rows = outcomes("abcd", task == "classification")
    # at one site all events are predicted better than all others: its c-statistic is 1
    rows.loc[rows["target"] == "d", "p"] = rows["y"] * 0.5 + rows["p"] * 0.1 + 0.1
    event, threshold = ("1", 0.3) if task == "classification" else (None, None)
    whole = validation_of(rows, task, "whole", event, threshold)
    sent = {
        name: json.dumps(site_results(validation_of(part, task, name, event, threshold)))
        for name, part in rows.groupby("target")
    }
    pooled = pool_results({name: json.loads(text) for name, text in sent.items()})
    pd.testing.assert_frame_equal(pooled, whole.summary())
    assert (pooled["sites"] >= 3).all()
    assert not any(str(value) in text for text in sent.values() for value in rows["p"][::50])


def test_results_that_do_not_belong_together_are_refused():
    one, other = (
        site_results(validation_of(outcomes("a"), "classification", "a", "1", t))
        for t in (0.2, 0.3)
    )
    with pytest.raises(ValueError, match="threshold .0.2 at 'a', 0.3 at 'b'.: let every site"):
        pool_results({"a": one, "b": other})
    with pytest.raises(ValueError, match="event"):
        pool_results({"a": one, "b": one | {"event": "2"}})
    with pytest.raises(ValueError, match="results of 'b' have no"):
        pool_results({"a": one, "b": {"sites": []}})
    strange = [{**one["sites"][0], "statistic": "luck"}]
    with pytest.raises(ValueError, match="unknown statistics: 'luck'"):
        pool_results({"a": one | {"sites": strange}})
    with pytest.raises(ValueError, match="no results"):
        pool_results({})

"""What is made of the scores: paired comparisons, ranks, tables."""

import numpy as np
import pandas as pd
import pytest

from dapdag.evaluate import Evaluation


def handmade():
    """Two targets, two replicates, three methods, log-losses known."""
    values = {
        ("a", 0): (0.5, 0.4, 0.6),
        ("a", 1): (0.7, 0.5, 0.6),
        ("b", 0): (0.9, 1.0, 0.6),
        ("b", 1): (0.9, 1.2, 0.6),
    }
    rows = [
        {
            **{"target": target, "replicate": replicate, "method": method},
            **{"metric": "log_loss", "value": value, "seconds": 1.0},
            **{"outside": float(target == "b") if method == "ours" else np.nan, "reason": ""},
        }
        for (target, replicate), scores in values.items()
        for method, value in zip(("pooled", "ours", "dummy"), scores, strict=True)
    ]
    targets = pd.DataFrame({"sinkhorn": [1.234, 56.78]}, index=pd.Index(["a", "b"], name="target"))
    methods = ("pooled", "ours", "dummy")
    return Evaluation(pd.DataFrame(rows), "classification", "handmade", methods, targets)


class TestComparisons:
    def test_paired(self):
        found = handmade().paired("pooled")
        assert found.index.tolist() == ["ours", "dummy"]
        # a: +.15, b: -.20 for ours.
        assert found.loc["ours", "difference"] == pytest.approx(-0.025)
        assert found.loc["ours", "standard_error"] == pytest.approx(0.175)
        assert found.loc["ours", "better"] == 1

    def test_paired_by_target(self):
        found = handmade().paired_by_target("pooled").loc["ours"]
        assert found["difference"].tolist() == pytest.approx([0.15, -0.2])
        assert found["standard_error"].tolist() == pytest.approx([0.05, 0.1])
        assert found["outside"].tolist() == [False, True]
        assert handmade().paired_by_target("pooled").loc["dummy", "outside"].isna().all()

    def test_ranks(self):
        assert handmade().ranks().to_dict() == {"ours": 2.0, "dummy": 1.75, "pooled": 2.25}
        assert handmade().ranks().index[0] == "dummy"

    def test_table(self):
        table = handmade().table()
        assert table.index.tolist() == ["a (1.23)", "b (56.8)"]
        assert table.loc["a (1.23)", "pooled"] == "0.600 (0.141)"
        lines = handmade().markdown().splitlines()
        assert lines[0] == "| target | pooled | ours | dummy |"
        assert lines[2] == "| a (1.23) | 0.600 (0.141) | **0.450 (0.071)** | 0.600 (0.000) |"

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="Unknown reference 'mlp'"):
            handmade().paired("mlp")
        with pytest.raises(ValueError, match="No scores of the metric 'auc'"):
            handmade().table("auc")

    def test_repr(self):
        assert "2 targets, 2 replicate(s), methods: pooled, ours, dummy" in repr(handmade())

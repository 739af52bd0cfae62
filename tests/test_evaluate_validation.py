"""Validation over sites: from predictions to statistics, pooled and compared."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from evaluate_helpers import small_data
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score

pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")

from dapdag.datasets import DomainData
from dapdag.evaluate import (
    STATISTICS,
    leave_one_domain_out,
    reference_models,
    validate,
)


def data(classes=True, sites=5, rows=60, seed=0):
    """Sites that differ in prevalence, or mean; x1 and x2 matter."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(sites * rows, 2)), columns=["x1", "x2"])
    domain = np.repeat([f"s{k}" for k in range(sites)], rows)
    z = X["x1"] - X["x2"] + 0.4 * np.repeat(rng.normal(size=sites), rows)
    if classes:
        y = pd.Series(np.where(rng.random(len(X)) < 1 / (1 + np.exp(-z)), "yes", "no"), name="died")
    else:
        y = (z + rng.normal(size=len(X))).rename("los")
    task = "classification" if classes else "regression"
    return DomainData(X, y, domain, task, "sites")


@pytest.fixture(scope="module")
def found():
    methods = {"prior": DummyClassifier(strategy="prior"), "logistic": LogisticRegression()}
    return leave_one_domain_out(methods, data(), distances=False)


def test_classes_that_were_read_as_floats_are_named_as_people_write_them():
    words = data(sites=3)
    numbers = replace(words, y=(words.y == "yes").astype(float))
    found = leave_one_domain_out({"logistic": LogisticRegression()}, numbers, distances=False)
    assert "probability_1" in found.predictions
    assert found.validation().event == found.validation(event=1.0).event == "1"
    again = validate(LogisticRegression().fit(numbers.X, numbers.y), numbers.X, numbers.y)
    assert again.event == "1" and (again.sites["events"] == numbers.y.sum()).all()


class TestPredictions:
    def test_are_those_of_the_left_out_site(self, found):
        d = data()
        split = d.leave_out("s2")
        fitted = LogisticRegression().fit(split.X, split.y)
        kept = found.predictions
        kept = kept[(kept["target"] == "s2") & (kept["method"] == "logistic")]
        assert kept["row"].tolist() == np.flatnonzero(d.sample_domain == "s2").tolist()
        assert kept["label"].tolist() == split.y_target.tolist()
        np.testing.assert_allclose(
            kept[["probability_no", "probability_yes"]], fitted.predict_proba(split.X_target)
        )

    def test_come_back_from_a_file(self, tmp_path):
        path = tmp_path / "runs.jsonl"
        methods = {"ridge": Ridge()}
        first = leave_one_domain_out(methods, small_data(), checkpoint=path, distances=False)
        again = leave_one_domain_out(methods, small_data(), checkpoint=path, distances=False)
        pd.testing.assert_frame_equal(first.predictions, again.predictions)

    def test_of_an_earlier_file_are_not_there(self, tmp_path):
        from dapdag.evaluate.log import RunLog

        path = tmp_path / "runs.jsonl"
        leave_one_domain_out({"ridge": Ridge()}, small_data(), checkpoint=path, distances=False)
        runs = RunLog(path).read()
        path.unlink()
        for key, run in runs.items():
            RunLog(path).append(key, run["rows"])
        found = leave_one_domain_out({"ridge": Ridge()}, small_data(), checkpoint=path)
        assert found.scores["value"].notna().any()
        with pytest.raises(ValueError, match="no predictions to validate"):
            found.validation()

    def test_a_class_that_no_source_has(self):
        d = data(sites=3)
        y = d.y.where((d.sample_domain != "s0") | (np.arange(len(d.y)) % 3 > 0), "maybe")
        d = DomainData(d.X, y.rename("died"), d.sample_domain, d.task, d.name)
        found = leave_one_domain_out({"m": LogisticRegression()}, d, targets=["s0"])
        assert (found.predictions["probability_maybe"] == 0).all()
        with pytest.raises(ValueError, match=r"3 classes: name the one .*'maybe', 'no', 'yes'"):
            found.validation()
        one = found.validation(event="yes")
        assert (
            one.event == "yes"
            and one.of("m", "oe_ratio").loc["s0", "events"]
            == (y == "yes")[d.sample_domain == "s0"].sum()
        )


class TestTables:
    def test_three_arrays_are_a_data_set(self, found):
        d = data()
        methods = {"logistic": LogisticRegression()}
        given = leave_one_domain_out(methods, d.X, d.y, d.sample_domain, distances=False)
        ours = given.by_target()["logistic"]
        pd.testing.assert_series_equal(ours, found.by_target()["logistic"])
        plain = leave_one_domain_out(
            methods, d.X.to_numpy(), d.y.to_numpy(), d.sample_domain, distances=False
        )
        np.testing.assert_allclose(plain.by_target()["logistic"], ours)

    def test_the_task_follows_estimators_or_label(self):
        d = data()
        code = (d.y == "yes").astype(int)
        for methods, task in (
            ({"m": LinearRegression()}, "regression"),
            ({"m": LogisticRegression()}, "classification"),
        ):
            found = leave_one_domain_out(methods, d.X, code, d.sample_domain, targets=["s0"])
            assert found.task == task

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ({"y": None}, "needs y and sample_domain"),
            ({"sample_domain": np.array(["a"] * 3)}, "one entry per row"),
            ({"sample_domain": np.array([None] * 300, dtype=object)}, "missing in 300 row"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arguments, message):
        d = data()
        given = {"y": d.y, "sample_domain": d.sample_domain, **arguments}
        with pytest.raises(ValueError, match=message):
            leave_one_domain_out({"m": LogisticRegression()}, d.X, **given)
        with pytest.raises(ValueError, match="has its own y"):
            leave_one_domain_out({"m": LogisticRegression()}, d, d.y)


class TestValidation:
    def test_statistics_of_every_site(self, found):
        validation = found.validation()
        assert validation.event == "yes" and validation.targets == tuple(f"s{k}" for k in range(5))
        assert set(validation.sites["statistic"]) == set(validation.statistics)
        c = validation.of("logistic", "c_statistic")
        assert c["rows"].eq(60).all()
        y, p = validation.rows_of("s3", "logistic")
        assert c.loc["s3", "estimate"] == pytest.approx(roc_auc_score(y, p))
        assert c.loc["s3", "events"] == y.sum()

    def test_default_threshold_is_the_share_of_events(self, found):
        share = float((data().y == "yes").mean())
        assert found.validation().threshold == pytest.approx(share, abs=0.005)
        assert found.validation(threshold=0.1).threshold == 0.1

    def test_summary_lies_between_the_sites(self, found):
        validation = found.validation()
        pooled = validation.summary().loc[("logistic", "c_statistic")]
        sites = validation.of("logistic", "c_statistic")["estimate"]
        assert sites.min() < pooled["estimate"] < sites.max()
        assert pooled["prediction_low"] < pooled["low"] < pooled["high"] < pooled["prediction_high"]
        assert pooled["sites"] == 5

    def test_equal_predictions_have_a_mean_without_an_interval(self, found):
        pooled = found.validation().summary().loc[("prior", "c_statistic")]
        assert pooled["estimate"] == 0.5 and np.isnan(pooled["low"])

    def test_differences_favour_the_better_method(self, found):
        table = found.validation().differences("prior")
        assert set(table["method"]) == {"logistic"}
        overall = table[table["target"] == "all sites"].set_index("statistic")
        assert overall["better"].eq(True).all()
        assert overall.loc["log_loss", "high"] < 0 < overall.loc["c_statistic", "low"]
        turned = found.validation().differences("logistic").set_index(["statistic", "target"])
        straight = table.set_index(["statistic", "target"])
        np.testing.assert_allclose(turned["difference"], -straight["difference"])

    def test_table_for_files(self, found):
        table = found.validation().table()
        following = table[table["target"] == "next site"]
        assert len(following) == 2 * len(found.validation().statistics)
        assert following["estimate"].isna().all()

    def test_curves(self, found):
        validation = found.validation()
        assert validation.calibration_curve("s1")["observed"].between(0, 1).all()
        assert validation.decision_curve("s1")["threshold"].between(0, 1).all()
        with pytest.raises(ValueError, match="unknown site 's9'"):
            validation.calibration_curve("s9")
        with pytest.raises(ValueError, match="unknown method 'forest'"):
            validation.decision_curve("s1", "forest")

    def test_numbers(self):
        methods = {**reference_models("regression"), "ridge": Ridge()}
        validation = leave_one_domain_out(methods, data(classes=False)).validation()
        assert list(methods) == ["mean", "linear", "ridge"]
        pooled = validation.summary().loc["linear"]
        assert pooled.loc["r2", "estimate"] > 0.3
        assert abs(pooled.loc["calibration_slope", "estimate"] - 1) < 0.2
        with pytest.raises(ValueError, match="for events"):
            validation.decision_curve("s1")

    def test_every_statistic_has_a_scale_that_turns_back(self):
        for statistic in STATISTICS.values():
            value = 0.3
            there = statistic.scale.forward(value)
            assert statistic.scale.backward(there) == pytest.approx(value)
            step = (statistic.scale.forward(value + 1e-6) - there) / 1e-6
            assert statistic.scale.slope(value) == pytest.approx(step, rel=1e-4)

    def test_the_interval_for_the_next_site_holds_it(self):
        # 25 sites of the same kind; each in turn is the next one.
        rng = np.random.default_rng(0)
        from dapdag.evaluate.clinical.pooling import pool

        scale, inside = STATISTICS["oe_ratio"].scale, []
        for _ in range(200):
            truth = rng.normal(0, 0.3, 12)
            errors = rng.uniform(0.05, 0.2, 12)
            seen = pool(truth[:-1] + errors[:-1] * rng.normal(size=11), errors[:-1], scale)
            inside.append(seen.prediction_low <= np.exp(truth[-1]) <= seen.prediction_high)
        assert 0.91 <= np.mean(inside) <= 0.99


class TestExternal:
    def test_a_new_site(self):
        d = data()
        split = d.leave_out("s4")
        model = LogisticRegression().fit(split.X, split.y)
        found = validate(model, split.X_target, split.y_target)
        there = leave_one_domain_out({"model": LogisticRegression()}, d, targets=["s4"])
        for name in ("c_statistic", "calibration_slope", "brier"):
            ours = found.of("model", name).iloc[0]
            theirs = there.validation(threshold=found.threshold).of("model", name).iloc[0]
            assert ours["estimate"] == pytest.approx(theirs["estimate"])
            assert ours["low"] == pytest.approx(theirs["low"])

    def test_several_sites_and_rows_without_outcome(self):
        d = data()
        model = LogisticRegression().fit(d.X, d.y)
        y = d.y.where(np.arange(len(d.y)) % 10 > 0, None)
        found = validate(model, d.X, y, d.sample_domain, name="fixed")
        assert found.targets == ("s0", "s1", "s2", "s3", "s4")
        assert found.of("fixed", "brier")["rows"].eq(54).all()

    def test_what_cannot_be_validated(self):
        d = data()
        model = LogisticRegression().fit(d.X, d.y)
        with pytest.raises(ValueError, match="nothing to validate"):
            validate(model, d.X, [None] * len(d.X))
        with pytest.raises(ValueError, match="'dead', which is none of the classes"):
            validate(model, d.X, ["dead"] * len(d.X))
        with pytest.raises(ValueError, match="one entry per row"):
            validate(model, d.X, d.y[:-1])
        with pytest.raises(ValueError, match="must be numbers"):
            validate(LinearRegression().fit(d.X, d.y == "yes"), d.X, d.y)


def test_calibration_errors_of_opposite_sign_do_not_cancel(found):
    signed = found.by_target("calibration")["logistic"]
    assert signed.min() < 0 < signed.max()
    assert found.summary().loc["logistic", "calibration"] == pytest.approx(signed.abs().mean())

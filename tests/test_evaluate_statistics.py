"""Statistics of one site against reference implementations and examples worked by hand."""

import numpy as np
import pytest
from scipy.stats import linregress
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    brier_score_loss,
    log_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

sm = pytest.importorskip("statsmodels.api", reason="the extra 'clinical' is not installed")
from statsmodels.stats.nonparametric import rank_compare_2indep  # noqa: E402
from statsmodels.stats.weightstats import DescrStatsW  # noqa: E402

from dapdag.evaluate.clinical.calibration import calibration_curve, logit  # noqa: E402
from dapdag.evaluate.clinical.estimates import STATISTICS  # noqa: E402
from dapdag.evaluate.clinical.influences import c_statistic  # noqa: E402
from dapdag.evaluate.clinical.site import (  # noqa: E402
    newcombe,
    paired_difference,
    site_statistics,
)


def events(n=400, seed=0, strength=1.3, shift=0.4):
    """Outcomes whose true log odds are shift + strength * logit of the prediction."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.0, n)
    y = rng.random(n) < 1 / (1 + np.exp(-(shift + strength * z)))
    return y.astype(float), 1 / (1 + np.exp(-z))


def interval(found, name):
    return found[name].interval(STATISTICS[name].scale)


class TestEvents:
    y, p = events()
    found = site_statistics(y, p, "classification", threshold=0.3)

    def test_values_are_those_of_scikit_learn(self):
        assert self.found["c_statistic"].value == pytest.approx(roc_auc_score(self.y, self.p))
        assert self.found["brier"].value == pytest.approx(brier_score_loss(self.y, self.p))
        assert self.found["log_loss"].value == pytest.approx(log_loss(self.y, self.p))
        assert self.found["scaled_brier"].value == pytest.approx(r2_score(self.y, self.p))

    def test_delong_is_that_of_statsmodels(self):
        there = rank_compare_2indep(self.p[self.y == 1], self.p[self.y == 0], use_t=False)
        c = self.found["c_statistic"]
        raw = c.standard_error * c.value * (1 - c.value)
        assert raw == pytest.approx(np.sqrt(there.var_prob), rel=1e-6)

    def test_delong_worked_by_hand(self):
        # Of the 6 pairs 5 are in order and one is tied: 5.5 / 6. Placements of the events
        # 1, 1, 0.75 and of the others 1, 5/6 (variances 1/48 and 1/72).
        y = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
        p = np.array([0.9, 0.8, 0.5, 0.2, 0.5])
        found = c_statistic(y, p)
        assert found.value == pytest.approx(11 / 12)
        assert found.standard_error() == pytest.approx(np.sqrt(1 / 48 / 3 + 1 / 72 / 2))

    def test_interval_of_the_c_statistic_is_on_the_logit_scale(self):
        there = rank_compare_2indep(self.p[self.y == 1], self.p[self.y == 0], use_t=False)
        c, error = there.prob1, np.sqrt(there.var_prob)
        ends = logit(np.array([c])) + np.array([-1, 1]) * 1.959964 * error / (c * (1 - c))
        assert interval(self.found, "c_statistic") == pytest.approx(
            tuple(1 / (1 + np.exp(-ends))), abs=1e-4
        )

    def test_standard_errors_of_means(self):
        losses = DescrStatsW((self.p - self.y) ** 2)
        brier = self.found["brier"]
        assert brier.standard_error * brier.value == pytest.approx(losses.std_mean, rel=1e-6)
        treated = self.p >= 0.3
        worth = np.where(treated, np.where(self.y == 1, 1, -0.3 / 0.7), 0.0)
        benefit = DescrStatsW(worth)
        assert self.found["net_benefit"].value == pytest.approx(benefit.mean)
        assert interval(self.found, "net_benefit") == pytest.approx(benefit.zconfint_mean())

    def test_calibration_is_logistic_regression(self):
        z = logit(self.p)[:, None]
        plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(z, self.y)
        assert self.found["calibration_slope"].value == pytest.approx(plain.coef_[0, 0], abs=1e-4)
        intercept = self.found["calibration_in_the_large"].value
        moved = 1 / (1 + np.exp(-(z[:, 0] + intercept)))
        # The likelihood's equation: expected and observed numbers agree.
        assert moved.sum() == pytest.approx(self.y.sum(), abs=1e-4)
        weights = moved * (1 - moved)
        assert self.found["calibration_in_the_large"].standard_error == pytest.approx(
            1 / np.sqrt(weights.sum()), abs=1e-6
        )
        # They were made with the intercept 0.4 and the slope 1.3.
        low, high = interval(self.found, "calibration_slope")
        assert low < 1.3 < high

    def test_observed_to_expected(self):
        y, p = np.repeat([1.0, 0.0], [30, 70]), np.full(100, 0.2)
        found = site_statistics(y, p, "classification", 0.5)
        # O:E = 30/20; log standard error sqrt((1 - 0.3) / 30) = 0.15275.
        assert found["oe_ratio"].value == pytest.approx(1.5)
        assert interval(found, "oe_ratio") == pytest.approx((1.1119, 2.0235), abs=1e-4)

    def test_equal_predictions(self):
        found = site_statistics(self.y, np.full(400, 0.3), "classification", 0.5)
        assert found["c_statistic"].value == 0.5
        assert np.isnan(found["calibration_slope"].value)
        assert found["calibration_slope"].note == "all predictions are equal"
        assert np.isfinite(found["calibration_in_the_large"].value)

    def test_separated_outcomes_have_an_interval(self):
        y = np.repeat([0.0, 1.0], 10)
        p = np.linspace(0.1, 0.9, 20)
        found = site_statistics(y, p, "classification", 0.5)
        low, high = interval(found, "c_statistic")
        # Newcombe's lower limit x: 1 - x is 1.96 standard errors at x.
        assert low == pytest.approx(1 - 1.959964 * newcombe(low, 10, 10), abs=1e-4)
        assert found["c_statistic"].value == 1.0 and 0.75 < low < 0.995 < high <= 1
        assert "half a pair" in found["c_statistic"].note
        assert "no finite solution" in found["calibration_slope"].note

    @pytest.mark.parametrize("outcome, word", [(0.0, "no row"), (1.0, "every row")])
    def test_one_outcome_only(self, outcome, word):
        found = site_statistics(
            np.full(20, outcome), np.linspace(0.2, 0.6, 20), "classification", 0.5
        )
        assert np.isnan(found["c_statistic"].value)
        assert "same in all rows" in found["c_statistic"].note
        low, high = interval(found, "oe_ratio")
        assert word in found["oe_ratio"].note and 0 <= low <= found["oe_ratio"].value <= high

    def test_newcombe_agrees_with_delong_on_normal_scores(self):
        rng = np.random.default_rng(1)
        y = np.repeat([0.0, 1.0], 2000)
        p = 1 / (1 + np.exp(-(rng.normal(size=4000) + y)))
        found = c_statistic(y, p)
        assert newcombe(found.value, 2000, 2000) == pytest.approx(found.standard_error(), rel=0.05)


class TestNumbers:
    rng = np.random.default_rng(3)
    p = rng.normal(10, 2, 150)
    y = 1.0 + 0.8 * p + rng.normal(0, 1, 150)
    found = site_statistics(y, p, "regression", np.nan)

    def test_values(self):
        assert self.found["r2"].value == pytest.approx(r2_score(self.y, self.p))
        assert self.found["rmse"].value == pytest.approx(root_mean_squared_error(self.y, self.p))

    def test_calibration_is_linear_regression(self):
        line = linregress(self.p, self.y)
        assert self.found["calibration_slope"].value == pytest.approx(line.slope)
        assert self.found["calibration_slope"].standard_error == pytest.approx(line.stderr)
        error = DescrStatsW(self.y - self.p)
        assert self.found["calibration_in_the_large"].value == pytest.approx(error.mean)
        assert self.found["calibration_in_the_large"].standard_error == pytest.approx(
            error.std_mean
        )

    @pytest.mark.parametrize(
        "name, function", [("r2", r2_score), ("rmse", root_mean_squared_error)]
    )
    def test_standard_errors_are_those_of_the_bootstrap(self, name, function):
        rng = np.random.default_rng(0)
        draws = rng.integers(150, size=(2000, 150))
        values = np.array([function(self.y[d], self.p[d]) for d in draws])
        scale = STATISTICS[name].scale
        spread = np.std([scale.forward(v) for v in values])
        assert self.found[name].standard_error == pytest.approx(spread, rel=0.08)

    def test_exact_predictions(self):
        found = site_statistics(self.y, self.y.copy(), "regression", np.nan)
        assert found["r2"].value == 1 and found["rmse"].value == 0
        assert found["r2"].note == "the predictions are exact"


class TestPairedDifferences:
    def test_correlated_c_statistics(self):
        y, p = events(seed=4)
        q = 1 / (1 + np.exp(-(logit(p) + np.random.default_rng(0).normal(0, 0.7, len(p)))))
        found = paired_difference("c_statistic", y, p, q, 0.5)
        assert found.value == pytest.approx(roc_auc_score(y, p) - roc_auc_score(y, q))
        # DeLong's covariance from placements counted pair by pair.
        event = y == 1
        placed = {}
        for name, score in (("p", p), ("q", q)):
            a, b = score[event][:, None], score[~event][None, :]
            wins = (a > b) + 0.5 * (a == b)
            placed[name] = (wins.mean(1), wins.mean(0))
        variance = sum(
            np.cov(placed["p"][k], placed["q"][k])[[0, 1, 0], [0, 1, 1]]
            @ [1, 1, -2]
            / len(placed["p"][k])
            for k in (0, 1)
        )
        assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-6)

    def test_of_means_is_the_paired_test(self):
        y, p = events(seed=5)
        found = paired_difference("brier", y, p, np.full(len(y), y.mean()), 0.5)
        there = DescrStatsW((p - y) ** 2 - (y.mean() - y) ** 2)
        assert found.value == pytest.approx(there.mean)
        assert found.standard_error == pytest.approx(there.std_mean)

    def test_of_one_method_with_itself(self):
        y, p = events()
        found = paired_difference("log_loss", y, p, p, 0.5)
        assert found.value == 0 and found.standard_error == 0


class TestCurve:
    def test_band_holds_the_truth(self):
        inside, errors = [], []
        for seed in range(30):
            curve = calibration_curve(*events(n=1500, seed=seed), binary=True)
            z = logit(curve["predicted"].to_numpy())
            truth = 1 / (1 + np.exp(-(0.4 + 1.3 * z)))
            inside.append(((curve["low"] <= truth) & (truth <= curve["high"])).mean())
            errors.append(np.abs(curve["observed"] - truth).mean())
            assert curve["low"].gt(0).all() and curve["high"].lt(1).all()
        assert 0.9 < np.mean(inside) < 0.99
        assert np.mean(errors) < 0.03

    def test_of_few_rows_is_the_logistic_line(self):
        y, p = events(n=40, seed=1)
        curve = calibration_curve(y, p, binary=True)
        z, observed = logit(curve["predicted"].to_numpy()), logit(curve["observed"].to_numpy())
        steps = np.diff(observed) / np.diff(z)
        found = site_statistics(y, p, "classification", 0.5)
        assert steps == pytest.approx(np.full(60, found["calibration_slope"].value), abs=1e-6)

    def test_of_numbers_follows_a_bend(self):
        rng = np.random.default_rng(0)
        p = rng.uniform(-2, 2, 800)
        y = p**2 + rng.normal(0, 0.3, 800)
        curve = calibration_curve(y, p, binary=False)
        assert np.abs(curve["observed"] - curve["predicted"] ** 2).max() < 0.5

    def test_needs_outcomes_and_predictions_that_differ(self):
        with pytest.raises(ValueError, match="too few rows"):
            calibration_curve(np.zeros(20), np.linspace(0.1, 0.9, 20), binary=True)
        with pytest.raises(ValueError, match="all predictions are equal"):
            calibration_curve(np.repeat([0.0, 1.0], 10), np.full(20, 0.5), binary=True)

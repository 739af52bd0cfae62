"""Standard errors, intervals and the smooth curve against other implementations.

The infinitesimal jackknife (Efron 1982) needs nothing but a weighted version of a statistic, which
scikit-learn has: a row's influence is the derivative of the statistic by the weight of the row.
"""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, r2_score, root_mean_squared_error

sm = pytest.importorskip("statsmodels.api", reason="the extra 'clinical' is not installed")

from dapdag.evaluate.clinical.calibration import calibration_curve, logit  # noqa: E402
from dapdag.evaluate.clinical.estimates import STATISTICS  # noqa: E402
from dapdag.evaluate.clinical.site import paired_difference, site_statistics  # noqa: E402

THRESHOLD = 0.3
N = 160


def worth(y, p, sample_weight):
    """Net benefit as a weighted mean over rows."""
    row = np.where(p >= THRESHOLD, np.where(y == 1, 1, -THRESHOLD / (1 - THRESHOLD)), 0.0)
    return np.average(row, weights=sample_weight)


EVENTS = {
    "brier": brier_score_loss,
    "scaled_brier": r2_score,
    "log_loss": log_loss,
    "net_benefit": worth,
}
NUMBERS = {"r2": r2_score, "rmse": root_mean_squared_error}
CASES = [
    *((name, "classification", function) for name, function in EVENTS.items()),
    *((name, "regression", function) for name, function in NUMBERS.items()),
]


def events(n=N, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.0, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.4 + 1.3 * z)))).astype(float)
    rival = 1 / (1 + np.exp(-(z + rng.normal(0, 0.8, n))))
    return y, 1 / (1 + np.exp(-z)), rival


def numbers(n=N):
    rng = np.random.default_rng(3)
    p = rng.normal(10, 2, n)
    y = 1.0 + 0.8 * p + rng.normal(0, 1, n)
    return y, p, p + rng.normal(0, 1.5, n)


def influences(statistic):
    """Derivatives of a function of the rows' weights, at equal weights that sum to their number."""
    step, ones = 1e-4, np.ones(N)
    moved = [(statistic(ones + step * e) - statistic(ones - step * e)) for e in np.eye(N)]
    return N * np.array(moved) / (2 * step)


def jackknife(statistic):
    return influences(statistic).std(ddof=1) / np.sqrt(N)


@pytest.mark.parametrize("name, task, function", CASES, ids=[case[0] for case in CASES])
class TestInfinitesimalJackknife:
    def test_standard_error_and_interval(self, name, task, function):
        y, p, _ = events() if task == "classification" else numbers()
        found = site_statistics(y, p, task, THRESHOLD)[name]
        scale = STATISTICS[name].scale
        value = function(y, p, sample_weight=np.ones(N))
        error = jackknife(lambda w: scale.forward(function(y, p, sample_weight=w)))
        assert found.value == pytest.approx(value, abs=1e-6)
        assert found.standard_error == pytest.approx(error, abs=1e-4)
        ends = sorted(scale.backward(scale.forward(value) + z * error) for z in (-1.96, 1.96))
        assert found.interval(scale) == pytest.approx(tuple(ends), abs=1e-4)

    def test_paired_difference(self, name, task, function):
        y, p, rival = events() if task == "classification" else numbers()
        found = paired_difference(name, y, p, rival, THRESHOLD)
        ones = np.ones(N)
        error = jackknife(
            lambda w: function(y, p, sample_weight=w) - function(y, rival, sample_weight=w)
        )
        gap = function(y, p, sample_weight=ones) - function(y, rival, sample_weight=ones)
        assert found.value == pytest.approx(gap, abs=1e-6)
        assert found.standard_error == pytest.approx(error, abs=1e-4)


class TestCalibration:
    y, p, _ = events(400)
    found = site_statistics(y, p, "classification", THRESHOLD)

    def test_slope_is_that_of_a_logistic_regression(self):
        there = sm.Logit(self.y, sm.add_constant(logit(self.p))).fit(disp=0, tol=1e-12)
        ours = self.found["calibration_slope"]
        assert ours.value == pytest.approx(there.params[1], abs=1e-6)
        assert ours.standard_error == pytest.approx(there.bse[1], abs=1e-6)
        ends = ours.interval(STATISTICS["calibration_slope"].scale)
        assert ends == pytest.approx(tuple(there.conf_int()[1]), abs=1e-4)

    def test_intercept_is_that_of_a_regression_with_an_offset(self):
        there = sm.Logit(self.y, np.ones(400), offset=logit(self.p)).fit(disp=0, tol=1e-12)
        ours = self.found["calibration_in_the_large"]
        assert (ours.value, ours.standard_error) == pytest.approx(
            (there.params[0], there.bse[0]), abs=1e-6
        )
        ends = ours.interval(STATISTICS["calibration_in_the_large"].scale)
        assert ends == pytest.approx(tuple(there.conf_int()[0]), abs=1e-4)

    def test_curve_is_a_restricted_cubic_spline(self):
        # Harrell (2015), section 2.4.5: truncated powers that are linear beyond the outer knots,
        # at the quantiles of his table 2.3 (5 knots from 500 rows of the rarer outcome, here 4).
        knots = np.quantile(logit(self.p), (0.05, 0.35, 0.65, 0.95))

        def design(z):
            cube = np.maximum(z[:, None] - knots, 0) ** 3
            last, before, width = cube[:, -1], cube[:, -2], knots[-1] - knots[-2]
            terms = [
                cube[:, j]
                - before * (knots[-1] - knots[j]) / width
                + last * (knots[-2] - knots[j]) / width
                for j in range(len(knots) - 2)
            ]
            return np.column_stack([np.ones(len(z)), z, *terms])

        there = sm.Logit(self.y, design(logit(self.p))).fit(disp=0, tol=1e-12)
        curve = calibration_curve(self.y, self.p, binary=True)
        at = design(logit(curve["predicted"].to_numpy()))
        middle = at @ there.params
        half = 1.959964 * np.sqrt(np.einsum("ij,jk,ik->i", at, there.cov_params(), at))
        for name, line in (("observed", middle), ("low", middle - half), ("high", middle + half)):
            assert curve[name].to_numpy() == pytest.approx(1 / (1 + np.exp(-line)), abs=1e-4)

"""Meta-analysis over sites, and decision curves, against other implementations and publications."""

import warnings

import numpy as np
import pytest

pytest.importorskip("meta_analyze", reason="the extra 'clinical' is not installed")

from dapdag.evaluate.clinical.decision import decision_curve, useful_thresholds
from dapdag.evaluate.clinical.pooling import pool
from dapdag.evaluate.clinical.scales import SCALES

IDENTITY = SCALES["identity"]
# Thirteen trials of BCG vaccination against tuberculosis (Colditz et al. 1994): cases and others
# among the vaccinated, cases and others among the controls.
BCG = np.array(
    [
        *([4, 119, 11, 128], [6, 300, 29, 274], [3, 228, 11, 209], [62, 13536, 248, 12619]),
        *([33, 5036, 47, 5761], [180, 1361, 372, 1079], [8, 2537, 10, 619]),
        *([505, 87886, 499, 87892], [29, 7470, 45, 7232], [17, 1699, 65, 1600]),
        *([186, 50448, 141, 27197], [5, 2493, 3, 2338], [27, 16886, 29, 17825]),
    ],
    dtype=float,
)


def bcg():
    """Log relative risks and their standard errors."""
    a, b, c, d = BCG.T
    effect = np.log((a / (a + b)) / (c / (c + d)))
    return effect, np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))


def test_published_example():
    # Viechtbauer (2010), Journal of Statistical Software 36(3): REML estimate of these trials;
    # the Knapp-Hartung interval is that of metafor's rma(..., test = "knha").
    found = pool(*bcg(), IDENTITY)
    assert found.estimate == pytest.approx(-0.7145, abs=1e-4)
    assert found.tau2 == pytest.approx(0.3132, abs=1e-4)
    assert found.i2 == pytest.approx(0.9222, abs=1e-4)
    assert (found.low, found.high) == pytest.approx((-1.1084, -0.3206), abs=1e-4)
    # Higgins, Thompson and Spiegelhalter, t with k - 2 degrees of freedom, worked by hand: the
    # standard error is 0.39385 / 2.17881 = 0.18076; -0.7145 ± 2.20099 (0.31324 + 0.18076²)^½.
    assert found.prediction_low == pytest.approx(-2.0090, abs=1e-4)
    assert found.prediction_high == pytest.approx(0.5800, abs=1e-4)
    assert found.sites == 13


@pytest.mark.parametrize("seed", range(5))
def test_pymare_finds_the_same(seed):
    with warnings.catch_warnings():
        # It leaves a file open while it is imported.
        warnings.simplefilter("ignore", ResourceWarning)
        pymare = pytest.importorskip("pymare")
        from pymare.estimators import VarianceBasedLikelihoodEstimator
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.05, 0.4, 4 + 3 * seed)
    values = rng.normal(0.5, 0.1 * seed, len(errors)) + errors * rng.normal(size=len(errors))
    found = pool(values, errors, IDENTITY)
    data = pymare.Dataset(y=values[:, None], v=errors[:, None] ** 2)
    there = VarianceBasedLikelihoodEstimator(method="REML").fit_dataset(data).summary()
    fixed = there.get_fe_stats()
    assert found.tau2 == pytest.approx(float(np.squeeze(there.tau2)), abs=1e-4)
    for ours, theirs in (("estimate", "est"), ("low", "ci_l"), ("high", "ci_u")):
        assert getattr(found, ours) == pytest.approx(float(np.squeeze(fixed[theirs])), abs=1e-4)


def test_scales_come_back_in_order():
    values, errors = np.array([-0.5, -0.2, -0.9, -0.4]), np.full(4, 0.1)
    plain = pool(values, errors, IDENTITY)
    ratio = pool(values, errors, SCALES["log"])
    assert ratio.estimate == pytest.approx(np.exp(plain.estimate))
    explained = pool(values, errors, SCALES["log(1 − x)"])
    assert explained.estimate == pytest.approx(1 - np.exp(plain.estimate))
    assert explained.prediction_low < explained.low < explained.estimate < explained.high
    assert explained.high == pytest.approx(1 - np.exp(plain.low))


def test_few_sites():
    none = pool(np.array([np.nan]), np.array([np.nan]), IDENTITY)
    one = pool(np.array([0.4, np.nan]), np.array([0.1, np.nan]), IDENTITY)
    two = pool(np.array([0.4, 0.6]), np.array([0.1, 0.1]), IDENTITY)
    assert none.sites == 0 and np.isnan(none.estimate)
    assert one.sites == 1 and one.estimate == 0.4 and np.isnan(one.low)
    assert two.sites == 2 and two.estimate == pytest.approx(0.5) and np.isnan(two.prediction_low)


class TestDecisionCurve:
    # Three of four events and one of four others are at 0.5 or above.
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=float)
    p = np.array([0.9, 0.8, 0.6, 0.3, 0.7, 0.2, 0.2, 0.1])

    def test_worked_by_hand(self):
        curve = decision_curve(self.y, self.p, (0.25, 0.5, 0.75)).set_index("threshold")
        assert curve.loc[0.5, "net_benefit"] == pytest.approx(3 / 8 - 1 / 8)
        assert curve.loc[0.25, "net_benefit"] == pytest.approx(4 / 8 - 1 / 8 / 3)
        assert curve.loc[0.75, "net_benefit"] == pytest.approx(2 / 8)
        assert curve["treat_all"].tolist() == pytest.approx([1 / 2 - 1 / 6, 0, 1 / 2 - 3 / 2])
        assert (curve["treat_none"] == 0).all()
        low, high = curve.loc[0.5, ["low", "high"]]
        assert low < 0.25 < high and (low + high) / 2 == pytest.approx(0.25)

    def test_where_it_is_useful(self):
        curve = decision_curve(self.y, self.p, (0.05, 0.25, 0.5, 0.75, 0.95))
        # At 0.05 everyone is treated, at 0.95 no one.
        assert useful_thresholds(curve) == (0.25, 0.75)
        assert useful_thresholds(decision_curve(self.y, np.full(8, 0.5))) is None
        # One threshold alone, where the curve crosses by chance, is no range.
        assert useful_thresholds(decision_curve(self.y, self.p, (0.05, 0.5, 0.95))) is None

    def test_needs_both_outcomes(self):
        with pytest.raises(ValueError, match="same in all rows"):
            decision_curve(np.zeros(8), self.p)


def test_the_message_says_how_to_install(monkeypatch):
    import sys

    from dapdag.evaluate.clinical.extra import clinical

    monkeypatch.setitem(sys.modules, "meta_analyze", None)
    with pytest.raises(ValueError, match=r'pip install "dapdag\[clinical\]"'):
        clinical("meta_analyze")

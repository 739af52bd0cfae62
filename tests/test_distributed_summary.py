"""Summaries of sites: they add up, hold no rows, and make the site known."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_site_model import answers, case, classes, numbers  # noqa: F401 - fixtures

import dapdag
from dapdag.distributed import SiteSummary, adapt, describe, noise, read_summary, summarise
from dapdag.inference.row_evidence import row_evidence


def parts_of(est, X):
    return [summarise(est, X[rows]) for rows in (slice(0, 30), slice(30, 75), slice(75, None))]


def assert_same(one, other, names=None):
    assert one.totals.keys() == other.totals.keys() and one.n_rows == other.n_rows
    for name in names or one.totals:
        assert_allclose(one.totals[name], other.totals[name], rtol=1e-5, atol=1e-5, err_msg=name)


def test_parts_of_a_site_add_up_to_the_whole_in_any_order(case):  # noqa: F811
    est, X, _ = case
    a, b, c = parts_of(est, X)
    whole = summarise(est, X)
    assert_same((a + b) + c, whole, ["excess", "weighted", "values", "first", "second"])
    assert_same((a + b) + c, a + (b + c))
    assert_same(c + a + b, sum([a, b, c]))


def test_a_summary_alone_makes_the_site_known(case):  # noqa: F811
    est, X, _ = case
    here, there = est.at(X), adapt(est, SiteSummary.from_json(summarise(est, X).to_json()))
    assert_allclose(answers(there, X[:7]), answers(here, X[:7]), rtol=1e-5)
    assert_allclose(there.environment_.astype(float), here.environment_.astype(float), rtol=1e-5)
    assert_allclose(there.expert_weights_, here.expert_weights_, rtol=1e-6)
    one, other = there.mechanisms_, here.mechanisms_
    assert list(one["role"]) == list(other["role"]) and list(one.index) == list(other.index)
    assert_allclose(one["shift"].astype(float), other["shift"].astype(float), rtol=1e-5)
    assert_allclose(one["effect_sd"].astype(float), other["effect_sd"].astype(float), rtol=1e-5)


def test_parts_know_the_environment_of_the_whole_site(case):  # noqa: F811
    est, X, _ = case
    whole = sum(parts_of(est, X))
    centre, part = adapt(est, whole), adapt(est, whole, X[:30])
    found = est.environment(X)
    assert centre.n_rows_ == part.n_rows_ == len(X)
    # beyond the sources E is re-estimated on rows, of which each part has its own
    error = {"rtol": 0.1} if whole.totals["env_moved"].any() else {"atol": 1e-4}
    assert_allclose(centre.environment_["E1_mean"], found["E1_mean"], **error)
    assert_allclose(part.environment_["E1_mean"], found["E1_mean"], **error)
    # the predictions at the centre follow those of one who has all rows
    assert np.corrcoef(answers(centre, X), answers(est.at(X), X))[0, 1] > 0.98
    with pytest.raises(ValueError, match="it must include them"):
        adapt(est, summarise(est, X[:40]), X)


def test_a_site_without_rows_is_saved_and_grows(numbers, tmp_path):  # noqa: F811
    est, X, _ = numbers
    site = adapt(est, summarise(est, X))
    site.save(tmp_path / "site.dapdag")
    again = dapdag.load(tmp_path / "site.dapdag")
    assert_array_equal(again.predict(X), site.predict(X))
    assert again.mechanisms_.equals(site.mechanisms_)
    assert not len(again.known_.evidence.kept.key)
    with pytest.raises(ValueError, match="no row of this site is here"):
        again.expected_gain(10)
    again.update(X[:20])
    assert again.n_rows_ == len(X) + 20 and np.isfinite(again.predict(X)).all()


def test_no_cell_of_a_row_is_in_the_file(numbers, tmp_path):  # noqa: F811
    est, X, _ = numbers
    summarise(est, X).save(tmp_path / "site.summary")
    text = (tmp_path / "site.summary").read_text()
    assert len(text) < 20_000
    held = {
        float(v) for total in json.loads(text)["totals"].values() for v in np.ravel(total).tolist()
    }
    assert not held & set(X.to_numpy().ravel().tolist())
    assert_same(read_summary(tmp_path / "site.summary"), summarise(est, X))


def test_few_rows_and_few_values_are_not_told(classes):  # noqa: F811
    est, X, _ = classes
    with pytest.raises(ValueError, match="20 rows, and a summary of fewer than 30"):
        summarise(est, X[:20])
    with pytest.raises(ValueError, match="5 rows or more"):
        summarise(est, X[:4], min_rows=2)
    few = X[:40].assign(age=[*X["age"].dropna()[:4], *[np.nan] * 36])
    found = summarise(est, few)
    assert found.totals["values"][0] == 0 and found.totals["first"][0] == 0
    table = describe(est, found)
    assert np.isnan(table.loc[("age", ""), "mean"])
    assert table.loc[("ward", "a"), "mean"] == pytest.approx((few["ward"] == "a").mean())


def test_describe_tells_means_in_the_units_of_the_table(numbers):  # noqa: F811
    est, X, _ = numbers
    table = describe(est, summarise(est, X))
    column = X.columns[0]
    assert table.loc[(column, ""), "mean"] == pytest.approx(X[column].mean())
    assert table.loc[(column, ""), "sd"] == pytest.approx(X[column].std(ddof=0))


def test_summaries_of_another_model_and_damaged_ones_are_refused(numbers, classes):  # noqa: F811
    (one, X, _), (other, Z, _) = numbers, classes
    a, b = summarise(one, X), summarise(other, Z)
    with pytest.raises(ValueError, match="different models"):
        a + b
    with pytest.raises(ValueError, match="of another model"):
        adapt(one, b)
    coded = json.loads(a.to_json())
    for change, words in (
        ({"format": "x"}, "no summary"),
        ({"version": 9}, "version 9"),
        ({"rows": -1}, "damaged"),
        ({"totals": {**coded["totals"], "excess": [[1, "x"]]}}, "damaged"),
    ):
        with pytest.raises(ValueError, match=words):
            SiteSummary.from_json(json.dumps(coded | change))
    short = json.dumps(coded | {"totals": {**coded["totals"], "excess": [1.0]}})
    with pytest.raises(ValueError, match="'excess' is not of the shape"):
        adapt(one, SiteSummary.from_json(short))


def recovered(est, difference):
    """What the difference of two summaries by one row says about that row's numbers."""
    middle, half = np.array(
        [noise_range(v) for v in est.fitted_.model.table.features], dtype=float
    ).T
    return middle + half * difference


def noise_range(variable):
    from dapdag.distributed.moments import middle_and_half

    return middle_and_half(variable)


def test_attack_two_summaries_that_differ_by_a_row_give_it_away(numbers):  # noqa: F811
    """And noise calibrated to ε prevents it: the attacker does no better than by guessing."""
    est, X, _ = numbers
    row = X.iloc[-1].to_numpy(dtype=float)
    before, after = summarise(est, X[:-1]), summarise(est, X)
    found = recovered(est, after.totals["first"] - before.totals["first"])
    assert_allclose(found, row, rtol=1e-6, atol=1e-6)

    error = []
    for seed in range(20):
        noisy = [
            summarise(est, part, epsilon=1.0, random_state=[seed, k])
            for k, part in enumerate((X[:-1], X))
        ]
        found = recovered(est, noisy[1].totals["first"] - noisy[0].totals["first"])
        error.append((found - row) / X.to_numpy().std(0))
    # guessing the mean errs by one standard deviation
    assert np.sqrt(np.mean(np.square(error))) > 10


def test_a_batch_gives_away_its_mean_only(numbers):  # noqa: F811
    est, X, _ = numbers
    batch = summarise(est, X[60:])
    found = recovered(est, batch.totals["first"] / batch.n_rows)
    assert_allclose(found, X[60:].to_numpy().mean(0), rtol=1e-6, atol=1e-6)
    rows = X[60:].to_numpy()
    assert np.sqrt((((found - rows) / rows.std(0)) ** 2).mean()) == pytest.approx(1.0)


def test_environments_from_noisy_sums_have_honest_errors(numbers):  # noqa: F811
    est, X, _ = numbers
    whole = est.at(X).environment_
    found = [
        adapt(est, summarise(est, X, epsilon=2.0, random_state=seed)).environment_
        for seed in range(20)
    ]
    off = [(one["E1_mean"] - whole["E1_mean"]).iloc[0] for one in found]
    sd = np.mean([one["E1_sd"].iloc[0] for one in found])
    assert sd > 2 * whole["E1_sd"].iloc[0]
    assert np.std(off) < 2 * sd
    site = adapt(est, summarise(est, X, epsilon=2.0, random_state=0))
    assert np.isfinite(site.predict(X)).all() and not len(site.mechanisms_)


def test_one_row_changes_bounded_sums_by_no_more_than_the_bound(numbers, monkeypatch):  # noqa: F811
    """The noise is calibrated to this: a row far outside, and one beyond all limits of numbers."""
    est, X, _ = numbers
    monkeypatch.setattr(noise, "noise_multiplier", lambda *_: 0.0)
    model = est.fitted_.model
    scale, bound = noise._reference_scale(model)
    far = X.copy()
    far.iloc[0] = 1e12
    rng = np.random.default_rng(0)
    a, b = (noise.noisy_totals(model, table, 1.0, 1e-6, rng) for table in (X, far))
    encoder = np.stack([a["excess"] - b["excess"], a["weighted"] - b["weighted"]]) / scale
    assert np.linalg.norm(encoder) <= 2 * bound
    columns = np.concatenate([a[name] - b[name] for name in ("values", "first", "second")])
    assert np.linalg.norm(columns) <= 2 * np.sqrt(3 * X.shape[1])
    # most rows are not shortened: the sums remain those of the site
    plain = summarise(est, X).totals
    assert_allclose(a["weighted"], plain["weighted"], rtol=0.2)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_noise_is_the_least_that_keeps_the_guarantee(epsilon):
    """P(loss > ε) bounds by Balle and Wang, checked by integrating the two densities."""
    sigma = noise.noise_multiplier(epsilon, 1e-5)
    x = np.linspace(-12 * sigma, 1 + 12 * sigma, 400_001)
    p, q = (np.exp(-((x - m) ** 2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)) for m in (1, 0))
    spent = np.trapezoid(np.maximum(p - np.exp(epsilon) * q, 0), x)
    assert spent == pytest.approx(1e-5, rel=1e-3)


def test_the_rows_evidence_adds_up_to_the_summary(numbers):  # noqa: F811
    est, X, _ = numbers
    from dapdag.data.layout import encode

    model = est.fitted_.model
    found = row_evidence(model, encode(model.table, *model.table.encode(X), None))
    assert_allclose(found.weighted.sum(1), summarise(est, X).totals["weighted"], rtol=1e-4)

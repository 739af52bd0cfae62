"""Rows that count differently, and rows that belong together."""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from training_cases import A, assembled

from dapdag import DAPDAGClassifier, DAPDAGRegressor, load
from dapdag.baselines.pooled.estimators import PracticeRegressor
from dapdag.data.blocks import make_blocks, split_by_group
from dapdag.data.layout import Encoded, take
from dapdag.data.sample import drawn_by_weight, effective_rows, learn_table
from dapdag.datasets import make_classification_domains, make_regression_domains
from dapdag.evaluate import leave_one_domain_out
from dapdag.evaluate.metrics import class_scores, number_scores
from dapdag.evaluate.prediction import ClassPrediction, NumberPrediction
from dapdag.model import objective as obj
from dapdag.warnings import DataWarning, MethodWarning

QUICK = {"max_epochs": 12, "hidden": 8, "n_predictors": 2, "n_members": 1}


@pytest.fixture(scope="module")
def data():
    return make_regression_domains(n_domains=4, n_samples=60, random_state=1)


@pytest.fixture(scope="module")
def split(data):
    return data.leave_out(3)


@pytest.fixture(scope="module")
def weight(split):
    return np.random.default_rng(0).integers(0, 4, len(split.y)).astype(float)


@pytest.fixture(scope="module")
def weighted(split, weight):
    model = DAPDAGRegressor(**QUICK)
    return model.fit(split.X, split.y, split.sample_domain, sample_weight=weight)


def test_a_row_of_weight_0_is_no_row(split, weight, weighted):
    keep = weight > 0
    alone = DAPDAGRegressor(**QUICK).fit(
        *(split.X[keep], split.y[keep], split.sample_domain[keep]), sample_weight=7 * weight[keep]
    )
    assert np.array_equal(alone.predict(split.X_target), weighted.predict(split.X_target))
    assert alone.record_.rows == keep.sum()


def test_equal_weights_are_the_same_as_none(split):
    same = np.full(len(split.y), 2.5)
    found = DAPDAGRegressor()._training_sample(split.X, split.y, split.sample_domain, same)
    assert found.weight is None


def test_weights_move_the_prediction_towards_the_rows_that_count(split):
    """Half of the labels are 0, half 4, whatever the features: the weighted mean is predicted."""
    kind = np.random.default_rng(0).permutation(len(split.y)) % 2
    weight = np.where(kind == 1, 9.0, 1.0) * (1 + 1e-3 * split.X.iloc[:, 0].abs())
    model = DAPDAGRegressor(**{**QUICK, "max_epochs": 30})
    model.fit(split.X, pd.Series(4.0 * kind, name="Y"), split.sample_domain, sample_weight=weight)
    assert model.predict(split.X_target).mean() == pytest.approx(3.6, abs=0.4)


def test_classes_count_by_their_weights():
    data = make_classification_domains(n_domains=3, n_samples=40, random_state=0)
    weight = np.where(data.y == data.y.max(), 3.0, 1.0)
    model = DAPDAGClassifier(**QUICK)
    given = model._training_sample(data.X, data.y, data.sample_domain, weight)
    plain = model._training_sample(data.X, data.y, data.sample_domain)
    odds = [np.divide(*learn_table(s).label.shares[::-1]) for s in (given, plain)]
    assert odds[0] == pytest.approx(3 * odds[1])


def test_the_loss_of_integer_weights_is_that_of_repeated_rows():
    problem, trainer, _ = assembled("structure", seeds=(A,))
    one = jax.tree.map(lambda a: a[0], problem)
    rows = 12
    values, observed, _ = one.blocks.window(jnp.int32(0), 0, rows)
    count = np.tile([1, 2, 3], rows // 3)
    often = np.repeat(np.arange(rows), count)
    network = trainer.network(trainer.start(jax.random.key(0)).vector)
    losses = [
        trainer.validation_loss(one, network, obj.Batch(v, o, present))[0]
        for v, o, present in (
            (values, observed, count.astype(np.float32)),
            (values[often], observed[often], np.ones(len(often), dtype=np.float32)),
        )
    ]
    assert float(losses[0]) == pytest.approx(float(losses[1]), rel=1e-5)


def test_a_systematic_sample_has_the_weighted_mean_and_kishs_size():
    rng = np.random.default_rng(0)
    weight, value = rng.gamma(2.0, size=4000), rng.normal(size=4000)
    drawn = drawn_by_weight(weight)
    assert len(drawn) == round(effective_rows(weight)) < 4000
    expected = np.average(value + weight, weights=weight)
    assert (value + weight)[drawn].mean() == pytest.approx(expected, abs=0.05)
    assert drawn_by_weight(np.ones(10)).tolist() == list(range(10))
    assert len(drawn_by_weight(weight, most=100)) == 100


def test_a_domain_is_drawn_by_the_sum_of_its_weights():
    table = Encoded(np.zeros((30, 1), np.float32), np.ones((30, 1), np.float32))
    domain = np.repeat([0, 1], [10, 20])
    weight = np.where(domain == 0, 4.0, 1.0)
    blocks, _ = make_blocks([partial(take, table)], [domain], [0], 0.2, weights=[weight])
    np.testing.assert_allclose(np.asarray(blocks.mass)[0], [8 * 4.0, 16.0])
    np.testing.assert_allclose(np.asarray(blocks.valid_present)[0].sum(-1), [2 * 4.0, 4.0])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 2.0], r"one number per row: X has 180 rows, sample_weight has shape \(2,\)"),
        (np.r_[np.ones(179), -1], "negative in 1 row.*position 179"),
        (np.r_[np.nan, np.ones(179)], "missing.*position 0"),
        (np.r_[np.inf, np.ones(179)], "infinite in 1 row"),
        (np.zeros(180), "zero in every row"),
        (["much"] * 180, "must be numbers"),
    ],
)
def test_weights_that_are_none_are_refused(split, weight, message):
    with pytest.raises(ValueError, match=message):
        DAPDAGRegressor(**QUICK).fit(split.X, split.y, split.sample_domain, sample_weight=weight)


def test_a_site_of_weight_0_is_told_of(split):
    weight = (split.sample_domain != 1).astype(float)
    with pytest.warns(DataWarning, match="0 in every row of '1'"):
        found = DAPDAGRegressor()._training_sample(split.X, split.y, split.sample_domain, weight)
    assert found.source_names == (0, 2)


@pytest.mark.parametrize("seed", range(20))
def test_no_group_is_on_both_sides_of_a_split(seed):
    rng = np.random.default_rng(seed)
    n = 200
    domain = rng.integers(0, 4, n)
    group = rng.integers(0, 60, n)  # most have rows in several domains
    rows_of = [np.flatnonzero(domain == d) for d in range(4)]
    train, valid = split_by_group(rows_of, group, rng, 0.1)
    assert not set(group[np.concatenate(train)]) & set(group[np.concatenate(valid)])
    for rows, t, v in zip(rows_of, train, valid, strict=True):
        assert sorted([*t, *v]) == sorted(rows)
        assert 0 < len(v) <= 0.25 * len(rows)


def test_one_group_for_a_whole_domain_is_validated_on_its_training_rows():
    rows_of = [np.arange(20), np.arange(20, 60)]
    group = np.r_[np.zeros(20, int), 1 + np.arange(40) // 4]
    train, valid = split_by_group(rows_of, group, np.random.default_rng(0), 0.1)
    assert set(train[0]) == set(valid[0]) == set(range(20))
    assert len(valid[1]) == 4 and not set(train[1]) & set(valid[1])


def test_groups_reach_the_split_and_those_of_several_sites_are_told_of(split):
    patient = np.arange(len(split.y)) % 50
    with pytest.warns(DataWarning, match="50 of 50 groups have rows in several domains"):
        found = DAPDAGRegressor()._training_sample(
            split.X, split.y, split.sample_domain, None, patient
        )
    # in whatever order rows are kept, they keep their patient
    ages = split.X.iloc[:, 0].groupby(patient).sum()
    kept = found.X.iloc[:, 0].groupby(found.group).sum()
    np.testing.assert_allclose(kept.to_numpy(), ages.to_numpy())
    with pytest.raises(ValueError, match="groups is missing in 1 row"):
        DAPDAGRegressor().fit(split.X, split.y, split.sample_domain, groups=[None, *patient[1:]])
    with pytest.raises(ValueError, match="groups must hold one label per row"):
        DAPDAGRegressor().fit(split.X, split.y, split.sample_domain, groups=patient[1:])


def test_weights_are_routed_where_they_are_asked_for(split, weight, monkeypatch):
    seen = []

    def noted(self, X, y, sample_domain, sample_weight=None, groups=None):
        seen.append((len(X), sample_domain, sample_weight, groups))
        raise ValueError("enough")

    monkeypatch.setattr(DAPDAGRegressor, "_training_sample", noted)
    about = {"sample_domain": split.sample_domain, "sample_weight": weight}
    with config_context(enable_metadata_routing=True):
        model = DAPDAGRegressor().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        with pytest.raises(ValueError, match="enough"):
            make_pipeline(FunctionTransformer(), model).fit(split.X, split.y, **about)
        search = GridSearchCV(model, {"max_epochs": [12]}, cv=LeaveOneGroupOut(), refit=False)
        with pytest.raises(ValueError, match="enough"):
            search.fit(split.X, split.y, groups=split.sample_domain, **about)
    assert np.array_equal(seen[0][2], weight)
    rows, domain, found, groups = seen[1]
    assert rows == 120 == len(domain) == len(found) and groups is None


def test_scores_count_rows_by_their_weights(split, weighted):
    weight = np.random.default_rng(1).integers(0, 3, len(split.y_target))
    often = np.repeat(np.arange(len(weight)), weight)
    y = split.y_target.to_numpy()
    predicted = weighted.predict(split.X_target)
    error = y - predicted
    centre = np.average(y, weights=weight)
    r2 = 1 - (weight * error**2).sum() / (weight * (y - centre) ** 2).sum()
    assert weighted.score(split.X_target, y, sample_weight=weight) == pytest.approx(r2)
    std = np.full(len(y), 1.5)
    interval = np.column_stack([predicted - 1, predicted + 1])
    found = number_scores(y, NumberPrediction(predicted, std, interval), weight.astype(float))
    same = number_scores(y[often], NumberPrediction(predicted[often], std[often], interval[often]))
    assert {k: s.value for k, s in found.items()} == pytest.approx(
        {k: s.value for k, s in same.items()}
    )
    risk = 1 / (1 + np.exp(-predicted))
    both, died = np.column_stack([1 - risk, risk]), (y > np.median(y)).astype(int)
    found = class_scores(died, ClassPrediction(both, np.array([0, 1])), weight.astype(float))
    same = class_scores(died[often], ClassPrediction(both[often], np.array([0, 1])))
    assert {k: s.value for k, s in found.items()} == pytest.approx(
        {k: s.value for k, s in same.items()}
    )


class _Watched(PracticeRegressor):
    seen: ClassVar[list] = []

    def fit(self, X, y, sample_domain=None, sample_weight=None, groups=None):
        self.seen.append((len(X), None if sample_weight is None else sum(sample_weight), groups))
        return super().fit(X, y, sample_domain, sample_weight)


def test_an_evaluation_learns_and_scores_with_weights_and_leaves_shared_groups_out(data):
    weight = 1.0 + np.arange(len(data.y)) % 3
    patient = np.where(np.arange(len(data.y)) % 60 < 5, np.arange(len(data.y)) % 60, 100)
    patient = np.where(patient == 100, 100 + np.arange(len(data.y)), patient)
    methods = {"linear": _Watched(model="linear"), "unweighted": _Unweighted()}
    _Watched.seen.clear()
    with pytest.warns(MethodWarning, match="unweighted cannot be fitted with weights"):
        found = leave_one_domain_out(
            *(methods, data.X, data.y, data.sample_domain),
            sample_weight=weight, groups=patient, targets=[3], distances=False,
        )  # fmt: skip
    ((rows, total, groups),) = _Watched.seen
    assert rows == 3 * 55  # five patients of each source are at the target as well
    source = (data.sample_domain != 3) & ~np.isin(patient, patient[data.sample_domain == 3])
    assert total == pytest.approx(weight[source].sum())
    assert len(np.unique(groups)) == rows
    plain = leave_one_domain_out(
        {"linear": PracticeRegressor(model="linear")}, data, targets=[3], distances=False
    )
    assert found.summary().loc["linear", "r2"] != plain.summary().loc["linear", "r2"]


class _Unweighted(PracticeRegressor):
    def __init__(self):
        super().__init__(model="linear")

    def fit(self, X, y, sample_domain=None):
        return super().fit(X, y, sample_domain)

    def get_params(self, deep=True):
        return {}


def test_weights_do_not_stay_in_the_file(weighted, split, tmp_path):
    weighted.save(tmp_path / "m.dapdag")
    again = load(tmp_path / "m.dapdag")
    assert np.array_equal(again.predict(split.X_target), weighted.predict(split.X_target))

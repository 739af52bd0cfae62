"""scikit-learn's own checks of the two estimators."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dapdag import DAPDAGClassifier, DAPDAGRegressor


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": "batches are drawn at random: weights are "
        "repeated rows in expectation, and only a weight of 0 exactly (tests/test_row_weights.py)"
    }


@parametrize_with_checks(
    [
        DAPDAGRegressor(max_epochs=40, hidden=8, n_predictors=2, n_members=1),
        DAPDAGClassifier(max_epochs=40, hidden=8, n_predictors=2, n_members=1),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)

"""scikit-learn's own checks of the two estimators."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dapdag import DAPDAGClassifier, DAPDAGRegressor


@parametrize_with_checks(
    [
        DAPDAGRegressor(max_epochs=40, hidden=8, n_predictors=2, n_members=1),
        DAPDAGClassifier(max_epochs=40, hidden=8, n_predictors=2, n_members=1),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)

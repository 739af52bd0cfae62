"""Choose hyper-parameters without a single label of the target.

Each source is left out in turn, predicted from the others, and scored with its own labels:
scikit-learn's GridSearchCV over LeaveOneGroupOut. The target's labels are looked at once, at the
end, to see what the choice was worth.

    python examples/model_selection.py
"""

import pandas as pd
import sklearn
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains

# One member and few epochs are enough to compare; the winner is trained with the defaults.
QUICK = {"n_members": 1, "max_epochs": 30}
GRID = {"env_dim": [1, 2], "learning_rate": [2e-3, 1e-2]}


def main() -> None:
    split = make_regression_domains(n_domains=7, n_samples=300, random_state=30).leave_out(6)

    # With metadata routing, `sample_domain` reaches fit and score of every fold, and
    # LeaveOneGroupOut is given the `groups` that it asks for.
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            DAPDAGRegressor(**QUICK),
            GRID,
            cv=LeaveOneGroupOut(),
            refit=False,
        ).fit(
            split.X,
            split.y,
            sample_domain=split.sample_domain,
            groups=split.sample_domain,
        )
    results = pd.DataFrame(search.cv_results_)
    columns = [*(f"param_{name}" for name in GRID), "mean_test_score", "std_test_score"]
    print("R² of the source that was left out, mean and standard deviation over sources:")
    print(results.sort_values("rank_test_score")[columns].round(3).to_string(index=False))
    print(f"chosen: {search.best_params_}")

    model = DAPDAGRegressor(**search.best_params_)
    model.fit(split.X, split.y, sample_domain=split.sample_domain)
    print(f"\nR² at the target: {model.score(split.X_target, split.y_target):.3f}")


if __name__ == "__main__":
    main()

"""The same rows for dapdag and for methods of scikit-adaptation (skada).

skada's estimators see the unlabelled target while they are fitted, and serve that one target.
dapdag may leave it out and serve any. Both take the same `sample_domain`: sources above 0, the
target below.

    python examples/skada_pipeline.py
"""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from dapdag import DAPDAGRegressor
from dapdag.datasets import make_regression_domains

TARGET = -8


def main() -> None:
    data = make_regression_domains(n_domains=8, n_samples=300, random_state=30)
    domain = np.where(data.sample_domain == 7, TARGET, data.sample_domain + 1)
    is_target = domain == TARGET
    y = data.y.mask(is_target)  # NaN: the target has no labels
    X_target, y_target = data.X[is_target], data.y[is_target]

    scores = {
        "ridge, pooled": r2_score(
            y_target, Ridge().fit(data.X[~is_target], y[~is_target]).predict(X_target)
        )
    }
    if find_spec("skada") is None:
        print("skada is not installed: pip install 'dapdag[bench]' adds it to the comparison")
    else:
        scores["ridge after CORAL (skada)"] = r2_score(y_target, coral(data.X, y, domain))

    alone = DAPDAGRegressor().fit(
        data.X[~is_target], y[~is_target], sample_domain=domain[~is_target]
    )
    scores["dapdag, target unseen"] = r2_score(y_target, alone.predict(X_target))
    # Rows with a negative sample_domain take part in training, without their labels.
    together = DAPDAGRegressor().fit(data.X, y, sample_domain=domain)
    scores["dapdag, target's rows in training"] = r2_score(y_target, together.predict(X_target))

    print("R² at the target:")
    print(pd.Series(scores).round(3).to_string())
    print("One simulated case, not a benchmark.")


def coral(X: pd.DataFrame, y: pd.Series, domain: np.ndarray) -> np.ndarray:
    """A pipeline of skada: scale, align the sources' covariance with the target's, regress."""
    # Importing skada switches metadata routing on for the whole process; here it is on anyway,
    # and off again afterwards.
    with sklearn.config_context(enable_metadata_routing=True):
        from skada import CORALAdapter, make_da_pipeline

        pipeline = make_da_pipeline(StandardScaler(), CORALAdapter(), Ridge())
        pipeline.fit(X.to_numpy(), y.to_numpy(copy=True), sample_domain=domain)
        return pipeline.predict(
            X[domain < 0].to_numpy(), sample_domain=domain[domain < 0], allow_source=False
        )


if __name__ == "__main__":
    main()

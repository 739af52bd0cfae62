"""Shallow adaptation methods of scikit-adaptation (skada) behind the common face."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._sklearn.base import DomainClassifier, DomainEstimator, DomainRegressor, labelled_sources
from .._sklearn.checks import as_frame
from .pooled.columns import Columns
from .pooled.models import build

SkadaMethod = Literal["coral", "monge", "subspace", "reweight", "jcpot"]
ADAPTERS = {
    "coral": "CORALAdapter",
    "monge": "MultiLinearMongeAlignmentAdapter",
    "subspace": "SubspaceAlignmentAdapter",
    "reweight": "DiscriminatorReweightAdapter",
    "jcpot": "JCPOTLabelPropAdapter",
}
TARGET = -1
JITTER = 0.01


class _Skada(DomainEstimator):
    needs_target = True

    def __init__(
        self,
        *,
        method: SkadaMethod = "coral",
        settings: Mapping[str, Any] | None = None,
        base: Literal["boosting", "linear"] | None = None,
        base_settings: Mapping[str, Any] | None = None,
        categorical_features: Any = None,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.settings = settings
        self.base = base
        self.base_settings = base_settings
        self.categorical_features = categorical_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Adapt the sources to the target, the rows with a negative `sample_domain`.

        Several targets are taken together.
        """
        if self.method not in ADAPTERS:
            raise ValueError(f"method must be one of {', '.join(ADAPTERS)}, got {self.method!r}")
        if self.method == "jcpot" and self._regression:
            raise ValueError("the method 'jcpot' is for classes: it carries class shares over")
        sample = self._training_sample(X, y, sample_domain)
        targets = np.flatnonzero(~sample.is_source)
        if not len(targets):
            raise ValueError(
                f"{type(self).__name__} adapts to a target: pass its rows to fit as well, with "
                "negative integers in sample_domain"
            )
        self._columns_ = Columns.learn(sample)
        rows, labels = labelled_sources(sample)
        Z = self._encoded(sample.X.iloc[np.concatenate([rows, targets])])
        # Columns that are constant in a domain, or add up to 1, have no inverse covariance.
        rng = np.random.default_rng(self.random_state)
        Z += JITTER * rng.normal(size=Z.shape)
        masked = np.full(len(targets), np.nan if self._regression else -1, dtype=labels.dtype)
        domain = np.concatenate([sample.domain[rows] + 1, np.full(len(targets), TARGET)])
        with _routing(), threadpool_limits(1), warnings.catch_warnings():
            # Solvers stop at their limit of iterations, which is a setting here.
            warnings.filterwarnings("ignore", message=".*(did not converge|numItermax)")
            self.pipeline_ = self._pipeline().fit(
                Z, np.concatenate([labels, masked]), sample_domain=domain
            )
        return self

    def _pipeline(self) -> Any:
        skada = _skada()
        adapter = getattr(skada, ADAPTERS[self.method])(**(self.settings or {}))
        base = self.base or ("boosting" if self._regression else "linear")
        model = build(base, self._regression, self.base_settings or {}, self.random_state)
        if base == "boosting":
            model.set_params(early_stopping=False, max_iter=200)
        model.set_fit_request(sample_weight=True)
        return skada.make_da_pipeline(adapter, model)

    def _encoded(self, frame: Any) -> NDArray[np.float64]:
        return self._columns_.encode(frame, "standard")

    def _ask(self, X: Any, method: str) -> NDArray[np.float64]:
        check_is_fitted(self)
        Z = self._encoded(as_frame(self, X, reset=False))
        with _routing(), threadpool_limits(1):
            found = getattr(self.pipeline_, method)(
                Z, sample_domain=np.full(len(Z), TARGET), allow_source=False
            )
        return np.asarray(found, dtype=float)


class SkadaRegressor(_Skada, DomainRegressor):
    """Predict a number with a method of scikit-adaptation that aligns sources and target.

    Parameters
    ----------
    method : ``"coral"`` (correlation alignment), ``"monge"`` (linear maps of all domains to their
        barycentre), ``"subspace"`` (alignment of principal components) or ``"reweight"`` (source
        rows weighted by how much they look like the target's, by a classifier of domains).
    settings : of skada's adapter of that name.
    base, base_settings : the model behind it, ``"boosting"`` or ``"linear"``, with its
        hyper-parameters; None takes boosting for numbers and a linear model for classes.
    categorical_features : columns whose numbers are codes of levels.
    random_state : one seed gives one result.
    """

    def predict(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """The label of every row, all taken for rows of the target that `fit` has seen."""
        return self._ask(X, "predict")


class SkadaClassifier(_Skada, DomainClassifier):
    """Predict a class with a method of scikit-adaptation that aligns sources and target.

    Parameters are those of `SkadaRegressor`; there is also the method ``"jcpot"``, optimal
    transport of several sources at once under a change of the classes' shares.
    """

    def predict_proba(self, X: Any, sample_domain: Any = None) -> NDArray[np.float64]:
        """Probability of each of `classes_`, all rows taken for rows of the fitted target."""
        found = self._ask(X, "predict_proba")
        known = self.pipeline_[-1].base_estimator_.classes_.astype(int)
        probability = np.zeros((len(found), len(self.classes_)))
        probability[:, known] = found
        return probability


@contextmanager
def _routing() -> Iterator[None]:
    """skada passes domains on by scikit-learn's metadata routing."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def _skada() -> Any:
    """The package; importing it switches metadata routing on for everybody, which is undone."""
    before = sklearn.get_config()["enable_metadata_routing"]
    try:
        import skada
    except ImportError as error:
        raise ValueError(
            "this method needs the package skada: pip install 'dapdag[bench]'"
        ) from error
    finally:
        sklearn.set_config(enable_metadata_routing=before)
    return skada

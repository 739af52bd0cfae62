"""E of a row's site as further columns, for estimators that know nothing of sites."""

from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .checks import as_frame, new_domains
from .sites import adapt


class EnvironmentFeatures(TransformerMixin, BaseEstimator):
    """Add E of each row's site, its uncertainty, and site means of chosen columns.

    Any estimator behind it in a pipeline becomes aware of sites. It is fitted on labelled sources;
    at a new site E is inferred from the unlabelled rows that `transform` is given.

    Parameters
    ----------
    estimator : DAPDAG estimator
        An unfitted one that learns E; a regressor for numbers, a classifier for classes.
    columns : sequence of str, or "all", optional
        Numeric columns whose mean over the rows of a site is added; "all" takes every one of
        numbers. By default none.
    keep : bool, default=True
        Keep the table's own columns; False gives the further columns alone.

    Attributes
    ----------
    estimator_ : DAPDAG estimator
        The fitted one.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor, EnvironmentFeatures
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> features = EnvironmentFeatures(DAPDAGRegressor(), keep=False)
    >>> features.fit(split.X, split.y, sample_domain=split.sample_domain)
    EnvironmentFeatures(estimator=DAPDAGRegressor(), keep=False)
    >>> list(features.transform(split.X_target).columns)
    ['E1_mean', 'E1_sd']
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    def __init__(self, estimator: Any, columns: Any = None, keep: bool = True) -> None:
        self.estimator = estimator
        self.columns = columns
        self.keep = keep

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Learn E from labelled sources, as the estimator's `fit` does.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Features of the sources.
        y : sequence, one per row
            Their labels.
        sample_domain : sequence of labels, one per row, optional
            Site of every row.

        Returns
        -------
        self
            The fitted transformer.
        """
        self.estimator_ = clone(self.estimator).fit(X, y, sample_domain=sample_domain)
        frame = as_frame(self.estimator_, X, reset=False)
        self.mean_columns_ = self._chosen(frame)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_domain: Any = None) -> pd.DataFrame:
        """Fit to sources, and add their columns."""
        return self.fit(X, y, sample_domain).transform(X, sample_domain)

    def transform(self, X: Any, sample_domain: Any = None) -> pd.DataFrame:
        """The table with its further columns; all rows are one site without `sample_domain`.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, columns)
            Rows of new sites, with the columns of the training table.
        sample_domain : sequence of labels, one per row, optional
            Site of every row. By default all rows are one site.

        Returns
        -------
        DataFrame
            The table with its further columns.
        """
        check_is_fitted(self)
        sites = adapt(self.estimator_, X, sample_domain)
        found = sites.environments.drop(columns="outside")
        labels, codes = new_domains(sample_domain, len(sites.frame))
        added = found.loc[labels].reset_index(drop=True)
        for name in self.mean_columns_:
            means = sites.frame[name].astype(float).groupby(codes).mean()
            added[f"{name}_site_mean"] = means.reindex(range(len(labels))).to_numpy()
        rows = added.iloc[codes].set_axis(sites.frame.index, axis=0)
        return pd.concat([sites.frame, rows], axis=1) if self.keep else rows

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : sequence of str, optional
            Ignored; the names are those of `fit`.

        Returns
        -------
        array of str
            Names.
        """
        check_is_fitted(self)
        own = list(self.estimator_.source_environments_.columns)
        own += [f"{name}_site_mean" for name in self.mean_columns_]
        table = self.estimator_.fitted_.model.table
        before = [str(v.name) for v in table.features] if self.keep else []
        return np.array([*before, *own], dtype=object)

    def _chosen(self, frame: pd.DataFrame) -> list[Hashable]:
        numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
        if self.columns is None:
            return []
        if isinstance(self.columns, str) and self.columns == "all":
            return numeric
        if isinstance(self.columns, str):
            raise ValueError(
                f"columns must be a list of columns, 'all' or None, not {self.columns!r}"
            )
        for name in self.columns:
            if name not in numeric:
                raise ValueError(f"columns names {name!r}, which is no column of numbers")
        return list(self.columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

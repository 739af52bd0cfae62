"""A site that is known by its summary: at the centre, or at a part of the site."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dapdag._runtime.cache import compilation_cache
from dapdag._sklearn.checks import as_frame
from dapdag._sklearn.mixins import WithEnvironments
from dapdag._sklearn.notices import warn_of_unknown_values
from dapdag._sklearn.site_model import SiteModel
from dapdag.data.chunks import Chunks
from dapdag.data.columns import Discrete
from dapdag.data.summaries import pooled, standardised_difference
from dapdag.distributed.findings import estimate_from, told_by
from dapdag.distributed.moments import mean_and_sd
from dapdag.distributed.summary import SiteSummary
from dapdag.inference.evidence import Evidence, gather, no_evidence
from dapdag.inference.fitted import FittedModel
from dapdag.inference.site import KnownSite
from dapdag.model import Summary
from dapdag.storage.fingerprint import fingerprint


def adapt(model: Any, summary: SiteSummary, X: Any = None) -> SiteModel:
    """The site whose summary this is: E, `outside`, mechanisms and weights, to predict any rows.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        The fitted DAPDAG estimator that the site was summarised with.
    summary : SiteSummary
        Of the site; summaries of its parts are added before (`sum(parts)`).
    X : DataFrame or array of shape (rows, columns), optional
        Rows of the site that are here: at one of the parts that were summarised. E is then that of
        the whole site, and mechanisms and weights are estimated on these rows, as `model.at` does
        it. Without them the means of what the parts found are taken, or what holds at the sources
        on average where they said nothing (a summary with noise).

    Returns
    -------
    SiteModel
        The site, ready to predict rows of it.

    Raises
    ------
    ValueError
        If the summary is of another model.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.distributed import adapt, summarise
    >>> site = adapt(model, summarise(model, split.X_target))
    >>> site.predict(split.X_target).shape
    (60,)
    """
    check_is_fitted(model)
    if not isinstance(model, WithEnvironments):
        raise ValueError(f"a {type(model).__name__} has no environments: there is nothing to adapt")
    fitted = model.fitted_.model
    _check(model, summary)
    totals = summary.totals
    whole = replace(no_evidence(fitted), n_rows=summary.n_rows, summary=_sums(totals))
    with compilation_cache():
        if X is not None:
            known = KnownSite(fitted, _of_part(model, whole, X))
        else:
            estimate, told = estimate_from(fitted, totals), told_by(fitted, totals)
            known = KnownSite(fitted, whole, estimate, told)
        site = model._site_model(known)
    site._tell_of_site()
    return site


def describe(model: Any, summary: SiteSummary) -> pd.DataFrame:
    """Columns of a summarised site beside the sources'.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        The one that the site was summarised with.
    summary : SiteSummary
        Of the site.

    Returns
    -------
    DataFrame
        One row per column, and per level of a discrete one: how many values the summary tells of,
        mean and sd of numbers or the share of the level, and how far the column differs from the
        sources together, in standard deviations. Columns with too few values have NaN.
    """
    _check(model, summary)
    table, record = model.fitted_.model.table, model.record_
    found = []
    for j, (variable, own) in enumerate(
        zip(table.features, mean_and_sd(table, summary.totals), strict=True)
    ):
        discrete = isinstance(variable, Discrete)
        cells = [s.cells[j] for s in record.sources]
        sources = pooled(cells, [float(s.rows) for s in record.sources], discrete)
        difference = standardised_difference(own, sources, discrete)
        n = round(float(summary.totals["values"][j]))
        if isinstance(variable, Discrete):
            shares = own or [np.nan] * len(variable.levels)
            found += [
                (variable.name, level, n, share, np.nan, difference)
                for level, share in zip(variable.levels, shares, strict=True)
            ]
        else:
            mean, sd = own or (np.nan, np.nan)
            found.append((variable.name, "", n, mean, sd, difference))
    columns = ["column", "level", "values", "mean", "sd", "difference"]
    return pd.DataFrame(found, columns=columns).set_index(["column", "level"])


def _check(model: Any, summary: SiteSummary) -> None:
    own = fingerprint(model.fitted_)
    if summary.model != own:
        raise ValueError(
            f"the summary is of another model ({summary.model[:12]}…) than this one "
            f"({own[:12]}…): summarise the site with this model"
        )
    fitted: FittedModel = model.fitted_.model
    table = fitted.table
    members = fitted.n_members, fitted.sizes.env_dim
    columns = (table.feature_width,)
    shapes = {
        **{"excess": members, "weighted": members, "values": (len(table.features),)},
        **{"first": columns, "second": columns},
    }
    for name, shape in shapes.items():
        total = summary.totals.get(name)
        if total is None or total.shape != shape:
            raise ValueError(f"the summary is damaged: {name!r} is not of the shape {shape}")


def _sums(totals: Mapping[str, NDArray[np.float64]]) -> Summary:
    # Noise may have moved the precision below the prior's, which no rows can do.
    return Summary(np.maximum(totals["excess"], 0.0), totals["weighted"])  # type: ignore[arg-type]


def _of_part(model: Any, whole: Evidence, X: Any) -> Evidence:
    """The evidence of the rows that are here, with the sums of the whole site."""
    fitted = model.fitted_.model
    frame = as_frame(model, X, reset=False)
    if len(frame) > whole.n_rows:
        raise ValueError(
            f"the summary is of {whole.n_rows:,} rows, and here are {len(frame):,}: it must "
            "include them"
        )
    warn_of_unknown_values(fitted.table, frame)
    here = gather(fitted, Chunks(fitted.table, frame))
    return replace(here, n_rows=whole.n_rows, summary=whole.summary)

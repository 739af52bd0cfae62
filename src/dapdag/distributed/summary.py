"""A site as sums over its rows: what may leave it in place of the rows themselves."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dapdag import __version__
from dapdag._runtime.cache import compilation_cache
from dapdag._runtime.files import atomic_write_text
from dapdag._sklearn.checks import as_frame
from dapdag._sklearn.notices import warn_of_unknown_values
from dapdag.data.chunks import Chunks
from dapdag.data.summaries import FEWEST_VALUES
from dapdag.distributed.findings import findings_of
from dapdag.distributed.moments import column_totals, suppressed
from dapdag.distributed.noise import DELTA, noisy_totals
from dapdag.inference.evidence import gather
from dapdag.inference.site import KnownSite
from dapdag.storage.fingerprint import fingerprint

FORMAT, FORMAT_VERSION = "dapdag-site-summary", 1
# A summary of fewer rows would say much about each of them. Not measured: docs/privacy.md shows
# what an attacker learns from a batch of so many.
FEWEST_ROWS = 30

Totals = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class SiteSummary:
    """Sums over rows of one site under one fitted model; no row is in it.

    Summaries of disjoint rows of a site add up, in any order: `a + b` is the summary of both.

    Attributes
    ----------
    model : str
        Fingerprint of the fitted model; summaries of different models cannot be added.
    n_rows : int
        Rows that were summarised.
    totals : mapping from str to array
        Named arrays, each a sum over rows: the encoder's two sums; number, sum and sum of squares
        of the values of every column; and what the site inferred about its mechanisms, multiplied
        by its rows.
    epsilon : float
        ε of the differential privacy of each row against who sees this summary alone; infinite if
        no noise was added.
    delta : float
        Value δ that belongs to it; 0 if no noise was added.
    """

    model: str
    n_rows: int
    totals: Totals = field(repr=False)
    epsilon: float = math.inf
    delta: float = 0.0

    def __add__(self, other: "SiteSummary") -> "SiteSummary":
        if not isinstance(other, SiteSummary):
            return NotImplemented
        if self.model != other.model:
            raise ValueError(
                "the summaries are of different models "
                f"({self.model[:12]}… and {other.model[:12]}…): summarise both sites with one"
            )
        names = [*self.totals, *(name for name in other.totals if name not in self.totals)]
        return SiteSummary(
            self.model,
            self.n_rows + other.n_rows,
            {name: _sum(self.totals.get(name), other.totals.get(name)) for name in names},
            # A row is in one of the two: it is protected as well as in that one.
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
        )

    def __radd__(self, other: Any) -> "SiteSummary":
        """`sum(summaries)` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def to_json(self) -> str:
        """A text that `from_json` reads back to the bit.

        Returns
        -------
        str
            JSON.
        """
        noisy = math.isfinite(self.epsilon)
        about = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "dapdag": __version__,
            "model": self.model,
            "rows": self.n_rows,
            "epsilon": self.epsilon if noisy else None,
            "delta": self.delta if noisy else None,
            "totals": {name: self.totals[name].tolist() for name in sorted(self.totals)},
        }
        return json.dumps(about, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The summary again.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        SiteSummary
            The summary.

        Raises
        ------
        ValueError
            If the text is no summary, or one of a newer dapdag.
        """
        try:
            about = json.loads(text)
        except ValueError as error:
            raise ValueError(f"it is no JSON text ({error})") from error
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise ValueError("it is no summary of a site: `dapdag summarise` writes them")
        if about.get("version") != FORMAT_VERSION:
            raise ValueError(
                f"it is of version {about.get('version')!r}, and this dapdag reads version "
                f"{FORMAT_VERSION}: use the same dapdag at all sites"
            )
        try:
            return cls._checked(about)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"it is damaged ({error!r}): summarise the site again") from error

    @classmethod
    def _checked(cls, about: Mapping[str, Any]) -> Self:
        totals = {str(k): np.array(v, dtype=np.float64) for k, v in about["totals"].items()}
        for name, total in totals.items():
            if not np.isfinite(total).all():
                raise ValueError(f"{name} is not finite")
        model, n_rows = about["model"], about["rows"]
        if not isinstance(model, str) or type(n_rows) is not int or n_rows < 1:
            raise ValueError(f"rows {n_rows!r} of the model {model!r}")
        if about["epsilon"] is None:
            return cls(model, n_rows, totals)
        return cls(model, n_rows, totals, float(about["epsilon"]), float(about["delta"]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, as a whole or not at all.

        Parameters
        ----------
        path : path-like
            File to write.
        """
        atomic_write_text(path, self.to_json())


def read_summary(path: str | os.PathLike[str]) -> SiteSummary:
    """A summary from its file.

    Parameters
    ----------
    path : path-like
        What `SiteSummary.save` wrote.

    Returns
    -------
    SiteSummary
        The summary.
    """
    try:
        return SiteSummary.from_json(Path(path).read_text("utf-8"))
    except ValueError as error:  # also what is not UTF-8
        raise ValueError(f"cannot read {os.fspath(path)}: {error}") from error


def is_summary(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of `SiteSummary.save`, by its first bytes.

    Parameters
    ----------
    path : path-like
        Any file.

    Returns
    -------
    bool
        True if it is a summary.
    """
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return f'"{FORMAT}"'.encode() in file.read(200)


def summarise(
    model: Any,
    X: Any,
    *,
    min_rows: int = FEWEST_ROWS,
    epsilon: float | None = None,
    delta: float = DELTA,
    random_state: Any = None,
) -> SiteSummary:
    """Summarise rows of one site, for somebody who must not see them.

    Parameters
    ----------
    model : fitted DAPDAG estimator
        A fitted DAPDAG estimator.
    X : DataFrame or array of shape (rows, columns)
        Rows of one site, or of a part of it.
    min_rows : int, default=30
        Fewer rows are refused; at least 1. Two summaries that differ by one row give that row away:
        send each row once, in batches, and add the batches up (docs/privacy.md).
    epsilon : float, optional
        Add Gaussian noise to the sums of bounded contributions of the rows, so that this summary is
        (epsilon, delta)-differentially private: two tables that differ in the content of one row
        give nearly the same distribution of summaries. Positive; by default there is no noise. The
        number of rows is not hidden. What the site would infer about its mechanisms is then left
        out.
    delta : float, default=1e-06
        Value δ of differential privacy, between 0 and 1.
    random_state : int or numpy random generator, optional
        Seed of the noise. None, as it should be but in tests, takes the system's entropy.

    Returns
    -------
    SiteSummary
        Sums over the rows.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> from dapdag.distributed import summarise
    >>> early, late = split.X_target[:30], split.X_target[30:]
    >>> whole = summarise(model, early) + summarise(model, late)
    >>> whole.n_rows
    60
    """
    check_is_fitted(model)
    if min_rows < FEWEST_VALUES:
        raise ValueError(f"min_rows={min_rows}: a summary needs {FEWEST_VALUES} rows or more")
    fit = model.fitted_
    frame = as_frame(model, X, reset=False)
    if len(frame) < min_rows:
        raise ValueError(
            f"the site has {len(frame)} rows, and a summary of fewer than {min_rows} would say too "
            "much about each of them: wait for more rows"
        )
    warn_of_unknown_values(fit.model.table, frame)
    named = fingerprint(fit)
    with compilation_cache():
        if epsilon is not None:
            rng = np.random.default_rng(random_state)
            totals = noisy_totals(fit.model, frame, epsilon, delta, rng)
            found = SiteSummary(named, len(frame), totals, float(epsilon), float(delta))
        else:
            found = SiteSummary(named, len(frame), _totals(fit.model, frame))
    return replace(found, totals=suppressed(fit.model.table, found.totals))


def _totals(model: Any, frame: pd.DataFrame) -> Totals:
    evidence = gather(model, Chunks(model.table, frame))
    return {
        "excess": np.asarray(evidence.summary.excess, dtype=float),
        "weighted": np.asarray(evidence.summary.weighted, dtype=float),
        **column_totals(model.table, frame),
        **findings_of(KnownSite(model, evidence)),
    }


def _sum(a: NDArray | None, b: NDArray | None) -> NDArray[np.float64]:
    if a is None or b is None:
        found = b if a is None else a
        assert found is not None
        return found
    if a.shape != b.shape:
        raise ValueError(f"sums of the shapes {a.shape} and {b.shape} cannot be added")
    return np.asarray(a + b)

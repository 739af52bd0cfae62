"""What may mislead in a training table: leaks, identifiers, copies, labels with huge values.

Every finding has its figure; what to do about it is said by who reports it.
"""

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._runtime.text import counted, quoted
from .chunks import spaced_rows
from .explained import explained_alone, explained_together

# Fewer rows say nothing about what a column alone explains.
FEWEST_ROWS, MOST_ROWS = 50, 2000
# A column that explains this share of the label's variation alone, and so much more than all
# others together, is suspected of having been made from the label.
ALONE, AHEAD = 0.75, 0.3
FEWEST_IDS, FEW_DIGITS, MANY_DIGITS, EVEN = 50, 4, 6, 0.1
# Equal rows are reported if there are so many more than independent columns would have by chance.
COPIES, DEPENDENCE = 5.0, 0.75
# A label is reported if this share of its rows, those with the largest values, holds that share of
# its variation. Of a normal law they hold 8 %, of a log-normal law with sigma 1 some 45 %.
FEW_ROWS, MOST_VARIATION = 0.01, 0.6

_ID_NAME = re.compile(
    r"(.*[_ .-])?(id|ids|uid|pid|mrn|guid|index|idx|rownames?|nr|key)"
    r"|(subject|patient|person|participant|record|case)[_ .-]?(no|nr|num|number|code|key)"
    r"|.*[a-z](ID|Id)",
)


@dataclass(frozen=True)
class Finding:
    """What was found about some columns, or about rows where `columns` is empty."""

    kind: Literal["leak", "site", "identifier", "copies", "tails"]
    columns: tuple[Hashable, ...]
    text: str


def screen(
    X: pd.DataFrame, y: Any, domain: NDArray[Any], label: Hashable, classification: bool
) -> list[Finding]:
    """All findings about the rows of the sources; `domain` is each row's site."""
    labels = pd.Series(np.asarray(y), index=X.index)
    site = pd.factorize(domain)[0]
    return [
        *_leaks(X, labels, label, classification),
        *_site_columns(X, site),
        *_identifiers(X),
        *_copies(X, labels, domain, site),
        *(() if classification else _tails(labels, label)),
    ]


def _leaks(
    X: pd.DataFrame, y: pd.Series, label: Hashable, classification: bool
) -> Iterator[Finding]:
    known = np.flatnonzero(y.notna().to_numpy())
    if len(known) < FEWEST_ROWS:
        return
    rows = known[spaced_rows(len(known), MOST_ROWS)]
    part, target = X.iloc[rows], y.iloc[rows]
    if classification:
        indicators = pd.get_dummies(target.astype(object)).to_numpy(dtype=float)
    else:
        indicators = target.to_numpy(dtype=float)[:, None]
        indicators = indicators / (np.abs(indicators).max() or 1.0)
    shares = {name: explained_alone(part[name], indicators) for name in part}
    strong = {name: share for name, share in shares.items() if share >= ALONE}
    if not strong:
        return
    together = explained_together(part.drop(columns=list(strong)), indicators)
    for name, share in strong.items():
        if share - together >= AHEAD:
            yield Finding(
                "leak",
                (name,),
                f"{str(name)!r} alone explains {share:.0%} of the variation of the label "
                f"{str(label)!r}, {_rest(X.shape[1] - len(strong), together)}; check "
                "whether it was made from the label, or after it (a strong predictor that is known "
                "beforehand may stay).",
            )


def _tails(y: pd.Series, label: Hashable) -> Iterator[Finding]:
    """A number a few of whose values are so large that they decide about fit and scores."""
    values = y.dropna().to_numpy(dtype=float)
    few = int(FEW_ROWS * len(values))
    middle = np.median(values) if few else 0.0
    scale = np.abs(values - middle).max(initial=0.0)
    if not few or not np.isfinite(scale) or not scale:
        return
    square = np.sort(((values - middle) / scale) ** 2)
    share = square[-few:].sum() / square.sum()
    if share >= MOST_VARIATION:
        low, high = np.quantile(values, [FEW_ROWS, 1 - FEW_ROWS])
        yield Finding(
            "tails",
            (),
            f"{counted(few, 'row')} of {len(values):,} hold {share:.0%} of the variation of the "
            f"label {str(label)!r}: it goes from {values.min():.4g} to {values.max():.4g}, but "
            f"nearly always from {low:.4g} to {high:.4g}. These rows decide about the fit and its "
            "scores; a logarithm or another transform of the label predicts usual rows better",
        )


def _rest(n: int, together: float) -> str:
    if not n:
        return "and there is no other column"
    return f"all other columns together {together:.0%}"


def _site_columns(X: pd.DataFrame, site: NDArray[np.intp]) -> Iterator[Finding]:
    """Columns with one value within every site; `site` is each row's code."""
    sizes = np.bincount(site)
    if (sizes > 1).sum() < 2:
        return
    names: list[Hashable] = []
    constant: list[Hashable] = []
    largest = np.flatnonzero(site == sizes.argmax())[:FEWEST_ROWS]
    for name in X:
        column = X[name]
        if column.iloc[largest].nunique() > 1:
            continue  # most columns vary within the first rows
        within = column.groupby(site, observed=True).nunique()
        if within.max() != 1 or column.nunique() < 2 or (within == 1).sum() < 2:
            continue
        (names if column.nunique() == (within == 1).sum() else constant).append(name)
    for found, what in (
        (names, "another value at every site, and only one: a name of the site"),
        (constant, "one value within every site: no difference between rows of a site"),
    ):
        if found:
            verb = "has" if len(found) == 1 else "have"
            yield Finding("site", tuple(found), f"{quoted(found)} {verb} {what}")


def _identifiers(X: pd.DataFrame) -> Iterator[Finding]:
    for name in X:
        column = X[name].dropna()
        if _has_fractions(column.iloc[:FEWEST_IDS]):
            continue  # measurements: no need to count their values
        distinct = int(column.nunique())
        if distinct < FEWEST_IDS or not _names_rows(str(name), column, distinct):
            continue
        cells = counted(len(column), "cell")
        repeats = "" if distinct == len(column) else " (rows of one unit belong to one site)"
        yield Finding(
            "identifier",
            (name,),
            f"{str(name)!r} has {distinct:,} different values in {cells}, like an identifier"
            f"{repeats}",
        )


def _names_rows(name: str, column: pd.Series, distinct: int) -> bool:
    numeric = pd.api.types.is_numeric_dtype(column)
    if _has_fractions(column):
        return False
    if numeric:
        values = column.to_numpy(dtype=float)
    if _ID_NAME.fullmatch(name):
        return distinct > len(column) / 10
    if not numeric:
        return distinct > len(column) / 2
    if distinct == len(column) == values.max() - values.min() + 1:
        return True
    if distinct < 0.99 * len(column) or values.min() < 10 ** (FEW_DIGITS - 1):
        return False
    # Serial numbers fill their range evenly, or are long and all of one length; quantities do not.
    ranks = np.arange(len(values)) / (len(values) - 1)
    even = np.abs(np.sort(values - values.min()) / np.ptp(values) - ranks).max()
    lengths = np.floor(np.log10(values[[values.argmin(), values.argmax()]]))
    return bool(even < EVEN or (lengths[0] == lengths[1] and lengths[0] + 1 >= MANY_DIGITS))


def _has_fractions(column: pd.Series) -> bool:
    """Whether a column of numbers has any that is not whole."""
    if not pd.api.types.is_numeric_dtype(column):
        return False
    values = column.to_numpy(dtype=float)
    return not np.all(values == np.round(values))


def _copies(
    X: pd.DataFrame, y: pd.Series, domain: NDArray[Any], site: NDArray[np.intp]
) -> Iterator[Finding]:
    """Rows that are equal in all columns and the label, beyond what chance explains."""
    label = pd.Series(pd.factorize(y)[0], index=X.index)
    keys = pd.util.hash_pandas_object(X, index=False).to_numpy()
    keys = keys * np.uint64(1_000_003) + pd.util.hash_array(label.to_numpy())
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    group, sizes = np.unique(keys, return_inverse=True, return_counts=True)[1:]
    pairs = float((sizes * (sizes - 1.0)).sum() / 2)
    if pairs <= COPIES * (1 + _chance_pairs([label, *(X[name] for name in X)])):
        return
    per_site = pd.DataFrame({"row": group, "site": site})
    within = int(per_site.duplicated().sum())
    sites_of = per_site.drop_duplicates().groupby("row")["site"].transform("size")
    shared = per_site.drop_duplicates()[sites_of.to_numpy() > 1]
    across = int(per_site["row"].isin(shared["row"]).sum())
    if across:
        first = sorted(shared[shared["row"] == shared["row"].iloc[0]]["site"])[:2]
        names = [str(domain[np.flatnonzero(site == code)[0]]) for code in first]
        yield Finding(
            "copies",
            (),
            f"{counted(across, 'row')} of {len(X):,} stand at several sites with the same values "
            f"in every column (such as at {names[0]!r} and {names[1]!r}): scores of left-out sites "
            "are then too good",
        )
    if within:
        yield Finding(
            "copies",
            (),
            f"{counted(within, 'row')} of {len(X):,} are copies of another row of their site: they "
            "count more than once",
        )


def _chance_pairs(columns: list[pd.Series]) -> float:
    """Expected number of equal pairs, with allowance for columns that depend on each other."""
    log_match = 0.0
    for column in columns:
        shares = column.value_counts(normalize=True, dropna=False).to_numpy()
        log_match += float(np.log((shares**2).sum()))
    n = len(columns[0])
    return float(n * (n - 1) / 2 * np.exp(DEPENDENCE * log_match))

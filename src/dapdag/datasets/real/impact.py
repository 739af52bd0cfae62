"""Mortality after traumatic brain injury in fifteen studies."""

from pathlib import Path

import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.real.files import (
    Folder,
    Publication,
    binary_label,
    categories,
    numbers,
    read_r_frame,
    read_table,
    with_columns,
)

FEATURES = ("age", "motor_score", "pupil", "ct", "hypox", "hypots", "tsah", "edh")
LEVELS = {
    "motor_score": ["1/2", "3", "4", "5/6"],
    "pupil": ["Both", "One", "Neither"],
    "ct": ["I/II", "III", "IV/V"],
}
IMPACT_TBI = Publication(
    name="impact_tbi",
    originals=("impact.*",),
    source="the R package metamisc on CRAN (data(impact), in its file data/impact.rda)",
)


def load_impact_tbi(folder: Folder = None) -> DomainData:
    """IMPACT: 11,022 patients with traumatic brain injury in 15 studies, 8 features.

    The label `mort` is 1 for patients who died within six months. Motor score, pupils and CT class
    are ordered categories.

    Parameters
    ----------
    folder : path-like, optional
        Holds ``impact_tbi/impact_tbi.csv``, or ``impact.csv`` or ``impact.rda`` of the R package
        metamisc; by default the folder that ``DAPDAG_DATA`` names.

    Returns
    -------
    DomainData
        Table, label and domain of every row.
    """
    prepared, originals = IMPACT_TBI.files(folder)
    path = prepared or _readable(originals)
    table = _read(path)
    X = numbers(table, [c for c in FEATURES if c not in LEVELS], path)
    X = X.assign(
        **{c: categories(table[c], levels, path, ordered=True) for c, levels in LEVELS.items()}
    )
    return DomainData(
        X=X[list(FEATURES)],
        y=binary_label(table["mort"], path),
        sample_domain=table["domain"].to_numpy(dtype=object),
        task="classification",
        name=IMPACT_TBI.name,
        description="Death within six months of a traumatic brain injury, in fifteen studies.",
        licence="GPL-3 (metamisc); cite Steyerberg et al., Stat Med 2019;38:4290",
    )


def _readable(originals: list[Path]) -> Path:
    """The CSV file if R wrote one, else R's own."""
    by_suffix = {path.suffix.lower(): path for path in originals}
    for suffix in (".csv", ".rda"):
        if suffix in by_suffix:
            return by_suffix[suffix]
    raise FileNotFoundError(
        f"{IMPACT_TBI.name}: {originals[0]} is neither impact.csv nor impact.rda. "
        f"{IMPACT_TBI.advice}"
    )


def _read(path: Path) -> pd.DataFrame:
    """The table under the names of the prepared file; R calls the study `name`."""
    if path.suffix.lower() == ".rda":
        table = read_r_frame(path, "impact")
    else:
        # A level of pupil is called None, which pandas would read as missing.
        table = read_table(path, (), keep_default_na=False, na_values=["", "NA"])
    table = table.rename(columns={"name": "domain"})
    table = with_columns(table, ("domain", *FEATURES, "mort"), path)
    text = table[list(LEVELS)].astype(object).where(table[list(LEVELS)].notna(), np.nan)
    text["pupil"] = text["pupil"].replace("None", "Neither")
    return table.assign(**text, domain=table["domain"].astype(str))

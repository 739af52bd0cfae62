"""Coronary disease at four hospitals."""

import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.real.files import (
    Folder,
    Publication,
    binary_label,
    categories,
    numbers,
    read_table,
)

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
FEATURES = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach"),
    *("exang", "oldpeak", "slope", "ca", "thal"),
)
LEVELS = {"cp": [1, 2, 3, 4], "restecg": [0, 1, 2], "slope": [1, 2, 3], "thal": [3, 6, 7]}
# Written as 0 where nothing was measured.
NEVER_ZERO = ("chol", "trestbps")
UCI_HEART = Publication(
    name="uci_heart",
    originals=tuple(f"processed.{h}.data" for h in HOSPITALS),
    source="the UCI Machine Learning Repository (archive.ics.uci.edu, dataset 45, Heart Disease)",
)


def load_uci_heart(folder: Folder = None) -> DomainData:
    """UCI Heart Disease: 920 patients of four hospitals, 13 features, many cells missing.

    The label `target` is 1 where a coronary artery is narrowed by more than half. `cp`, `restecg`,
    `slope` and `thal` are categories, under the publisher's codes.

    Parameters
    ----------
    folder : path-like, optional
        Holds ``uci_heart/uci_heart.csv`` or ``processed.cleveland.data`` and its three companions;
        by default the folder that ``DAPDAG_DATA`` names.

    Returns
    -------
    DomainData
        Table, label and domain of every row.
    """
    prepared, originals = UCI_HEART.files(folder)
    if prepared is not None:
        path, table = prepared, read_table(prepared, ("domain", *FEATURES, "target"))
    else:
        path, table = originals[0].parent, pd.concat(map(_hospital, originals), ignore_index=True)
    X = numbers(table, FEATURES, path)
    X = X.assign(**{c: X[c].mask(X[c] == 0) for c in NEVER_ZERO})
    X = X.assign(**{c: categories(X[c], levels, path) for c, levels in LEVELS.items()})
    return DomainData(
        X=X,
        y=binary_label(table["target"], path),
        sample_domain=table["domain"].to_numpy(dtype=object),
        task="classification",
        name=UCI_HEART.name,
        description="Coronary disease (narrowing above 50 %) of patients at four hospitals.",
        licence="CC BY 4.0; cite A. Janosi, W. Steinbrunn, M. Pfisterer and R. Detrano",
    )


def _hospital(path) -> pd.DataFrame:
    """One of the publisher's files: no header, ? for missing, the disease as 0 to 4."""
    columns = (*FEATURES, "num")
    table = read_table(path, columns, header=None, names=columns, na_values="?")
    disease = numbers(table, ["num"], path)["num"]
    return table.assign(
        domain=path.name.split(".")[1], target=np.where(disease.isna(), np.nan, disease > 0)
    )

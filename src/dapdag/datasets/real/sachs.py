"""Signalling proteins of single cells under several experimental conditions."""

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.real.files import (
    Folder,
    Publication,
    numbers,
    read_sheet,
    read_table,
    with_columns,
)
from dapdag.datasets.simulation import check_choice

PROTEINS = (
    *("praf", "pmek", "plcg", "PIP2", "PIP3", "p44/42"),
    *("pakts473", "PKA", "PKC", "P38", "pjnk"),
)
CONDITIONS = (9, 14)
# The consensus network: who acts on whom.
CONSENSUS = {
    "PKA": ("praf", "pmek", "p44/42", "pakts473", "P38", "pjnk"),
    "PKC": ("praf", "pmek", "PKA", "P38", "pjnk"),
    "praf": ("pmek",),
    "pmek": ("p44/42",),
    "p44/42": ("pakts473",),
    "PIP3": ("plcg", "PIP2", "pakts473"),
    "plcg": ("PIP2", "PKC"),
    "PIP2": ("PKC",),
}
# Proteins that a condition acts on: Akt, PKC, PIP2 and Mek are inhibited, PKC and PKA activated.
PERTURBED = ("pakts473", "PKC", "PIP2", "pmek", "PKA")
SACHS = Publication(
    name="sachs",
    originals=tuple(f"{k}. *" for k in range(1, min(CONDITIONS) + 1)),
    source="the supplement of K. Sachs et al., Science 308:523 (2005), one sheet per condition",
)


def load_sachs(
    folder: Folder = None, *, label: str = "pakts473", conditions: int = 9, log: bool = True
) -> DomainData:
    """Sachs et al. 2005: eleven proteins of single cells, one domain per experimental condition.

    The graph is the consensus network of 20 edges; its node attribute `perturbed` marks the
    proteins that some condition acts on directly.

    Parameters
    ----------
    folder : path-like, optional
        Holds ``sachs/sachs.csv`` or the sheets of the supplement (``1. cd3cd28.xls``, …, as Excel
        or CSV files); by default the folder that ``DAPDAG_DATA`` names.
    label : str, default="pakts473"
        The protein to predict from the other ten, Akt by default.
    conditions : int, default=9
        9 for the conditions of the main result, 14 for all.
    log : bool, default=True
        Take logarithms of all intensities.

    Returns
    -------
    DomainData
        Table, label and domain of every row.
    """
    check_choice("label", label, PROTEINS)
    if conditions not in CONDITIONS:
        raise ValueError(f"conditions must be one of {list(CONDITIONS)}, got {conditions!r}.")
    prepared, originals = SACHS.files(folder)
    if prepared is not None:
        path, table = prepared, read_table(prepared, ("domain", "condition_no", *PROTEINS))
    else:
        path, table = originals[0].parent, _stack(originals[0].parent, conditions)
    table = table[table["condition_no"] <= conditions].reset_index(drop=True)
    values = numbers(table, PROTEINS, path)
    if log:
        _check_positive(values, path)
        values = pd.DataFrame(np.log(values))
    return DomainData(
        X=values.drop(columns=label),
        y=values[label],
        sample_domain=table["domain"].to_numpy(dtype=object),
        task="regression",
        name=SACHS.name,
        description=f"{'Log intensity' if log else 'Intensity'} of the protein {label} in single "
        f"cells under {conditions} experimental conditions.",
        licence="public supplement without an explicit licence; cite Science 308:523 (2005)",
        graph=consensus_graph(),
    )


def consensus_graph() -> nx.DiGraph:
    """The accepted network among the eleven proteins: 20 edges, acyclic."""
    graph = nx.DiGraph()
    for protein in PROTEINS:
        graph.add_node(protein, perturbed=protein in PERTURBED)
    graph.add_edges_from((cause, e) for cause, effects in CONSENSUS.items() for e in effects)
    return graph


def _stack(folder: Path, conditions: int) -> pd.DataFrame:
    """The supplement's sheets, one below the other."""
    by_lower_case = {p.lower(): p for p in PROTEINS}
    parts = []
    for number in range(1, conditions + 1):
        found = [
            (path, match[1])
            for path in sorted(folder.glob(f"{number}. *"))
            if (match := re.fullmatch(r"\d+\. (.+)\.(?:csv|xls|xlsx)", path.name))
        ]
        if not found:
            raise FileNotFoundError(
                f"{SACHS.name}: condition {number} ('{number}. NAME.xls') is not in {folder}. "
                f"{SACHS.advice}"
            )
        path, name = found[0]
        sheet = read_sheet(path)
        # One sheet of the supplement writes pip2 and pip3 in lower case.
        sheet = sheet.rename(columns=lambda c: by_lower_case.get(str(c).strip().lower(), c))
        sheet = with_columns(sheet, PROTEINS, path)[list(PROTEINS)]
        parts.append(sheet.assign(domain=name.strip(), condition_no=number))
    return pd.concat(parts, ignore_index=True)


def _check_positive(values: pd.DataFrame, path: Path) -> None:
    for name, column in values.items():
        if (column <= 0).any():
            raise ValueError(
                f"{path}, column {name!r}: {column.min()} has no logarithm; pass log=False if the "
                "file holds logarithms already."
            )

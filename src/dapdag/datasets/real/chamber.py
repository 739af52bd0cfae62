"""A light tunnel under eleven settings: real measurements with a known graph."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.real.files import Folder, Publication, binary_label, numbers, read_table

LEDS = ("red", "green", "blue")
SENSORS = ("ir_1", "vis_1", "ir_2", "vis_2", "ir_3", "vis_3")
# Only the third pair of sensors sits behind the polariser that the label sets.
BEHIND_POLARISER = ("ir_3", "vis_3")
PERTURBED = (*LEDS, "ir_3")
LABEL = "Y"
CHAMBER_NONLIN = Publication(
    name="chamber_nonlin",
    originals=("d_nonlin_train.csv", "d_nonlin_test.csv"),
    source="the repository LinusKuehne/invariance-for-classification on GitHub, "
    "scripts/causal_chambers/data",
)


def load_chamber_nonlin(
    folder: Folder = None, *, n_samples: int | None = None, random_state: int = 0
) -> DomainData:
    """Causal chamber, D-nonlin: six settings of 10,000 rows and five of 5,000, 9 features.

    The label `Y` is 1 where a hidden polariser stands at 20 or 30 degrees and 0 at 0 or 50. The
    graph has 20 edges: light of three LEDs reaches six sensors, the polariser acts on two of them.

    Parameters
    ----------
    folder : path-like, optional
        Holds ``chamber_nonlin/chamber_nonlin.csv`` or ``d_nonlin_train.csv`` and
        ``d_nonlin_test.csv``; by default the folder that ``DAPDAG_DATA`` names.
    n_samples : int, optional
        Rows to draw from every setting, without replacement; None keeps all.
    random_state : int, default=0
        Seed of that draw.

    Returns
    -------
    DomainData
        Table, label and domain of every row.
    """
    prepared, originals = CHAMBER_NONLIN.files(folder)
    columns = (*LEDS, *SENSORS, LABEL)
    if prepared is not None:
        path, table = prepared, read_table(prepared, ("domain", *columns))
    else:
        path, table = originals[0].parent, pd.concat(map(_part, originals), ignore_index=True)
    if n_samples is not None:
        table = _draw(table, n_samples, random_state)
    return DomainData(
        X=numbers(table, (*LEDS, *SENSORS), path),
        y=binary_label(table[LABEL], path),
        sample_domain=table["domain"].to_numpy(dtype=object),
        task="classification",
        name=CHAMBER_NONLIN.name,
        description="Position of a hidden polariser from LED settings and light sensors, under "
        "eleven settings of a light tunnel.",
        licence="Apache-2.0; device by Gamella, Peters and Bühlmann, Nature Machine Intelligence "
        "2025",
        graph=tunnel_graph(),
    )


def tunnel_graph() -> nx.DiGraph:
    """What physically acts on what; `perturbed` marks what the settings change."""
    graph = nx.DiGraph()
    for name in (*LEDS, *SENSORS, LABEL):
        graph.add_node(name, perturbed=name in PERTURBED)
    graph.add_edges_from((led, sensor) for led in LEDS for sensor in SENSORS)
    graph.add_edges_from((LABEL, sensor) for sensor in BEHIND_POLARISER)
    return graph


def _part(path: Path) -> pd.DataFrame:
    """The training or test file of the publisher; its column E numbers the settings."""
    table = read_table(path, ("E", *LEDS, *SENSORS, LABEL))
    number = numbers(table, ["E"], path)["E"].astype(np.int64)
    return table.assign(domain=path.stem.removeprefix("d_nonlin_") + number.astype(str))


def _draw(table: pd.DataFrame, n_samples: int, random_state: int) -> pd.DataFrame:
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples!r}.")
    rng = np.random.default_rng(random_state)
    kept = [
        np.sort(rng.permutation(rows)[:n_samples])
        for rows in table.groupby("domain", sort=False).indices.values()
    ]
    return table.iloc[np.concatenate(kept)].reset_index(drop=True)

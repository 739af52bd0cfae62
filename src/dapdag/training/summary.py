"""Count and summarise the training data for a model's `Record`."""

import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.blocks import Blocks
from ..data.columns import Discrete, Variable
from ..data.domains import natural_positions
from ..data.layout import sizes_of
from ..data.sample import Sample
from ..data.schema import cell_faults, describe_column
from ..data.summaries import column_summary, comparable
from ..data.table import Table
from ..inference.reliability import quantile_bins
from ..record import Heldout, Record, Source
from .settings import Settings

PACKAGES = ("dapdag", "jax", "numpy", "pandas", "scikit-learn")
# Bins of fewer rows could give away what was observed for one of them.
FEWEST_ROWS = 10
# Settings that say something of the machine and nothing of the model, or are private.
LOCAL = ("checkpoint", "verbose", "parts")


def make_record(
    table: Table, sample: Sample, settings: Settings, heldout: Heldout | None
) -> Record:
    """Count the rows and cells of every source; rows of other domains have higher codes."""
    n, rows_of, domain = sample.n_sources, sample.rows_of, sample.domain
    names = sample.domain_labels[:n]
    rows = np.array([len(rows_of[d]) for d in range(n)])
    missing = np.empty((n, len(table.features)))
    clipped = np.zeros((n, len(table.features)), dtype=int)
    summaries = []
    for j, variable in enumerate(table.features):
        column = sample.X.iloc[:, j]
        absent, unknown = cell_faults(variable, column)
        missing[:, j] = np.bincount(domain[absent], minlength=len(rows_of))[:n] / rows
        clipped[:, j] = np.bincount(domain[unknown], minlength=len(rows_of))[:n]
        cells = comparable(variable, column)
        summaries.append([column_summary(variable, cells[rows_of[d]])[1] for d in range(n)])
    return Record(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions={"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
        settings=_settings(settings),
        columns=tuple(map(describe_column, table.features)),
        label=describe_column(table.label),
        sources=tuple(
            Source(
                names[d],
                int(rows[d]),
                *column_summary(table.label, sample.y[rows_of[d]]),
                tuple(missing[d].tolist()),
                tuple(clipped[d].tolist()),
                tuple(one[d] for one in summaries),
            )
            for d in natural_positions(names)
        ),
        unlabelled_rows=int((domain >= n).sum()),
        heldout=heldout,
    )


def make_heldout(
    table: Table,
    blocks: Blocks,
    means: NDArray[np.floating],
    rows: NDArray[np.int_],
) -> Heldout | None:
    """How every member predicted the labelled rows of the sources that it was not trained on.

    `blocks` and `means` [members, domains, rows, columns] hold the members' lanes, `rows` the
    size of every source.
    """
    present, observed = (np.asarray(a) for a in (blocks.valid_present, blocks.valid_observed))
    domain = np.asarray(blocks.valid_domain)  # [members, valid domains]
    trained = np.take_along_axis(np.asarray(blocks.n_rows), domain, axis=1)
    size = np.append(rows, np.zeros(domain.max() + 1, dtype=int))[domain]  # 0: no source
    # A domain too small to spare rows is validated on those it was trained on.
    spared = trained + (present > 0).sum(-1) <= size
    known = present * observed[..., -1] * spared[..., None] > 0  # [members, domains, rows]
    columns, _, label_columns = sizes_of(table)
    first, width = columns - label_columns, table.label.width
    actual = np.asarray(blocks.valid_values)[known][:, first : first + width]
    predicted = means[known][:, :width].astype(float)
    fewest = FEWEST_ROWS * len(means)
    if len(predicted) < fewest or not np.isfinite(predicted).all():
        return None
    return _summarised(table.label, predicted, actual.astype(float), fewest)


def _summarised(label: Variable, means: NDArray, actual: NDArray, fewest: int) -> Heldout:
    n = len(means)
    if not isinstance(label, Discrete):
        predicted, true = label.decode(means), label.decode(actual)
    elif label.kind == "binary":
        predicted, true = means[:, 0], actual[:, 0]
    else:
        predicted, true = means.max(1), actual[np.arange(n), means.argmax(1)]
    return Heldout(n, tuple(quantile_bins(true, predicted, fewest=fewest)))


def _settings(settings: Settings) -> dict[str, Any]:
    """Parameters and pieces of the method, without what is local or private."""
    found = {k: _plain(v) for k, v in asdict(settings).items() if k not in LOCAL}
    return found | found.pop("form")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

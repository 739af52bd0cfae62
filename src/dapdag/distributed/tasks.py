"""What runs on the workers of a Dask cluster: functions of a partition, and sums over several."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from dapdag._sklearn.partial import (
    Described,
    Inferred,
    KnownSites,
    PartialSites,
    describe,
    gather_sites,
    infer,
    no_sites,
)
from dapdag.inference.prediction import LabelDistribution
from dapdag.io.predictions import label_columns, together
from dapdag.structure import Statistics
from dapdag.structure import summarise as summarise_columns


def gather_part(
    frame: pd.DataFrame, model: Any, features: list[Hashable], domain: Hashable | None
) -> PartialSites:
    """Evidence of a partition, which may be empty."""
    if not len(frame):
        return no_sites()
    return gather_sites(model, frame[features], _sites_of(frame, domain))


def sites_of_group(found: PartialSites, number: int, groups: int) -> PartialSites:
    """Those of the sites that are inferred together; the first group has what is of no site."""
    chosen = [s for s in found.evidence if crc32(repr(s).encode()) % groups == number]
    return PartialSites(
        {label: found.evidence[label] for label in chosen},
        {label: found.present[label] for label in chosen},
        {} if number else found.unseen,
    )


def added_sites(parts: list[PartialSites]) -> PartialSites:
    return sum(parts, start=no_sites())


def labels_of(found: PartialSites) -> list[Hashable]:
    return list(found.evidence)


def added_labels(parts: list[list[Hashable]]) -> list[Hashable]:
    return list(dict.fromkeys(chain.from_iterable(parts)))


def describe_sites(
    model: Any, found: PartialSites
) -> tuple[dict[Hashable, Described], Mapping[Hashable, pd.Series]]:
    return describe(model, found), found.unseen


def infer_sites(
    model: Any, found: PartialSites
) -> tuple[dict[Hashable, Inferred], Mapping[Hashable, pd.Series]]:
    return infer(model, found), found.unseen


def _sites_of(frame: pd.DataFrame, domain: Hashable | None) -> Any:
    return None if domain is None else frame[domain].to_numpy()


def answer_part(
    frame: pd.DataFrame,
    model: Any,
    known: tuple[dict[Hashable, Inferred], pd.DataFrame],
    answer: Callable[..., pd.DataFrame],
    about: tuple[list[Hashable], Hashable | None, list[Hashable]],
    *more: Any,
) -> pd.DataFrame:
    sites, outside = known
    return answer(frame, model, KnownSites(model, sites, {}), outside, *about, *more)


def predictions(
    frame: pd.DataFrame,
    model: Any,
    sites: KnownSites,
    outside: pd.DataFrame,
    features: list[Hashable],
    domain: Any,
    keep: list[Hashable],
    coverage: float,
) -> pd.DataFrame:
    site = None if domain is None else frame[domain].array
    if len(frame):
        rows = frame[features], _sites_of(frame, domain)
        label = sites.score(model, *rows)
        found = label_columns(
            *(model, label, coverage), lambda: sites.class_intervals(model, *rows, label, coverage)
        )
    else:
        found = label_columns(
            *(model, _no_labels(sites), coverage), lambda: np.empty((0, len(model.classes_), 2))
        )
    table = together(frame, site, keep, domain, found, outside)
    return table.astype({"outside": bool})


def _no_labels(sites: KnownSites) -> LabelDistribution:
    width = sites.model.table.label.width
    return LabelDistribution(np.empty((0, width)), np.empty((0, 1)))


def complete(
    frame: pd.DataFrame,
    model: Any,
    sites: KnownSites,
    outside: pd.DataFrame,
    features: list[Hashable],
    domain: Hashable | None,
    keep: list[Hashable],
) -> pd.DataFrame:
    beside = [name for name in (*keep, domain) if name is not None and name not in features]
    filled = frame[features]
    if len(frame):
        filled = sites.complete(model, filled, _sites_of(frame, domain))
    return pd.concat([frame[beside], filled.set_axis(frame.index)], axis=1)


def statistics_of_part(
    frame: pd.DataFrame, number: int, domain: Hashable | None, random_state: int
) -> Statistics | None:
    if not len(frame):
        return None
    X = frame if domain is None else frame.drop(columns=domain)
    return summarise_columns(X, _sites_of(frame, domain), chunk=number, random_state=random_state)


def added_statistics(parts: list[Statistics | None]) -> Statistics | None:
    """The sum; None if no part has a row."""
    found: Statistics | None = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found

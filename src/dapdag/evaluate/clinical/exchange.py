"""Validation of sites that may not share rows: each sends its statistics, and they are pooled."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from dapdag._runtime.text import quoted
from dapdag.evaluate.clinical.estimates import STATISTICS
from dapdag.evaluate.clinical.validation import Validation, pooled_over_sites

# What pooling needs of a site's statistic.
NEEDED = ("method", "statistic", "estimate", "standard_error", "transformed")


def site_results(validation: Validation) -> dict[str, Any]:
    """Statistics of every site with their standard errors, as plain values without a row.

    They hold the number of rows and of events of each site. `dapdag validate --json` prints them.

    Parameters
    ----------
    validation : Validation
        Of the sites that are here.

    Returns
    -------
    dict
        Event, threshold and the records of `sites`, ready for `json.dump`.
    """
    return {
        "event": validation.event,
        "threshold": None if validation.event is None else validation.threshold,
        "sites": json.loads(validation.sites.to_json(orient="records")),
    }


def pool_results(results: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Random-effects meta-analysis of statistics that sites computed by themselves.

    The same as `Validation.summary` of all rows in one place: REML, the interval of Hartung and
    Knapp, and the 95 % prediction interval for the next site.

    Parameters
    ----------
    results : mapping from str to mapping
        By the name of who sent them, what `site_results` gave there, or the parsed output of
        `dapdag validate --json`. All are of one fitted model, event and threshold.

    Returns
    -------
    DataFrame
        As `Validation.summary` gives it: one row per method and statistic.

    Raises
    ------
    ValueError
        If results are of different events or thresholds, or damaged.
    """
    if not results:
        raise ValueError("there are no results to pool")
    parts = [_checked(name, found) for name, found in results.items()]
    for what in ("event", "threshold"):
        given = {name: found.get(what) for name, found in results.items()}
        if len(set(given.values())) > 1:
            told = ", ".join(f"{value!r} at {name!r}" for name, value in given.items())
            raise ValueError(
                f"results are of different values of {what} ({told}): let every site validate "
                f"with the same --{what}"
            )
    return pooled_over_sites(pd.concat(parts, ignore_index=True))


def _checked(name: str, found: Mapping[str, Any]) -> pd.DataFrame:
    sites = found.get("sites")
    table = pd.DataFrame(sites if isinstance(sites, list) else [])
    missing = [column for column in NEEDED if column not in table]
    if missing:
        raise ValueError(
            f"the results of {name!r} have no {quoted(missing)}: they are not those of `dapdag "
            "validate --json`"
        )
    strange = sorted(set(table["statistic"]) - set(STATISTICS))
    if strange:
        raise ValueError(f"the results of {name!r} have unknown statistics: {quoted(strange)}")
    numbers = ["estimate", "standard_error", "transformed"]
    return table.astype(dict.fromkeys(numbers, float))

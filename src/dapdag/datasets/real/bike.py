"""Hourly bike rentals in eight seasons."""

from collections.abc import Sequence

import numpy as np

from dapdag.datasets.domain_data import DomainData
from dapdag.datasets.real.files import Folder, Publication, categories, numbers, read_table
from dapdag.datasets.simulation import check_choice

# The file's own names: its spring begins on 21 December.
SEASONS = ("spring", "summer", "fall", "winter")
FEATURES = (
    *("hr", "holiday", "weekday", "workingday", "weathersit"),
    *("temp", "atemp", "hum", "windspeed"),
)
LEVELS = {"hr": list(range(24)), "weekday": list(range(7)), "weathersit": [1, 2, 3, 4]}
BIKE_SHARING = Publication(
    name="bike_sharing",
    originals=("hour.csv",),
    source="the UCI Machine Learning Repository (archive.ics.uci.edu, dataset 275, Bike Sharing)",
)


def load_bike_sharing(
    folder: Folder = None, *, categorical: Sequence[str] = ("hr", "weekday", "weathersit")
) -> DomainData:
    """UCI Bike Sharing: rentals of 17,379 hours, one domain per season of 2011 and 2012.

    The label `cnt` is the number of rentals. Dates, and the casual and registered users who sum to
    the label, are not among the features.

    Parameters
    ----------
    folder : path-like, optional
        Holds ``bike_sharing/bike_sharing.csv`` or ``hour.csv``; by default the folder that
        ``DAPDAG_DATA`` names.
    categorical : sequence of str, default=('hr', 'weekday', 'weathersit')
        Those of hr, weekday and weathersit that are categories; the others are numbers.

    Returns
    -------
    DomainData
        Table, label and domain of every row.
    """
    for name in categorical:
        check_choice("categorical", name, list(LEVELS))
    prepared, originals = BIKE_SHARING.files(folder)
    path = prepared or originals[0]
    table = read_table(path, ("season", "yr", *FEATURES, "cnt"))
    X = numbers(table, FEATURES, path)
    X = X.assign(**{c: categories(X[c], LEVELS[c], path) for c in categorical})
    when = numbers(table, ("yr", "season"), path).astype(np.int64)
    domain = (2011 + when["yr"]).astype(str) + "_" + when["season"].map(_season_name)
    return DomainData(
        X=X,
        y=numbers(table, ["cnt"], path)["cnt"],
        sample_domain=domain.to_numpy(dtype=object),
        task="regression",
        name=BIKE_SHARING.name,
        description="Hourly bike rentals by weather and time of the day, in eight seasons.",
        licence="CC BY 4.0; cite H. Fanaee-T and J. Gama (2013)",
    )


def _season_name(number: int) -> str:
    check_choice("season", str(number), [str(k + 1) for k in range(len(SEASONS))])
    return SEASONS[number - 1]

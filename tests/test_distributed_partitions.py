"""Tables in partitions: answers are those of one table in memory, also when a worker dies."""

import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import quick_compile
from joblib import parallel_config
from numpy.testing import assert_allclose
from test_site_model import case, classes, numbers  # noqa: F401 - fixtures

from dapdag import GraphSearch
from dapdag.baselines import registry
from dapdag.datasets import make_regression_domains
from dapdag.distributed import environment, graph_statistics, impute, predict
from dapdag.evaluate import leave_one_domain_out
from dapdag.structure import summarise
from dapdag.warnings import MissingFeatureWarning, UnknownLevelWarning

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'dapdag[dask]'")
frames = pytest.importorskip("dask.dataframe")

# Dask writes Parquet in a way that pandas is about to remove.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
# Sums over parts are in double precision, those within a part are not.
EXACT = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(autouse=True)
def _here(request):
    """Without a cluster tasks run one after the other, in this process."""
    with dask.config.set(scheduler="sync"):
        yield


def two_sites(X):
    """Rows of two sites in turn, with a name and an index of their own."""
    table = X.assign(site=np.where(np.arange(len(X)) % 3 == 0, "south", "north"))
    table.insert(0, "patient", [f"p{k:03d}" for k in range(len(X))])
    return table.set_axis(np.arange(len(X)) * 2 + 5, axis=0)


def in_parts(table, rows=25):
    """Partitions, of which one is empty and every site spans several."""
    parts = [table[:0], *(table[k : k + rows] for k in range(0, len(table), rows))]
    return frames.from_map(lambda k: parts[k], range(len(parts)), meta=table[:0])


def answers_of(est, X, site):
    if hasattr(est, "classes_"):
        return est.predict_proba(X, sample_domain=site)[:, 1], "probability_1"
    return est.predict(X, sample_domain=site), "prediction"


def test_predictions_are_those_of_one_table(case):  # noqa: F811
    est, X, _ = case
    table = two_sites(X)
    found = predict(est, in_parts(table), "site", keep=["patient"]).compute()
    expected, column = answers_of(est, X, table["site"])
    assert list(found.index) == list(table.index)
    assert list(found["patient"]) == list(table["patient"])
    assert list(found["site"]) == list(table["site"])
    assert_allclose(found[column], expected, **EXACT)
    assert found["outside"].dtype == bool
    if column == "prediction":
        ends = est.predict_interval(X, 0.8, sample_domain=table["site"])
        eighty = predict(est, in_parts(table), "site", coverage=0.8).compute()
        assert_allclose(eighty[["low", "high"]], ends, **EXACT)


def test_environments_are_those_of_one_table(case):  # noqa: F811
    est, X, _ = case
    table = two_sites(X)
    found, expected = environment(est, in_parts(table), "site"), est.environment(X, table["site"])
    assert list(found.index) == list(expected.index)
    assert_allclose(found.astype(float), expected.astype(float), **EXACT)
    alone = environment(est, in_parts(table))
    assert_allclose(alone.astype(float), est.environment(X).astype(float), **EXACT)


def test_missing_cells_are_filled_as_in_one_table(classes):  # noqa: F811
    est, X, _ = classes
    table = two_sites(X)
    found = impute(est, in_parts(table), "site", keep=["patient"]).compute()
    expected = est.impute(X, sample_domain=table["site"])
    assert X["age"].isna().any() and not found.isna().any().any()
    assert list(found) == ["patient", "site", *X]
    assert_allclose(found["age"], expected["age"], **EXACT)
    assert list(found["ward"]) == list(expected["ward"])


def test_a_folder_of_files_is_predicted_and_written(numbers, tmp_path):  # noqa: F811
    est, X, _ = numbers
    in_parts(two_sites(X)).to_parquet(tmp_path / "rows")
    predict(est, tmp_path / "rows", keep=["patient"]).to_parquet(tmp_path / "found")
    found = pd.read_parquet(tmp_path / "found")
    assert list(found) == ["patient", "prediction", "low", "high", "outside"]
    assert_allclose(found["prediction"], est.predict(X), **EXACT)


def test_statistics_for_the_graph_add_up(classes):  # noqa: F811
    _, X, y = classes
    table = two_sites(X.assign(died=y)).drop(columns="patient")
    found = graph_statistics(in_parts(table), "site")
    whole = summarise(table.drop(columns="site"), table["site"])
    assert found.n_rows == len(X) and found.sites == whole.sites
    assert list(found.count) == list(whole.count)
    one, other = (GraphSearch().fit_statistics(s) for s in (found, whole))
    assert set(one.graph_.edges) == set(other.graph_.edges)
    assert_allclose(one.edge_probability_, other.edge_probability_, atol=1e-6)


def test_warnings_are_of_all_partitions_together(classes):  # noqa: F811
    est, X, _ = classes
    ward = X["ward"].astype(object).where(np.arange(len(X)) % 20 != 0, "z")
    table = two_sites(X.assign(ward=ward, dose=np.nan))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        impute(est, in_parts(table), "site").compute()
    unknown = [str(w.message) for w in told if w.category is UnknownLevelWarning]
    assert len(unknown) == 1 and "6 cell(s) hold 'z'" in unknown[0]
    unmeasured = [str(w.message) for w in told if w.category is MissingFeatureWarning]
    assert ["'south'" in text or "'north'" in text for text in unmeasured] == [True, True]


def test_wrong_input_is_named(numbers):  # noqa: F811
    est, X, _ = numbers
    table = in_parts(two_sites(X))
    name = X.columns[0]
    with pytest.raises(ValueError, match=f"no column {name!r}"):
        predict(est, table.drop(columns=name))
    with pytest.raises(ValueError, match="no column 'sit'; did you mean 'site'"):
        environment(est, table, "sit")
    with pytest.raises(ValueError, match="name of a column of X, and not ndarray"):
        predict(est, table, np.zeros(len(X)))
    with pytest.raises(ValueError, match="not DataFrame: a table in memory"):
        impute(est, X)
    with pytest.raises(ValueError, match="the table has no rows"):
        environment(est, table[table["patient"] == "nobody"])
    with pytest.raises(ValueError, match="the table has no rows"):
        graph_statistics(table[table["patient"] == "nobody"])
    with pytest.raises(ValueError, match="coverage=1.5"):
        predict(est, table, coverage=1.5)


def read(number, folder):
    """A partition; the first worker that reads the second one is killed."""
    killed = folder / "killed"
    if number == 1 and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return pd.read_parquet(folder / f"{number}.parquet")


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="pip install 'dapdag[dask]'")
    about = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    about["preload"] = [quick_compile.__file__]  # programs are those of this process then
    with distributed.LocalCluster(n_workers=2, **about) as local, distributed.Client(local):
        yield


def test_a_worker_that_is_killed_changes_nothing(cluster, numbers, tmp_path):  # noqa: F811
    est, X, _ = numbers
    table, folder = two_sites(X), Path(tmp_path)
    for k in range(4):
        table[k * 30 : (k + 1) * 30].to_parquet(folder / f"{k}.parquet")
    rows = frames.from_map(read, range(4), folder=folder, meta=table[:0])
    with dask.config.set(scheduler=None):
        found = predict(est, rows, "site", keep=["patient"]).compute()
    assert (folder / "killed").exists()
    assert list(found["patient"]) == list(table["patient"])
    assert_allclose(found["prediction"], est.predict(X, table["site"]), **EXACT)


def test_runs_are_spread_by_joblib(cluster):
    data = make_regression_domains(n_domains=4, n_samples=40, random_state=0)
    methods = {"linear": registry.make("linear", "regression")}
    alone = leave_one_domain_out(methods, data, distances=False)
    with parallel_config(backend="dask"), dask.config.set(scheduler=None):
        spread = leave_one_domain_out(methods, data, distances=False)
    assert spread.by_target("r2").equals(alone.by_target("r2"))

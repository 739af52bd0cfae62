"""Compiled programs: which fits share them, and several devices in place of one."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from dapdag import DAPDAGRegressor

GRAPH = nx.DiGraph([("a", "y"), ("y", "b"), ("a", "b")])
SMALL = {"hidden": 4, "n_members": 2, "max_epochs": 4, "random_state": 0}


def table(columns=3, n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, columns)), columns=list("abcdefg")[:columns])
    y = pd.Series(X.a + rng.normal(size=n), name="y")
    X["b"] += y
    return X, y, np.arange(n) % 3


def fitted(columns=3, n=60):
    X, y, site = table(columns, n)
    return DAPDAGRegressor(structure=GRAPH, **SMALL).fit(X, y, sample_domain=site)


@pytest.fixture
def compiled():
    """Names of the programs that are compiled, or read from the cache on disk, in a test."""
    names = []

    def listen(event, seconds, fun_name=None, **others):
        if event == "/jax/core/compile/backend_compile_duration":
            names.append(str(fun_name))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


def test_a_table_with_one_more_column_or_row_needs_no_new_program(compiled):
    fitted(columns=5)
    del compiled[:]
    fitted(columns=6)
    fitted(columns=6, n=63)
    assert not compiled
    fitted(columns=6, n=200)  # more rows than the padded size
    assert any("_advance" in name for name in compiled)


def test_two_devices_give_the_result_of_one(tmp_path):
    model = fitted()
    environment = dict(
        os.environ,
        XLA_FLAGS=f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2",
        PYTHONPATH=os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]),
    )
    code = (
        "import jax, sys, numpy as np\n"
        "from test_runtime_programs import fitted, table\n"
        "assert len(jax.devices()) == 2\n"
        "model = fitted()\n"
        "np.savez(sys.argv[1], model.predict(table()[0]), model.history_)\n"
    )
    where = tmp_path / "two.npz"
    subprocess.run([sys.executable, "-c", code, str(where)], env=environment, check=True)
    with np.load(where) as two:
        assert_allclose(two["arr_0"], model.predict(table()[0]), rtol=1e-5, atol=1e-5)
        assert_allclose(two["arr_1"], model.history_.to_numpy(), rtol=1e-4, atol=1e-5)

"""`dapdag graph` of a table: the graph is searched."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import dapdag


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """a → b → c at four sites; the level of b is another at each."""
    rng = np.random.default_rng(0)
    parts = []
    for k in range(4):
        a = rng.normal(size=150)
        b = np.tanh(2 * a) + 1.5 * k + 0.4 * rng.normal(size=150)
        c = 0.8 * b + 0.3 * b**2 / 4 + 0.4 * rng.normal(size=150)
        parts.append(pd.DataFrame({"a": a, "b": b, "c": c, "site": f"s{k}"}))
    path = tmp_path_factory.mktemp("graph") / "sites.csv"
    pd.concat(parts).to_csv(path, index=False)
    return path


def test_edges_and_shifts_are_listed(table: Path) -> None:
    found = json.loads(dapdag("graph", table, "--domain", "site", "--json").out)
    assert {frozenset((e["from"], e["to"])) for e in found["edges"]} == {
        frozenset("ab"),
        frozenset("bc"),
    }
    assert all(0 < e["probability"] <= 1 for e in found["edges"])
    shifts = {row["column"]: row["probability"] for row in found["mechanism_shift"]}
    assert shifts["b"] > 0.9 and shifts["a"] < 0.5
    shown = dapdag("graph", table, "--domain", "site")
    assert shown.code == 0 and "→" in shown.out and "differ between sites" in shown.out


def test_the_picture_is_written(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "dag.svg"
    assert dapdag("graph", table, "--domain", "site", "-o", path).code == 0
    text = path.read_text("utf-8")
    assert "mechanism differs between sites" in text and "probability of the edge" in text


def test_what_is_known_is_honoured(table: Path) -> None:
    known = ("--tier", "c", "--tier", "a,b", "--forbid", "a>b")
    found = json.loads(dapdag("graph", table, "--domain", "site", *known, "--json").out)
    edges = {(e["from"], e["to"]) for e in found["edges"]}
    assert edges and not edges & {("a", "b"), ("a", "c"), ("b", "c")}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--domain", "place"], "no such column"),
        (["--domain", "site", "--forbid", "a-b"], "CAUSE>EFFECT"),
        (["--domain", "site", "--require", "a>z"], "'z'"),
        (["--domain", "site", "--require", "a>b", "--require", "b>a"], "cycle"),
    ],
)
def test_wrong_options_are_named(table: Path, options: list[str], said: str) -> None:
    done = dapdag("graph", table, *options)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_without_sites_all_rows_are_one(table: Path) -> None:
    done = dapdag("graph", table, "--drop", "site")
    assert done.code == 0 and "one site" in done.err

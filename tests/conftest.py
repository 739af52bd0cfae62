"""Fixtures and settings for all tests: no windows, no touching of the user's cache."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from quick_compile import compile_quickly

# Files that take longest come first: so the workers end at about the same time.
SLOWEST = (
    "test_docs",
    "test_estimators_sklearn",
    "test_experiments_paper",
    "test_estimators",
    "test_training_graph",
    "test_examples",
    "test_paper_statements",
    "test_cli_demo",
    "test_estimators_tables",
    "test_baselines_registry",
    "test_persistence",
)

# Tests about something else, on small tables that are drawn: whether a site of theirs lies outside
# the sources (mostly, too few rows to tell), and whether one column explains most of the label,
# depends on the draw. Elsewhere an unexpected warning of that kind fails a test like any other.
DRAWN = (
    *("test_api_reference", "test_bound", "test_data_screen", "test_distributed_partitions"),
    *("test_distributed_summary", "test_docs", "test_examples", "test_explain_site_difference"),
    *("test_label_bounds", "test_paper_statements", "test_persistence", "test_readme"),
    *("test_runtime_programs", "test_site_model", "test_site_model_labels", "test_sklearn_shares"),
)
DRAWN_FAMILIES = (
    *("test_baselines_", "test_cli", "test_estimators", "test_evaluate_", "test_experiments_"),
    *("test_inference_", "test_plotting", "test_report_", "test_training"),
)
WARNINGS_OF_A_DRAW = ("OutsideWarning", "LeakageWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files; ``--no-loadscope-reorder`` keeps pytest-xdist from undoing it."""
    rank = {name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(SLOWEST)))
    for item in items:
        name = item.path.stem
        if name in DRAWN or name.startswith(DRAWN_FAMILIES):
            for warning in WARNINGS_OF_A_DRAW:
                ignored = f"ignore::dapdag.warnings.{warning}"
                item.add_marker(pytest.mark.filterwarnings(ignored), append=False)


def pytest_configure(config: pytest.Config) -> None:
    """Set what must stand before anything imports matplotlib or compiles with JAX.

    Compiled programs go under pytest's own cache folder: the workers of pytest-xdist and the next
    run find them there, and ``make clean`` removes them.
    """
    os.environ["MPLBACKEND"] = "Agg"
    os.environ.pop("DAPDAG_CACHE", None)
    if hasattr(config, "cache"):
        os.environ["DAPDAG_CACHE_DIR"] = str(config.cache.mkdir("dapdag"))
    else:
        os.environ["DAPDAG_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "dapdag-tests")
    # Compiling a program in many pieces at once gains nothing where every core runs tests.
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_parallel_codegen_split_count=1".strip()
    compile_quickly()


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets that are not committed, named by ``DAPDAG_DATA``."""
    folder = os.environ.get("DAPDAG_DATA")
    if not folder:
        pytest.skip("DAPDAG_DATA does not name the folder of data sets")
    if not Path(folder).is_dir():
        pytest.skip(f"DAPDAG_DATA names {folder}, which is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, the rows of two new sites, and files of the first of them."""
    from cli_helpers import assert_fits_a_terminal, dapdag

    from dapdag.datasets import make_regression_domains

    folder = tmp_path_factory.mktemp("sites")
    data = make_regression_domains(n_domains=5, n_samples=40, random_state=0)
    table = data.X.assign(outcome=data.y, hospital=[f"h{d}" for d in data.sample_domain])
    known = table["hospital"].isin(["h0", "h1", "h2"])
    table[known].to_csv(folder / "data.csv", index=False)
    new = table[~known].drop(columns="outcome")
    new.to_csv(folder / "new.csv", index=False)
    north = new[new["hospital"] == "h3"].drop(columns="hospital")
    north.to_csv(folder / "north.csv", index=False)
    north[:25].to_csv(folder / "yesterday.csv", index=False)
    north[25:].to_csv(folder / "today.csv", index=False)
    north[:1].to_csv(folder / "row.csv", index=False)
    tiny = ["--set", "n_members=1", "--set", "hidden=4", "--set", "max_epochs=6"]
    done = dapdag(
        *("fit", folder / "data.csv", "--label", "outcome", "--domain", "hospital"),
        *("-o", folder / "model.dapdag", "--quiet", *tiny),
    )
    assert done.code == 0, done.err
    done = dapdag("adapt", folder / "model.dapdag", folder / "north.csv", "-o", folder / "n.dapdag")
    assert done.code == 0, done.err
    # lines with a path are as long as it is
    assert_fits_a_terminal("\n".join(x for x in done.out.splitlines() if str(folder) not in x))
    assert "a site of 40 rows" in done.out and "dapdag predict" in done.out
    return folder

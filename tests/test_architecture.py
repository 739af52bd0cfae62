"""The rooms of the package: which may import which, how long a file may be, what lies in the hall.

Read with `ast`, so that nothing is imported.
"""

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "dapdag"
MOST_LINES = 320

# A room imports only from rooms above it; so does a public door, a module directly under the
# package. Imports inside functions count as well, those for type checking do not.
ORDER = [
    *(
        "_runtime",
        "warnings",
        "model",
        "graph",
        "data",
        "record",
        "structure",
        "inference",
        "training",
    ),
    *("training", "storage", "_sklearn", "estimators", "bound", "effects", "persistence"),
    "explain",
    *("graph_baselines", "baselines", "datasets", "doctor", "evaluate", "io", "plotting"),
    *("graph_files", "experiments", "distributed", "report", "demo", "cli"),
]
# Known exceptions, each with its reason.
ALLOWED = {
    ("_sklearn", "persistence"): "`save` is a method of every estimator, loaded when it is called",
}
DOORS = {"__init__", "__main__", *(name for name in ORDER if not (SRC / name).is_dir())}


def modules():
    return sorted(SRC.rglob("*.py"))


def room_of(path):
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path):
    """Rooms of dapdag that a file imports, with the line."""
    package = ("dapdag", *path.relative_to(SRC).with_suffix("").parts[:-1])
    for node in ast.walk(without_type_checking(ast.parse(path.read_text("utf-8")))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            names = [(*module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "dapdag" and len(name) > 1 and name[1] in ORDER:
                yield name[1], node.lineno


def without_type_checking(tree):
    """The tree without the bodies of `if TYPE_CHECKING:`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    return tree


def test_every_room_has_a_place_in_the_order():
    assert {room_of(path) for path in modules()} - {"__init__", "__main__"} <= set(ORDER)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SRC)))
def test_a_room_imports_only_from_rooms_above_it(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for other, line in imported_rooms(path):
        upward = ORDER.index(other) <= ORDER.index(room)
        assert upward or (room, other) in ALLOWED, (
            f"{path.relative_to(SRC)}:{line}: {room} must not import {other}, which stands below it"
        )


def test_inference_and_loading_know_nothing_of_training():
    for room in ("inference", "storage"):
        for path in (SRC / room).rglob("*.py"):
            assert "training" not in {other for other, _ in imported_rooms(path)}, path


def test_the_loss_is_known_to_model_and_training_alone():
    for path in modules():
        if room_of(path) not in ("model", "training", "baselines"):
            assert not re.search(r"model(\.objective| import objective)", path.read_text("utf-8"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SRC)))
def test_a_file_holds_one_idea(path):
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= MOST_LINES, f"{lines} lines: find the seam"


def test_only_public_doors_lie_directly_under_the_package():
    found = {path.stem for path in SRC.glob("*.py")}
    assert found <= DOORS


@pytest.mark.parametrize("pair", ALLOWED)
def test_exceptions_are_needed(pair):
    room, other = pair
    paths = [path for path in modules() if room_of(path) == room]
    assert any(other == found for path in paths for found, _ in imported_rooms(path))

"""Where the weights of TabPFN are, and what is missing where it cannot run.

They are not part of this package: `benchmarks/fetch_weights.py` gets them, with the code that reads
them, from the package index. ``DAPDAG_TABPFN`` names their folder.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from ..._runtime.cache import cache_dir

VARIABLE = "DAPDAG_TABPFN"


@dataclass(frozen=True)
class Version:
    """A release of TabPFN: its subfolder holds the package `tabpfn` and the file of weights."""

    name: str
    weights: str
    most_rows: int
    most_columns: int
    most_classes: int

    @property
    def folder(self) -> Path:
        return weights_folder() / self.name

    @property
    def file(self) -> Path:
        return self.folder / self.weights


# Limits are those of the authors. No weights for numbers exist of the first version, and those for
# classes of the second are in no package.
VERSIONS = {
    "classification": Version("v1", "prior_diff_real_checkpoint_n_0_epoch_42.cpkt", 1000, 100, 10),
    "regression": Version("v2", "tabpfn-v2-regressor-2noar4o2.ckpt", 10_000, 500, 0),
}


def weights_folder() -> Path:
    """The folder that ``DAPDAG_TABPFN`` names, or one in the user's cache."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else cache_dir() / "tabpfn"


def missing_weights(task: str) -> str | None:
    """What is not there and how to get it; None where everything is."""
    version = VERSIONS[task]
    code = version.folder / "tabpfn" / "__init__.py"
    absent = [path for path in (version.file, code) if not path.is_file()]
    if not absent:
        return None
    return (
        f"TabPFN for {task} needs {absent[0]}, which is not there: run "
        f"benchmarks/fetch_weights.py, or name the folder that has {version.name} in {VARIABLE}"
    )

"""Take tables and figures of `dapdag reproduce` into the manual.

    dapdag reproduce all -o reproduced
    python docs/results/collect.py reproduced

Each experiment gives `runs/NAME.md`, which the page NAME.md includes, and `runs/NAME.png`.
"""

import shutil
import sys
from pathlib import Path

RUNS = Path(__file__).parent / "runs"


def collect(folder):
    for table in sorted(Path(folder).glob("*/table.md")):
        name = table.parent.name
        _, _, text = table.read_text(encoding="utf-8").partition("\n")  # without its title
        (RUNS / f"{name}.md").write_text(text.lstrip(), encoding="utf-8")
        shutil.copyfile(table.parent / "figure.png", RUNS / f"{name}.png")


if __name__ == "__main__":
    collect(sys.argv[1])

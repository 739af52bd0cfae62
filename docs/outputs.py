"""What the Python blocks of a page print, to be shown below them.

    python docs/outputs.py quickstart

The page's commands and blocks run as they stand, with default settings, in an empty folder: this
takes minutes. `dapdag evaluate` is left out. tests/test_docs.py compares what stands in the page.
"""

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
os.environ["MPLBACKEND"] = "Agg"


def main() -> None:
    from cli_helpers import dapdag
    from manual import Command, blocks_of
    from test_docs import run_python

    page, namespace = f"{sys.argv[1]}.md", {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in blocks_of(page):
            if block.language == "python" and block.can_run:
                print(f"--- line {block.line}\n{run_python(page, block, namespace)}", flush=True)
            for line in block.commands if block.language == "sh" and block.can_run else ():
                words = Command.of(line).words
                if words[0] == "dapdag" and words[1] not in ("evaluate", "demo", "doctor"):
                    done = dapdag(*words[1:])
                    print(f"--- {line}\n{done.out or done.err}", flush=True)


if __name__ == "__main__":
    main()

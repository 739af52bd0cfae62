"""Write below the blocks of a page what they print.

    python docs/outputs.py quickstart

The page's commands and blocks of Python run as they stand, with default settings, in an empty
folder: this takes minutes. What a block of Python prints is written below it; what commands print,
where a block of output stands below them already. tests/test_docs.py compares them.
"""

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
os.environ["MPLBACKEND"] = "Agg"

# Commands that take minutes and write no file for others: run only where their output is shown.
LONG = ("evaluate", "demo", "doctor", "reproduce")


def main() -> None:
    from manual import DOCS, Command, blocks_of, text_of
    from test_docs import run_dapdag, run_python

    page, namespace = f"{sys.argv[1]}.md", {"__name__": "__main__"}
    blocks, printed = blocks_of(page), {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in blocks:
            if block.language == "python" and block.can_run:
                printed[block.line] = run_python(page, block, namespace)
            if block.language == "sh" and block.can_run:
                commands = [Command.of(line) for line in block.commands]
                outputs = [
                    run_dapdag(command)
                    for command in commands
                    if command.words[0] == "dapdag"
                    and (block.output is not None or command.words[1] not in LONG)
                ]
                printed[block.line] = "" if block.output is None else "\n".join(outputs)
        os.chdir(DOCS)

    text = text_of(page)
    for block in reversed(blocks):
        if shown := printed.get(block.line, ""):
            lines = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
            below = f"\n\n```output\n{lines}\n```"
            text = text[: block.end] + below + text[block.end_of_output :]
    (DOCS / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

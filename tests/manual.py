"""Pages of the manual, and what is in them to be run."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# A block of output that stands below a block of code belongs to it.
FENCE = re.compile(
    r"(?:^<!-- needs: (?P<needs>\w+) -->\n+)?^```(?P<language>\w+)\n(?P<code>.*?)^```$"
    r"(?P<below>\n+^```output\n(?P<output>.*?)^```$)?",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A piece of code in a page; `needs` is a package or an environment variable.

    `output` is what stands below it as its output. The text of the page goes on from `end` behind
    the code, and from `end_of_output` behind its output.
    """

    language: str
    code: str
    line: int
    needs: str | None
    output: str | None
    end: int
    end_of_output: int

    @property
    def can_run(self) -> bool:
        if self.needs is None:
            return True
        return bool(os.environ.get(self.needs)) if self.needs.isupper() else _there(self.needs)

    @property
    def commands(self) -> list[str]:
        """Lines of a shell block, without comments, continued lines joined."""
        joined = re.sub(r"\\\n\s*", "", self.code)
        lines = (re.sub(r"(^|\s+)#.*$", "", line).strip() for line in joined.splitlines())
        return [line for line in lines if line]


@dataclass(frozen=True)
class Command:
    """One line for a shell: ``NAME=value program arguments``."""

    environment: dict[str, str]
    words: list[str]

    @staticmethod
    def of(line: str) -> Command:
        words = shlex.split(line)
        environment = {}
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        return Command(environment, words)


def pages() -> list[str]:
    """All pages but the results, which others write, by their path below docs."""
    found = (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    return sorted(page for page in found if not page.startswith(("_build/", "results/")))


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    text = text_of(page)
    return [
        Block(
            language=m["language"],
            code=m["code"],
            line=text[: m.start("code")].count("\n") + 1,
            needs=m["needs"],
            output=m["output"],
            end=m.end("code") + len("```"),
            end_of_output=m.end(),
        )
        for m in FENCE.finditer(text)
    ]


def _there(package: str) -> bool:
    return find_spec(package) is not None

"""Docstrings of this project for numpydoc.

Here ``name : text`` goes on as a sentence over the next lines, where numpydoc expects a type on the
first line and the text below. A description is moved below its name; a type stays. Formulas and
code, which stand indented in the text, are shown as they are.
"""

import re
from typing import Any

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Yields")
ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \w+)*) : (?P<text>.+)$")
FULL_LINE = 78


def moved(lines: list[str]) -> list[str]:
    """The lines with descriptions below the names that they belong to."""
    out: list[str] = []
    inside = False
    k = 0
    while k < len(lines):
        line = lines[k]
        if k + 1 < len(lines) and line and set(lines[k + 1]) == {"-"}:
            inside = line in SECTIONS[:2]
            out += [line, lines[k + 1]]
            k += 2
            continue
        # Names that fill more than one line.
        while inside and re.fullmatch(r"\w+(?:, \w+)*,", line) and k + 1 < len(lines):
            k += 1
            line = f"{line} {lines[k]}"
        entry = ENTRY.match(line) if inside else None
        if entry is None:
            out.append(line)
            k += 1
            continue
        body = []
        k += 1
        while k < len(lines) and (lines[k].startswith(" ") or not lines[k].strip()):
            body.append(lines[k].strip())
            k += 1
        out += _entry(entry["names"], entry["text"], body, len(lines[k - len(body) - 1]))
    return out


def _entry(names: str, text: str, body: list[str], length: int) -> list[str]:
    follows = next(iter(body), "")
    begins_anew = follows[:1].isupper() or follows[:1] in ("`", "(")
    ended = text[-1] in ".,;:"
    if follows and begins_anew and not ended and length < FULL_LINE:
        return [f"{names} : {text}", *("    " + one if one else "" for one in body)]
    return [names, "    " + text, *("    " + one if one else "" for one in body)]


def with_literal_blocks(lines: list[str]) -> list[str]:
    """Indented paragraphs before the first section as literal blocks."""
    titles = [k for k in range(1, len(lines)) if lines[k] and set(lines[k]) == {"-"}]
    end = titles[0] - 1 if titles else len(lines)
    out: list[str] = []
    inside = False
    for k, line in enumerate(lines[:end]):
        indented = line.startswith("    ")
        begins = indented and not inside and k > 0 and not lines[k - 1].strip()
        if begins and not _last_text(out).endswith("::"):
            out += ["::", ""]
        if line.strip():
            inside = indented
        out.append(line)
    return out + lines[end:]


def _last_text(lines: list[str]) -> str:
    return next((line for line in reversed(lines) if line.strip()), "")


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = with_literal_blocks(moved(lines))


def setup(app: Any) -> dict[str, bool]:
    # Before numpydoc, which listens at the usual 500.
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

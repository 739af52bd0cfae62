"""Docstrings of this project for Sphinx: formulas and code, which stand indented in the text, are
shown as they are."""

from typing import Any


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
    lines[:] = with_literal_blocks(lines)


def setup(app: Any) -> dict[str, bool]:
    # Before numpydoc, which listens at the usual 500.
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

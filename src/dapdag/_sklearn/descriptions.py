"""Docstrings of estimators that share parameters: each parameter is described once."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

Class = TypeVar("Class", bound=type)
TITLE = re.compile(r"^(\w[\w ]*)\n-+\n", flags=re.MULTILINE)
ORDER = ("Parameters", "Attributes", "Notes", "Examples")


def described_as(other: type, attributes: Sequence[str] | None = None) -> Callable[[Class], Class]:
    """Complete the docstring of a class by entries of another one's.

    Parameters that only the other class has are left out, and an entry of the class's own stands
    before one of the other's. Of the attributes those named are taken, by default all.
    """

    def complete(cls: Class) -> Class:
        if not cls.__doc__ or not other.__doc__:  # python -OO
            return cls
        text, own = _sections(cls.__doc__)
        _, given = _sections(other.__doc__)
        names = list(inspect.signature(cls).parameters)
        found = _entries(given.get("Parameters", "")) | _entries(own.get("Parameters", ""))
        own["Parameters"] = "\n".join(found[name] for name in names if name in found)
        known = _entries(given.get("Attributes", ""))
        kept = {name: known[name] for name in (known if attributes is None else attributes)}
        kept |= _entries(own.get("Attributes", ""))
        own["Attributes"] = "\n".join(kept.values())
        parts = [f"{title}\n{'-' * len(title)}\n{own[title]}" for title in ORDER if own.get(title)]
        cls.__doc__ = "\n\n".join([text, *parts])
        return cls

    return complete


def _sections(docstring: str) -> tuple[str, dict[str, str]]:
    """What stands before the first title, and the text below each title."""
    first, *rest = TITLE.split(inspect.cleandoc(docstring))
    return first.rstrip(), {k: v.strip("\n") for k, v in zip(rest[::2], rest[1::2], strict=True)}


def _entries(section: str) -> dict[str, str]:
    """The entry of each name; names that share one are given one each."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section):
        names, _, rest = entry.partition(" : ")
        found |= {name: f"{name} : {rest}" for name in names.split(", ") if rest}
    return found

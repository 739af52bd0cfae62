"""Names in messages: lists that stay short, and the name that was probably meant."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Sequence


def listed(names: Iterable[object], most: int = 8) -> str:
    """Quoted names with commas between them; beyond `most` only how many there are."""
    names = list(names)
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def counted(n: int, what: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be."""
    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def suggestion(name: str, known: Sequence[str], what: str) -> str:
    """What to say after an unknown name: the one that was meant, or all that there are."""
    meant = nearest(name, known)
    return f"did you mean {meant!r}?" if meant else f"{what} {listed(known)}"


def expand(patterns: Iterable[str], known: Sequence[str], option: str, where: str) -> list[str]:
    """Names given as a list, with commas between them, or with wildcards, in the order of `known`.

    A name that holds a comma or a star is itself where it is known.
    """
    found: set[str] = set()
    for given in patterns:
        for part in [given] if given in known else given.split(","):
            name = part.strip()
            hits = [name] if name in known else fnmatch.filter(known, name)
            if not hits:
                raise ValueError(
                    f"{option} {name}: {where} has no such column; "
                    + suggestion(name, known, "its columns are")
                )
            found.update(hits)
    return [name for name in known if name in found]

"""Text for people: numbers, shares, counts and lists; the name that was probably meant."""

from __future__ import annotations

import difflib
import fnmatch
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

# Groups digits and precedes units on HTML pages; terminals and messages use commas.
NARROW_SPACE = "\u202f"


def number(value: float | None, digits: int = 3) -> str:
    """A number as one reads it: some significant digits, thousands apart, a true minus."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 10**digits:
        text = f"{value:,.0f}".replace(",", NARROW_SPACE)
    elif size < 1e-4 and size > 0:
        text = f"{value:.{digits - 1}e}"
    else:
        text = f"{value:.{digits}g}"
        if "e" in text:
            text = f"{value:.0f}"
    return _minus(text)


def score(value: float) -> str:
    """A score with three decimals, so that columns of them line up."""
    return _minus(f"{value:.3f}") if abs(value) < 100 else number(value)


def signed(value: float, digits: int = 2) -> str:
    text = number(value, digits)
    return text if value <= 0 or math.isnan(value) else f"+{text}"


def percent(share: float) -> str:
    """A share in whole per cent; what is neither none nor all never reads so."""
    if math.isnan(share):
        return "–"
    if 0 < share < 0.005:
        return f"<1{NARROW_SPACE}%"
    if 0.995 < share < 1:
        return f">99{NARROW_SPACE}%"
    return f"{share:.0%}".replace("%", f"{NARROW_SPACE}%")


def fine_percent(share: float) -> str:
    """A share in tenths of a per cent, for terminals; 0 is a dash."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.1f} %" if share else "–"


def fixed(value: float | None, decimals: int = 2) -> str:
    """A number with so many decimals, or a dash where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return _minus(f"{value:.{decimals}f}")


def plus_or_minus(value: float, decimals: int = 2) -> str:
    """A number with its sign and so many decimals."""
    return _minus(f"{value:+.{decimals}f}")


def significant(value: float, digits: int = 4) -> str:
    """A number in Python's shortest form with so many significant digits."""
    return _minus(f"{float(value):.{digits}g}")


def interval_text(estimate: float, low: float, high: float, decimals: int = 2) -> str:
    """`0.84 (0.79, 0.88)`; without an estimate `0.79 to 0.88`, without an interval `0.84`."""
    if math.isnan(low) or math.isnan(high):
        return _plain(estimate, decimals)
    ends = _plain(low, decimals), _plain(high, decimals)
    if math.isnan(estimate):
        return f"{ends[0]} to {ends[1]}"
    return f"{_plain(estimate, decimals)} ({ends[0]}, {ends[1]})"


def _plain(value: float, decimals: int) -> str:
    """Fixed decimals; none of large numbers, whose thousands stand apart."""
    return fixed(float(value), decimals) if not abs(value) >= 1000 else _minus(f"{value:,.0f}")


def span(low: float, high: float) -> str:
    """A range of numbers: `1.5 … 7`."""
    return f"{significant(low)} … {significant(high)}"


def _minus(text: str) -> str:
    """A true minus, and none before a zero."""
    return text.removeprefix("-") if not text.strip("-.0") else text.replace("-", "−")


def level(value: Any) -> str:
    """A class or a value of a discrete column as people write it: 1 for 1.0."""
    whole = isinstance(value, Real) and not isinstance(value, Integral)
    return str(int(value)) if whole and float(value).is_integer() else str(value)


def counted(n: int, one: str, many: str | None = None, thousands: str = ",") -> str:
    """`1 row`, `2,000 rows`."""
    return f"{n:,}".replace(",", thousands) + " " + (one if n == 1 else many or one + "s")


def plural(n: int, one: str, many: str | None = None) -> str:
    """`counted`, as pages write it."""
    return counted(n, one, many, NARROW_SPACE)


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Quoted names with commas between them; beyond `most` only how many more there are."""
    names = list(names)
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def listing(items: Iterable[object], most: int = 6) -> str:
    """`a, b and c`, or the first few `and 7 more`."""
    names = [str(item) for item in items]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be."""
    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def suggestion(name: str, known: Sequence[str], what: str) -> str:
    """What to say after an unknown name: the one that was meant, or all that there are."""
    meant = nearest(name, known)
    return f"did you mean {meant!r}?" if meant else f"{what} {quoted(known)}"


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

"""HTML and SVG from Python: every text is escaped unless it is `Markup` already."""

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

VOID = {"meta", "br", "hr", "rect", "circle", "line", "path", "polygon", "polyline", "ellipse"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(value: Any) -> Markup:
    """Anything as HTML; a list is its parts one after the other, None is nothing."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup("")
    if isinstance(value, list | tuple):
        return Markup("".join(markup(part) for part in value))
    return Markup(html.escape(str(value)))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; `class_` and `aria_label` stand for class and aria-label, None for absence."""
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID and not children:
        return Markup(f"<{opening}>" if name in ("meta", "br", "hr") else f"<{opening}/>")
    return Markup(f"<{opening}>{markup(children)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(text)}"'


def table(
    headings: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    caption: Any,
    numeric: Iterable[int] = (),
    class_: str | None = None,
) -> Markup:
    """A table whose first column names the rows; `numeric` columns are set flush right."""
    right = set(numeric)

    def look(k: int) -> str | None:
        return "number" if k in right else None

    head = tag("tr", [tag("th", h, scope="col", class_=look(k)) for k, h in enumerate(headings)])
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row", class_=look(0)),
            [tag("td", cell, class_=look(k)) for k, cell in enumerate(row[1:], start=1)],
        )
        for row in rows
    ]
    whole = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", head),
        tag("tbody", body),
        class_=class_,
    )
    # A wide table scrolls in its own box, also by keyboard.
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def paragraph(*children: Any, class_: str | None = None) -> Markup:
    return tag("p", *children, class_=class_)


def details(summary: str, *children: Any) -> Markup:
    """Text that unfolds, for those who want to know more."""
    return tag("details", tag("summary", summary), *children)


def figure(picture: Markup, caption: Any) -> Markup:
    return tag("figure", picture, tag("figcaption", caption))


def number(value: float, digits: int = 3) -> str:
    """A number as one reads it: some significant digits, thousands apart, a true minus."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 10**digits:
        text = f"{value:,.0f}".replace(",", "\u202f")
    elif size < 1e-4 and size > 0:
        text = f"{value:.{digits - 1}e}"
    else:
        text = f"{value:.{digits}g}"
        if "e" in text:
            text = f"{value:.0f}"
    return text.replace("-", "−")


def score(value: float) -> str:
    """A score with three decimals, so that columns of them line up."""
    return f"{value:.3f}".replace("-", "−") if abs(value) < 100 else number(value)


def signed(value: float, digits: int = 2) -> str:
    text = number(value, digits)
    return text if value <= 0 or math.isnan(value) else f"+{text}"


def percent(share: float) -> str:
    """A share in per cent; what is neither none nor all never reads so."""
    if math.isnan(share):
        return "–"
    if 0 < share < 0.005:
        return "<1\u202f%"
    if 0.995 < share < 1:
        return ">99\u202f%"
    return f"{share:.0%}".replace("%", "\u202f%")


def level(value: Any) -> str:
    """A value of a discrete column; whole numbers lose their decimals."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def plural(count: int, one: str, many: str | None = None) -> str:
    """`3 sites`, `1 site`."""
    word = one if count == 1 else (many or one + "s")
    return f"{count:,}".replace(",", "\u202f") + " " + word


def listing(items: Iterable[Any], most: int = 6) -> str:
    """`a, b and c`, or the first few `and 7 more`."""
    names = [str(item) for item in items]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"

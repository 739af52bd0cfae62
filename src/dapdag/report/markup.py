"""HTML and SVG from Python: every text is escaped unless it is `Markup` already."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

LONGEST_NAME = 80
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
            tag("th", _shortened(row[0]), scope="row", class_=look(0)),
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


def _shortened(name: Any) -> Any:
    """A name of any length in a cell; the whole of it is shown to the pointer.

    In a narrow cell it breaks behind an underscore.
    """
    text = str(name)
    if isinstance(name, Markup):
        return name
    if len(text) > LONGEST_NAME:
        return tag("span", f"{text[: LONGEST_NAME - 1]}…", title=text)
    return Markup(markup(text).replace("_", "_<wbr>"))


def paragraph(*children: Any, class_: str | None = None) -> Markup:
    return tag("p", *children, class_=class_)


def details(summary: str, *children: Any, class_: str | None = None) -> Markup:
    """Text that unfolds, for those who want to know more."""
    return tag("details", tag("summary", summary), *children, class_=class_)


def figure(picture: Markup, caption: Any) -> Markup:
    return tag("figure", picture, tag("figcaption", caption))

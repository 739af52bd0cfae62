"""`--set name=value`: text to the parameters of an estimator, with their types."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Sequence
from typing import Any

# Parameters that have an option of their own.
OPTIONS = {"categorical_features": "--categorical", "verbose": "--quiet"}
_OPEN = ("none", "null", "")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse_settings(given: Sequence[str], estimator: type) -> dict[str, Any]:
    """Parameters by name; a ValueError names what is unknown, repeated or of the wrong type."""
    types_of = _parameter_types(estimator)
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise ValueError(f"--set {text}: write it as name=value, for example --set hidden=32")
        if name in OPTIONS:
            raise ValueError(f"--set {name}: it has an option of its own, {OPTIONS[name]}")
        if name not in types_of:
            from dapdag._runtime.text import suggestion

            known = [name for name in types_of if name not in OPTIONS]
            raise ValueError(
                f"--set {name}: there is no such parameter; "
                + suggestion(name, known, "parameters are")
            )
        if name in found:
            raise ValueError(f"--set {name}: it is set twice")
        if name == "label_bounds":
            found[name] = _bounds(value)
        else:
            found[name] = _value(name, value, types_of[name])
    return found


def _parameter_types(estimator: type) -> dict[str, tuple[type, ...]]:
    """Each parameter's types; what may be anything is a whole number, or None."""
    constructor = estimator.__init__  # type: ignore[misc]
    hints = typing.get_type_hints(constructor)
    found = {}
    for name in list(inspect.signature(constructor).parameters)[1:]:
        hint = hints.get(name, Any)
        union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        members = typing.get_args(hint) if union else (hint,)
        plain = tuple(m for m in members if m in (bool, int, float, str, types.NoneType))
        found[name] = plain or (int, types.NoneType)
    return found


def _bounds(text: str) -> tuple[float | None, float | None] | str | None:
    """`0,none` and the like; `auto`; or `none`."""
    if text.lower() == "auto":
        return "auto"
    parts = [part.strip().lower().strip("()[] ") for part in text.split(",")]
    if parts == ["none"]:
        return None
    if len(parts) == 2:
        with contextlib.suppress(ValueError):
            low, high = (None if part in _OPEN else float(part) for part in parts)
            return low, high
    raise ValueError(
        f"--set label_bounds={text}: write two numbers or none, for example label_bounds=0,none; "
        "or auto"
    )


def _value(name: str, text: str, kinds: tuple[type, ...]) -> Any:
    if types.NoneType in kinds and text.lower() in _OPEN:
        return None
    if bool in kinds and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    if str in kinds and text:
        return text
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    expected = " or ".join(word for kind, word in words.items() if kind in kinds)
    raise ValueError(f"--set {name}={text}: {name} is {expected}")

"""The API reference: parameters with type and default, what is returned, examples that run.

Docstrings follow numpydoc; `make docs` also runs numpydoc's own validation.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any

import pytest
from manual import DOCS
from shrunk import shrink_estimators

from dapdag.warnings import DapdagWarning

TITLE = re.compile(r"^(\w[\w ]*)\n-+$", flags=re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>[\w*]+(?:, [\w*]+)*) : (?P<type>.+)$", flags=re.MULTILINE)
# What a user calls first: an example each.
MAIN = (
    "dapdag.DAPDAGRegressor",
    "dapdag.DAPDAGClassifier",
    "dapdag.DAPDAGRegressor.at",
    "dapdag.SiteModel",
    "dapdag.EnvironmentFeatures",
    "dapdag.load",
    "dapdag.GraphSearch",
    "dapdag.graph.extract_dag",
    "dapdag.graph.structural_hamming_distance",
    "dapdag.datasets.DomainData.leave_out",
    "dapdag.datasets.make_regression_domains",
    "dapdag.datasets.make_classification_domains",
    "dapdag.datasets.make_anticausal_domains",
    "dapdag.evaluate.leave_one_domain_out",
    "dapdag.evaluate.validate",
    "dapdag.evaluate.select",
    "dapdag.explain.site_difference",
    "dapdag.explain.track",
    "dapdag.distributed.summarise",
    "dapdag.distributed.adapt",
    "dapdag.io.read_table",
    "dapdag.io.prepare_study",
    "dapdag.plotting.plot_graph",
    "dapdag.plotting.plot_environments",
    "dapdag.plotting.plot_predictions",
    "dapdag.report.write_report",
    "dapdag.effects.environment_effects",
    "dapdag.bound.generalisation_bound",
    "dapdag.baselines.registry.make",
    "dapdag.baselines.MissForestImputer",
    "dapdag.graph_baselines.r2_sort_n_regress",
)


@dataclass(frozen=True)
class Documented:
    """A class, function, method or property of the reference."""

    name: str
    object: Any

    @property
    def code(self) -> Any:
        """What has the signature and the docstring."""
        found = getattr(self.object, "fget", None) or getattr(self.object, "__func__", self.object)
        return found if isinstance(found, type) else inspect.unwrap(found)

    @property
    def sections(self) -> dict[str, str]:
        first, *rest = TITLE.split(inspect.getdoc(self.code) or "")
        return {"": first} | dict(zip(rest[::2], rest[1::2], strict=True))

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        found = inspect.signature(self.code).parameters
        return {name: p for name, p in found.items() if name not in ("self", "cls")}

    def entries(self, *titles: str) -> dict[str, str]:
        """Type of each name in these sections."""
        text = "\n".join(self.sections.get(title, "") for title in titles)
        found = [(m["names"].split(", "), m["type"]) for m in ENTRY.finditer(text)]
        return {name.strip("*"): stated for names, stated in found for name in names}


def directives(text: str) -> Iterator[tuple[str, str, list[str] | None]]:
    """Directive, argument with its module, and members of every autodoc directive of a page."""
    module = ""
    for m in re.finditer(r"^\.\. (\w+):: (\S+)\n((?: +:.*\n)*)", text, flags=re.MULTILINE):
        directive, argument, options = m.groups()
        if directive in ("currentmodule", "automodule"):
            module = argument
        found = re.search(r":members:(.*)", options)
        members = None if found is None else [x.strip() for x in found[1].split(",") if x.strip()]
        yield directive, argument if "." in argument else f"{module}.{argument}", members


@cache
def reference() -> dict[str, Documented]:
    """Everything in docs/api by its full name."""
    found = {}
    for page in sorted((DOCS / "api").glob("*.md")):
        for directive, name, members in directives(page.read_text(encoding="utf-8")):
            if directive not in ("autoclass", "autofunction", "automodule"):
                continue
            owner = resolved(name)
            if directive != "automodule":
                found[name] = Documented(name, owner)
            if members == [] and directive == "autoclass":
                members = [n for n in vars(owner) if not n.startswith("_") and is_code(owner, n)]
            for member in members or ():
                found[f"{name}.{member}"] = Documented(
                    f"{name}.{member}", inspect.getattr_static(owner, member)
                )
    return {n: one for n, one in found.items() if not is_warning(one.object)}


def resolved(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return importlib.import_module(name)


def is_code(owner: type, name: str) -> bool:
    value = inspect.getattr_static(owner, name)
    return callable(value) or isinstance(value, property | staticmethod | classmethod)


def is_warning(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Warning)


NAMES = sorted(reference())


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_type_default_and_description(name: str) -> None:
    one = reference()[name]
    if isinstance(one.object, property):
        return
    # Fields of what dapdag makes and a user reads stand under Attributes, without defaults.
    read = is_dataclass(one.object) and "Parameters" not in one.sections
    entries = one.entries("Attributes" if read else "Parameters")
    assert read or list(entries) == list(one.parameters), "in the order of the signature"
    assert set(one.parameters) <= set(entries)
    for parameter in one.parameters.values():
        stated = entries[parameter.name]
        assert read or wrong_default(stated, parameter) is None, (parameter.name, stated)
    for title in ("Parameters", "Attributes"):
        # Below each entry stands a sentence.
        for entry in re.split(r"\n(?=\S)", one.sections.get(title, "").strip("\n")):
            head, _, text = entry.partition("\n")
            assert not head or text.strip().endswith((".", ":", ").")), f"{head}: {text!r}"


def wrong_default(stated: str, parameter: inspect.Parameter) -> str | None:
    """What the docstring should say of the default and does not."""
    default = parameter.default
    if default is inspect.Parameter.empty:
        return "none" if "optional" in stated or "default" in stated else None
    if stated.endswith(", optional"):
        # Also where the value in the signature would tell a reader nothing.
        plain = isinstance(default, bool | int | float | str)
        return repr(default) if plain else None
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    return None if stated.endswith(f", default={shown}") else shown


@pytest.mark.parametrize("name", NAMES)
def test_what_is_returned_is_said(name: str) -> None:
    one = reference()[name]
    assert one.sections[""].strip()
    if isinstance(one.object, type | property):
        return
    returned = inspect.signature(one.code).return_annotation
    if returned not in (None, "None", inspect.Signature.empty):
        assert re.search(r"^\S.*\n +\S", one.sections["Returns"].strip("\n"), flags=re.MULTILINE)


def test_what_a_user_calls_first_has_an_example() -> None:
    assert [n for n in MAIN if ">>>" not in reference()[n].sections.get("Examples", "")] == []


def test_examples_run_as_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_estimators(monkeypatch)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings():
        # Tables of the examples are small, and a reader is told so.
        warnings.simplefilter("ignore", DapdagWarning)
        for one in reference().values():
            examples = doctest.DocTestFinder(recurse=False).find(one.code, one.name, globs={})
            for example in examples:
                runner.run(example)
    assert runner.tries >= 3 * len(MAIN)
    assert runner.failures == 0

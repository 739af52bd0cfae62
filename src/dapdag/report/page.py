"""The sections put together as one page that needs nothing but itself."""

import base64
import hashlib
import os
from importlib.resources import files
from typing import Any

from .._runtime.files import atomic_write_text
from .._runtime.text import plural
from .facts import Facts, gather
from .markup import Markup, tag
from .sections import SECTIONS, Section
from .sections.short import in_short


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    sample_domain: Any = None,
    y: Any = None,
    title: str | None = None,
    ids: Any = None,
) -> None:
    """Write a report about a model, and what it says of a new table, as one HTML file.

    The file is self-contained (it asks for nothing from the network), written as a whole or not at
    all, and holds no row of the training data. Of the new table it holds the predictions of the
    first rows and of those with the highest and the lowest.

    Parameters
    ----------
    model : fitted DAPDAG estimator, or path-like
        The model, or the path of a saved one.
    path : path-like
        File to write.
    X : DataFrame or array of shape (rows, columns), optional
        The new table. By default the report is of the model alone.
    sample_domain : sequence of labels, one per row, optional
        Site of every row of `X`. By default all rows are one site.
    y : sequence, one per row, optional
        Outcomes of `X`, where they are known, to say how well they were predicted.
    title : str, optional
        The report's heading.
    ids : sequence, one per row, optional
        Names of the rows of `X`, by which the highest and lowest predictions are called.

    Examples
    --------
    >>> from dapdag import DAPDAGRegressor
    >>> from dapdag.datasets import make_regression_domains
    >>> split = make_regression_domains(n_domains=5, n_samples=60).leave_out(4)
    >>> model = DAPDAGRegressor().fit(split.X, split.y, sample_domain=split.sample_domain)
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dapdag.report import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, Path(folder) / "report.html", X=split.X_target)
    ...     text = (Path(folder) / "report.html").read_text(encoding="utf-8")
    >>> text[:15]
    '<!DOCTYPE html>'
    """
    atomic_write_text(path, report_html(model, X, sample_domain, y, title, ids))


def report_html(
    model: Any,
    X: Any = None,
    sample_domain: Any = None,
    y: Any = None,
    title: str | None = None,
    ids: Any = None,
) -> str:
    """What `write_report` writes, as text."""
    return render(gather(model, X, sample_domain, y, title, ids))


def render(facts: Facts) -> str:
    """The page that tells these facts."""
    style, script = (_resource(name) for name in ("style.css", "script.js"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="dapdag"),
        tag("title", facts.title),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("h1", facts.title), tag("p", _subtitle(facts), class_="subtitle")),
        tag(
            "main",
            in_short(facts),
            [_section(facts, section) for section in SECTIONS if not section.appendix],
            _contents(),
            [_section(facts, section) for section in SECTIONS if section.appendix],
            id="content",
        ),
        tag("script", Markup(script)),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _resource(name: str) -> str:
    return files("dapdag.report").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """The browser may run this script and no other, and load nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _contents() -> Markup:
    """The head of the appendix: what is in it."""
    links = [tag("li", tag("a", s.title, href=f"#{s.anchor}")) for s in SECTIONS if s.appendix]
    return tag(
        "nav",
        tag("h2", "Appendix", id="appendix"),
        tag("ol", links),
        class_="appendix",
        aria_labelledby="appendix",
    )


def _section(facts: Facts, section: Section) -> Markup:
    parts = [s for s in SECTIONS if s.appendix == section.appendix]
    name = f"{'A' if section.appendix else ''}{parts.index(section) + 1}"
    heading = tag("h2", f"{name}\u2002{section.title}", id=section.anchor)
    return tag("section", heading, section.write(facts), aria_labelledby=section.anchor)


def _subtitle(facts: Facts) -> str:
    sites = plural(len(facts.sources), "site")
    learned = f"{plural(facts.record.rows, 'row')} of {sites}"
    applied = f", applied to {plural(facts.new.rows, 'new row')}" if facts.new else ""
    return f"A model of {facts.label.name}, learned from {learned}{applied}"

"""`dapdag doctor`: is all well here?"""

from __future__ import annotations

import typer

from ._shared import Json, Quiet, print_json, silently, tell


def doctor(quiet: Quiet = False, as_json: Json = False) -> None:
    """Check the installation.

    Versions, devices, folders, and a self-test of seconds. Exits with 1 if something is broken.

    \b
    Example:
      dapdag doctor
    """
    from dataclasses import asdict

    from dapdag.doctor import BROKEN, NOTE, OK, examine

    found = examine(silently if quiet or as_json else tell)
    broken = any(check.status == BROKEN for check in found)
    if as_json:
        print_json({"ok": not broken, "checks": [asdict(check) for check in found]})
    else:
        from textwrap import fill

        marks = {BROKEN: "✗", NOTE: "!"}
        for check in found:
            if not quiet or check.status != OK:
                start = f"{marks.get(check.status, '✓')} {check.name:14}"
                indent = " " * len(start)
                typer.echo(fill(start + check.detail, 80, subsequent_indent=indent))
        typer.echo("Something is broken: see ✗ above." if broken else "All is well.")
    raise typer.Exit(1 if broken else 0)

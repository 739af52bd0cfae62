"""Plain help: arguments by their names, options and commands under headings."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

SHORT = 64


class Command(TyperCommand):
    """Shows arguments without their types, and options under the heading each was given."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        options = [] if self.options_metavar is None else [self.options_metavar]
        return options + [
            name if param.required else f"[{name}]" for param, name in self._arguments(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {
            "Arguments": [(name, getattr(p, "help", "") or "") for p, name in self._arguments(ctx)]
        }
        for param in self.get_params(ctx):
            record = None if _is_argument(param) else param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(_panel(param, "Options"), []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def _arguments(self, ctx: Any) -> list[tuple[Any, str]]:
        found = []
        for param in self.get_params(ctx):
            if _is_argument(param):
                name = param.metavar or str(param.name).upper()
                found.append((param, f"{name}..." if param.nargs != 1 else name))
        return found


class Commands(TyperGroup):
    """Shows commands in the order of their registration, under the heading each was given."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                record = (name, command.get_short_help_str(SHORT))
                sections.setdefault(_panel(command, "Commands"), []).append(record)
        width = max(len(name) for records in sections.values() for name, _ in records)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in records])


def _is_argument(param: Any) -> bool:
    return param.param_type_name == "argument"


def _panel(thing: Any, otherwise: str) -> str:
    panel = getattr(thing, "rich_help_panel", None)
    return panel if isinstance(panel, str) else otherwise

"""``{cli-help} fit``: what ``dapdag fit --help`` prints, from the program itself."""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive


def help_text(name: str | None) -> str:
    """The help of a command, or of the program."""
    from typer.main import get_command

    from dapdag.cli import app

    group: Any = get_command(app)
    # Typer's contexts come from a package that it may bring along itself: ask the command for one.
    context = group.make_context("dapdag", [], resilient_parsing=True, terminal_width=80)
    if name is None:
        return str(group.get_help(context))
    command = group.get_command(context, name)
    if command is None:
        raise ValueError(f"dapdag has no command {name!r}")
    own = command.make_context(name, [], parent=context, resilient_parsing=True, terminal_width=80)
    return str(command.get_help(own))


class CliHelp(Directive):
    """A literal block with the help of the command that the argument names."""

    optional_arguments = 1
    has_content = False
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        try:
            text = help_text(self.arguments[0] if self.arguments else None)
        except ValueError as error:
            raise self.error(str(error)) from error
        # The help may change without a change of the page.
        self.state.document.settings.env.note_reread()
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("cli-help", CliHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

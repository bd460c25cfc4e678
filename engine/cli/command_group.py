"""A group of commands, as the command line lists it."""

from typing import Any

from typer.core import TyperGroup

LONGEST_HELP = 1_000


class CommandGroup(TyperGroup):
    """Lists commands with their whole first sentence, which wraps at any width and is never cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=LONGEST_HELP)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

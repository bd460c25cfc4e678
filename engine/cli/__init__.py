"""The command line: parsing and printing only. Commands import modules when they run, so that they start fast."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from siltstone.engine.cli import (
    drop_command,
    fold_commands,
    gap_commands,
    init_command,
    maintain_command,
    reject_commands,
    report_command,
    run_commands,
    setup_commands,
    spec_commands,
    standard_output,
    table_commands,
)
from siltstone.engine.cli.command_group import CommandGroup
from siltstone.engine.cli.output import print_error, write_line
from siltstone.engine.errors import SiltstoneError, SpecError, gist
from siltstone.engine.storage import storage_error

UNEXPECTED_EXIT_CODE = 1
GC_THRESHOLD = 100_000  # collections while thousands of modules load would take a tenth of a short command's time
DEBUG_HINT = "set SILTSTONE_DEBUG=1 to see the traceback; Spark's log is spark.log in siltstone's cache folder."


def print_version(wanted: bool) -> None:
    """Print the version and exit if the option is set."""
    if wanted:
        write_line(f"siltstone {version_of('siltstone')}")
        raise typer.Exit


app = typer.Typer(
    name="siltstone",
    cls=CommandGroup,
    help="Turn change-data-capture streams into Iceberg tables: the latest state and the SCD2 history.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for part in (
    init_command,
    spec_commands,
    run_commands,
    fold_commands,
    table_commands,
    gap_commands,
    reject_commands,
    report_command,
    maintain_command,
    drop_command,
    setup_commands,
):
    part.add_commands(app)


@app.callback()
def global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Turn change-data-capture streams into Iceberg tables: the latest state and the SCD2 history."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. It prints every error as one message and ends with its exit code.

    Raises: SystemExit, or the error itself with SILTSTONE_DEBUG=1.
    """
    gc.set_threshold(GC_THRESHOLD)
    standard_output.install()
    try:
        try:
            app(args=arguments)
        finally:
            standard_output.finish()
    except SiltstoneError as error:
        if debugging():
            raise
        print_error(error.message, error.hint, violations_of(error))
        sys.exit(error.exit_code)
    except Exception as error:
        if debugging():
            raise
        if (known := storage_error(error)) is not None:
            print_error(known.message, known.hint)
            sys.exit(known.exit_code)
        print_error(f"Unexpected {type(error).__name__}: {gist(error)}", DEBUG_HINT)
        sys.exit(UNEXPECTED_EXIT_CODE)


def violations_of(error: SiltstoneError) -> list[str]:
    """All violations of the specs, one per line."""
    return [str(violation) for violation in error.violations] if isinstance(error, SpecError) else []


def debugging() -> bool:
    """Whether the user has requested tracebacks."""
    return os.environ.get("SILTSTONE_DEBUG", "") not in ("", "0")


__all__ = ["app", "main"]

"""gaps: what is missing or contradicts itself, open, healed or acknowledged; without a JVM."""

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.options import JsonOption, ProjectOption, open_project
from engine.cli.output import NULL, note, number, print_json, print_styled, write_line

if TYPE_CHECKING:
    from engine.schema.gap import Gap

gaps = typer.Typer(help="Ordering gaps: open, healed, acknowledged.", no_args_is_help=True, rich_markup_mode=None)


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.add_typer(gaps, name="gaps")


@gaps.command("list")
def list_gaps(
    everything: Annotated[bool, typer.Option("--all", help="Those that are healed or acknowledged, too.")] = False,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """The gaps that are open, the oldest first."""
    from engine.look import open_catalog
    from engine.look.gaps import gaps_of
    from engine.schema.gap import OPEN

    found_project = open_project(project)
    found = gaps_of(open_catalog(found_project.catalog), found_project.namespace)
    shown = [gap for gap in found if everything or gap.status == OPEN]
    if json:
        print_json([asdict(gap) for gap in shown])
        return
    print_gaps(shown)
    if not shown:
        note("no gap is open" if found else "no gap was ever found")


@gaps.command()
def ack(
    gap_id: Annotated[str, typer.Argument(metavar="ID", help="A gap's id, or the beginning of one.")],
    reason: Annotated[str, typer.Option(help="Why it may stay as it is: the report shows it.")],
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Acknowledge a gap: it fails no run any more, and stays in the report."""
    from engine.look.gaps import acknowledge

    if not reason.strip():
        raise typer.BadParameter("an empty reason explains nothing", param_hint="--reason")
    known = acknowledge(open_project(project), gap_id, reason.strip(), getpass.getuser(), datetime.now(UTC))
    if json:
        print_json(asdict(known))
    else:
        write_line(f"{known.gap_id} ({known.check} of {known.table}) is acknowledged by {known.acknowledged_by}")


def print_gaps(found: "Sequence[Gap]") -> None:
    """One line a gap; what to do about the open ones below."""
    columns = ("id", "table", "check", "severity", "status", "found", "key", "from", "to", "opened", "message")
    print_styled(columns, map(_line, found))
    for hint in dict.fromkeys(f"{gap.check}: {gap.hint}" for gap in found if gap.status == "open" and gap.hint):
        write_line(hint)


def _line(gap: "Gap") -> tuple[str, ...]:
    place = (gap.key or NULL, gap.position_from or NULL, gap.position_to or NULL)
    known = f"{gap.status} by {gap.acknowledged_by}" if gap.status == "acknowledged" else gap.status
    opened = f"{gap.opened_at:%Y-%m-%d %H:%M}"
    return gap.gap_id, gap.table, gap.check, gap.severity, known, number(gap.findings), *place, opened, gap.message

"""gaps list and gaps ack: missing or contradictory changes, without a JVM."""

import getpass
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.command_group import CommandGroup
from siltstone.engine.cli.options import JsonOption, ProjectOption, open_project
from siltstone.engine.cli.output import STYLES, console, note, print_json, write_line
from siltstone.engine.names import CHECKS

if TYPE_CHECKING:
    from siltstone.engine.decode.position_notation import Notation
    from siltstone.engine.reader import Reader
    from siltstone.engine.schema.gap_record import Gap
    from siltstone.engine.spec.model import ProjectSpec

gaps = typer.Typer(
    cls=CommandGroup, help="List and acknowledge ordering gaps.", no_args_is_help=True, rich_markup_mode=None
)


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.add_typer(gaps, name="gaps")


@gaps.command("list")
def list_gaps(
    everything: Annotated[bool, typer.Option("--all", help="Also list healed and acknowledged gaps.")] = False,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List the open gaps, the oldest first."""
    from siltstone.engine.reader import open_catalog
    from siltstone.engine.reader.gap_reader import gaps_of
    from siltstone.engine.reader.position_reader import notations_of, shown_span
    from siltstone.engine.schema.gap_record import OPEN

    found_project = open_project(project)
    catalog = open_catalog(found_project.catalog)
    found = gaps_of(catalog, found_project.namespace)
    listed = [gap for gap in found if everything or gap.status == OPEN]
    notations = notations_of(catalog, found_project, listed)
    if json:
        print_json([asdict(gap) | shown_span(gap, notations[gap.table]) for gap in listed])
        return
    print_gaps(listed, notations)
    if not listed:
        note("no gap is open" if found else _why_no_gaps(catalog, found_project))


def _why_no_gaps(catalog: "Reader", project: "ProjectSpec") -> str:
    """Why the table of gaps is empty: no check found one, or none has run."""
    is_checked = catalog.table_exists(f"{project.namespace}.{CHECKS}")
    return "no check has found a gap" if is_checked else "no check has run yet: run `siltstone catch-up` or `check`"


@gaps.command()
def ack(
    gap_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a gap, or the beginning of one.")],
    reason: Annotated[str, typer.Option(help="Why the gap can stay. The report shows this text.")],
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Acknowledge a gap: it no longer fails a run, and stays in the report."""
    from siltstone.engine.reader import open_catalog
    from siltstone.engine.reader.gap_reader import acknowledge
    from siltstone.engine.reader.position_reader import notations_of, shown_span

    if not reason.strip():
        raise typer.BadParameter("the reason is empty", param_hint="--reason")
    found_project = open_project(project)
    known = acknowledge(found_project, gap_id, reason.strip(), getpass.getuser(), datetime.now(UTC))
    if json:
        notations = notations_of(open_catalog(found_project.catalog), found_project, [known])
        print_json(asdict(known) | shown_span(known, notations[known.table]))
    else:
        write_line(f"{known.gap_id} ({known.check} of {known.table}) is acknowledged by {known.acknowledged_by}")


def print_gaps(found: "Sequence[Gap]", notations: "Mapping[str, Notation]") -> None:
    """Print each gap as a paragraph, because its place in the log is long, and the hints of open gaps at the end.

    `notations`: the notation of positions, by table.
    """
    from rich.text import Text

    out = console()
    for gap in found:
        what = f"{gap.check} ({gap.severity})" + (f", {gap.findings:,} places" if gap.findings > 1 else "")
        informs = gap.status == "open" and gap.severity == "info"
        style = STYLES["noted" if informs else gap.status]
        head = Text.assemble((gap.gap_id, "bold"), "  ", (gap.status, style), f"  {gap.table}  {what}")
        out.print(head, soft_wrap=True)
        for name, value in gap_details(gap, notations[gap.table]):
            out.print(Text(f"  {name:<12} {value}"), soft_wrap=True)
    for hint in dict.fromkeys(f"{gap.check}: {gap.hint}" for gap in found if gap.status == "open" and gap.hint):
        out.print(Text(hint), soft_wrap=True)


def gap_details(gap: "Gap", notation: "Notation") -> Iterator[tuple[str, str]]:
    """The known facts about a gap, as names and values."""
    from siltstone.engine.reader.position_reader import shown_span

    yield "found", gap.message
    if gap.key is not None:
        yield "key", gap.key
    ends = [end for end in shown_span(gap, notation).values() if end is not None]
    if ends:
        yield "positions", " to ".join(dict.fromkeys(ends))
    times = [moment(end) for end in (gap.committed_from, gap.committed_to) if end is not None]
    if times:
        yield "committed", " to ".join(dict.fromkeys(times))
    yield "opened", f"{moment(gap.opened_at)} by run {gap.opened_run}"
    if gap.healed_at is not None:
        yield "healed", f"{moment(gap.healed_at)} by run {gap.healed_run}"
    if gap.acknowledged_at is not None:
        yield "acknowledged", f"{moment(gap.acknowledged_at)} by {gap.acknowledged_by}: {gap.acknowledged_reason}"


def moment(at: datetime) -> str:
    """A time in UTC, with seconds."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

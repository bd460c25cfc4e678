"""The output of the demo: explanations between the runs, then the contents of the tables."""

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from siltstone.engine.cli.check_output import print_checks
from siltstone.engine.cli.output import NULL, console, print_grid, print_rows, shown_path, write_line
from siltstone.engine.cli.run_commands import print_report
from siltstone.engine.names import OP, VALID_FROM, VALID_TO
from siltstone.engine.plain_values import rows
from siltstone.engine.reader import as_of, load_table, matching, open_catalog, timeline
from siltstone.engine.report import RunReport
from siltstone.engine.spec.model import ProjectSpec

if TYPE_CHECKING:
    import pyarrow as pa

CUSTOMERS = "inventory.customers"
KEY = {"id": "3080"}
MOMENT = datetime(2026, 11, 21, 8, 41, 47, tzinfo=UTC)
SEEN = ("id", "first_name", "last_name", "balance", "vip")
ROWS_SHOWN = 5
OUTCOMES = ("opened", "healed", "updated", "absorbed", "superseded", "redelivered")


def print_title(words: str) -> None:
    """Print the heading of a part."""
    from rich.rule import Rule
    from rich.text import Text

    console().print()
    console().print(Rule(Text(words, style="bold"), align="left", characters="─"))


def print_text(words: str) -> None:
    """Print a sentence."""
    from rich.text import Text

    console().print(Text(words))


def print_run(report: RunReport) -> None:
    """Print a run's report, and the outcomes of its changes. Every change has exactly one outcome."""
    print_report(report)
    columns = ("table", "changes", *OUTCOMES, "late")
    lines = [
        [
            table.table,
            f"{table.changes:,}",
            *(f"{table.outcomes.get(outcome, 0):,}" for outcome in OUTCOMES),
            f"{table.late:,}",
        ]
        for table in report.tables
    ]
    print_grid(columns, lines)


def print_timeline(project: ProjectSpec) -> None:
    """Print the versions of one customer."""
    history = load_table(open_catalog(project.catalog), f"{CUSTOMERS}_history")
    print_rows((VALID_FROM, VALID_TO, OP, *SEEN), listed(timeline(history, matching(history, KEY))))


def print_moment(project: ProjectSpec) -> None:
    """Print the first customers as of a time."""
    history = load_table(open_catalog(project.catalog), f"{CUSTOMERS}_history")
    found = as_of(history, MOMENT, matching(history, {}), ("id",))
    print_rows((*SEEN, VALID_FROM, VALID_TO), listed(found.slice(0, ROWS_SHOWN)))
    print_text(f"{found.num_rows} customers existed at this time. These are the first {ROWS_SHOWN}.")


def print_run_checks(report: RunReport) -> None:
    """Print the results of a run's checks."""
    print_checks((table.table, result) for table in report.tables for result in table.checks or ())


def print_next_steps(root: Path, report: str | None) -> None:
    """Print where the files are, and commands to try."""
    project = f"--project {shlex.quote(shown_path(str(root)))}"
    program = shlex.quote(_program())
    places = {"tables": root / "lake", "specs": root / "specs", "report": report}
    for name, place in places.items():
        write_line(f"{name:<15} {shown_path(str(place)) if place else NULL}")
    write_line("\nCommands to try:")
    for command in (
        f"{program} show {CUSTOMERS} --key id={KEY['id']} {project}",
        f"{program} export {CUSTOMERS} --history --format csv {project}",
        f"{program} explain {CUSTOMERS} --key id={KEY['id']} {project}",
        f"{program} gaps list --all {project}",
        f"{program} catch-up {shlex.quote(str(root / 'more' / 'inventory.orders.yaml'))} {project}",
    ):
        write_line(f"  {command}")
    write_line("\nTo use your own events, run this in an empty folder:")
    write_line(f"  {program} init FOLDER_OF_EVENTS && {program} catch-up")


def _program() -> str:
    """The command for siltstone in this shell: its name if the shell finds it, else its path."""
    return "siltstone" if shutil.which("siltstone") else shown_path(str(Path(sys.executable).with_name("siltstone")))


def listed(found: "pa.Table") -> Iterable[Mapping[str, object]]:
    """Rows as mappings."""
    return [row for batch in found.to_batches() for row in rows(batch)]

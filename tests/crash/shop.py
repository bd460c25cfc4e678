"""The tables for commands that are killed: two tables of one source, with late changes, READs and invalid records."""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

from siltstone.engine import names
from tests.crash.disk_project import DiskProject
from tests.e2e.streams import LATE, PROMPT, THINGS, insert, row, update

PARTS: Final = "shop.parts"
TARGETS: Final = ("shop_things", "shop_things_h", "shop_parts", "shop_parts_h")
CHANGES: Final = ("shop_things_changes", "shop_parts_changes")
LEDGERS: Final = (names.CONTROL, names.INPUTS, names.REJECTS, names.REPLAYS)
OF_THE_CLOCK: Final = ("mtime", "rejected_at", "replayed_at", "attempt", "run_id")
"""Columns that depend on the clock, or on an attempt."""


def write_specs(project: DiskProject, name_type: object = "string", number_type: str = "int") -> None:
    """Write the specs, with the types of two columns."""
    for table in (THINGS, PARTS):
        target = f"silt.{table.replace('.', '_')}"
        spec = {
            "table": table,
            "source": {"format": "debezium-json", "path": str(project.events)},
            "keys": ["id"],
            "columns": {"id": "int", "name": name_type, "n": number_type},
            "target": {"latest": target, "history": f"{target}_h"},
            "rejects": {"max_fraction": 0.5},
        }
        project.write_spec(spec)


def state(project: DiskProject, spark: SparkSession, ignored: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """All rows of all tables but the columns and tables that are ignored, and the problems with their references."""
    tables = [table for table in (*TARGETS, *CHANGES, *LEDGERS) if table not in ignored]
    found = {table: project.rows(spark, table, (*OF_THE_CLOCK, *ignored)) for table in tables}
    return found | {"references": [text for table in (*TARGETS, *CHANGES) for text in project.traces(spark, table)]}


def first_events() -> list[str]:
    """The events that an earlier run has taken."""
    parts = [insert(second, row(second, f"part {second}", second), table=PARTS) for second in range(1, 6)]
    return [*PROMPT, *parts]


def second_events() -> list[str]:
    """New events: late changes, the window of a READ, invalid records, changes of both tables."""
    parts = [update(500 + key, row(key, f"part {key} again", key), table=PARTS) for key in (1, 2)]
    invalid = insert(510, row(9, "odd", 3_000_000_000), table=PARTS)
    return [*LATE, *parts, invalid, insert(600, row(6, "Fay")), '{"ts_ms": 1704067209000}\n']


def third_events() -> list[str]:
    """The events that are new to the run after the killed one."""
    return [update(700, row(6, "Fay again")), update(701, row(3, "part 3 again", 3), table=PARTS)]

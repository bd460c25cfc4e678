"""Runs over recorded streams, delivered in several ways, and checks of the resulting tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec, TableSpec
from tests.recorded_tables import Row, Table
from tests.recordings import DATA, SNAPSHOTS, lines, truth_final, truth_images

needs_recordings = pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are missing: {DATA}")
BOOKKEEPING = ("_batch",)
LogPosition = tuple[str, int, int]


@dataclass(frozen=True)
class Run:
    """The tables of one recording in one project, after all deliveries."""

    spark: SparkSession
    specs: Sequence[TableSpec]
    reports: Sequence[RunReport]

    def rows(self, table: Table, history: bool = False) -> list[Row]:
        spec = next(spec for spec in self.specs if spec.table == table.name)
        target = spec.target.history if history else spec.target.latest
        return [row.asDict() for row in self.spark.table(f"lake.{target}").collect()]

    def stored(self, table: Table) -> tuple[list[str], list[str]]:
        """All rows of history and of latest without bookkeeping columns, sorted, so that tests can compare them."""
        return tuple(sorted(map(_text, self.rows(table, history))) for history in (True, False))


def _text(row: Row) -> str:
    return repr(sorted((name, value) for name, value in row.items() if name not in BOOKKEEPING))


def a_project(catalog: CatalogSpec, root: Path, namespace: str) -> ProjectSpec:
    """A second project, for tables that several tests use."""
    return ProjectSpec(root, None, catalog, namespace, SparkSpec(), QualitySpec())


def whole(spark: SparkSession, project: ProjectSpec, tables: Sequence[Table], recording: str) -> Run:
    """Deliver the recording as one file, with one run."""
    return deliver(spark, project, tables, DATA / recording, [None], "with" if ".schema" in recording else "without")


def in_parts(
    spark: SparkSession, project: ProjectSpec, tables: Sequence[Table], recording: str, parts: Sequence[Sequence[str]]
) -> Run:
    """Deliver the parts of the recording as separate files, with a run after each."""
    path = project.root / "events" / "*.jsonl"
    path.parent.mkdir()
    return deliver(spark, project, tables, path, parts, "with" if ".schema" in recording else "without")


def deliver(
    spark: SparkSession,
    project: ProjectSpec,
    tables: Sequence[Table],
    path: Path,
    parts: Sequence[Sequence[str] | None],
    schemas: str,
) -> Run:
    specs = [spec_of(project, table, path, schemas == "with") for table in tables]
    reports = []
    for number, part in enumerate(parts):
        if part is not None:
            (path.parent / f"part-{number:03}.jsonl").write_text("".join(part), encoding="utf-8")
        reports.append(catch_up(project, specs, spark))
        failed = {table.table: table.error for table in reports[-1].tables if table.exit_code}
        # The first part may have no events of a table. The run then fails for that table, and loads the others.
        unseen = {name for name, error in failed.items() if f"Cannot find events of {name} " in str(error)}
        assert not failed.keys() - unseen, failed
        assert not unseen or (number == 0 and part is not None), failed
    return Run(spark, specs, reports)


def split_recording(recording: str, parts: int) -> list[list[str]]:
    """The lines of the recording in `parts` parts, in the order of the recording."""
    every_line = list(lines(DATA / recording))
    return [every_line[len(every_line) * n // parts : len(every_line) * (n + 1) // parts] for n in range(parts)]


def spec_of(project: ProjectSpec, table: Table, path: Path, with_schemas: bool) -> TableSpec:
    """The spec of a recorded table.

    Events with schemas contain the types, but neither defaults nor the signs of unsigned types. For such events, the
    spec declares only the columns that have one of the two.
    """
    name = table.name.replace(".", "_")
    declared = {
        c: v for c, v in table.columns.items() if not with_schemas or c in table.defaults or "unsigned" in v.type
    }
    columns: dict[str, Any] = {
        c: {"type": v.type, "default": table.defaults[c]} if c in table.defaults else v.type
        for c, v in declared.items()
    }
    mapping = {
        "table": table.name,
        "source": {"format": "debezium-json", "path": str(path)},
        "keys": list(table.keys),
        "target": {"latest": f"{project.namespace}.{name}", "history": f"{project.namespace}.{name}_history"},
    }
    return table_spec(mapping | ({"columns": columns} if columns else {}), project)


def check_latest(run: Run, table: Table) -> None:
    """Check that latest equals the final table of the source."""
    rows = [table.canonical(row, "stored") for row in run.rows(table)]
    by_key = {tuple(row[k] for k in table.keys): row for row in rows}
    assert len(by_key) == len(rows)
    wrong = differences(by_key, truth_final(table))
    assert not wrong, wrong


def check_images(
    run: Run, table: Table, recording: str | LogPosition, except_keys: Sequence[tuple[Any, ...]] = ()
) -> None:
    """Check that history has the images of each key in the order of the source, except for some keys.

    `recording`: the recording, whose snapshot has the first images, or the position in the log before the first image.
    """
    images: dict[tuple[Any, ...], list[Row | None]] = {}
    for row in sorted(run.rows(table, history=True), key=chronological):
        values = table.canonical(row, "stored")
        sequence = images.setdefault(tuple(values[k] for k in table.keys), [])
        image = None if row["_op"] == "delete" else values
        if not sequence or sequence[-1] != image:
            sequence.append(image)
    since = SNAPSHOTS[recording] if isinstance(recording, str) else recording
    expected = truth_images(table, since)
    unexpected = [difference for difference in differences(images, expected) if difference[0] not in except_keys]
    assert not unexpected, unexpected


def chronological(row: Row) -> tuple[Any, ...]:
    return row["_valid_from"], row["_valid_to"] is None, row["_valid_to"] or row["_valid_from"], row["_position"] or ""


def differences(found: dict[Any, Any], expected: dict[Any, Any]) -> list[tuple[Any, Any, Any]]:
    """(key, found, expected) of the first five keys that differ."""
    wrong = [key for key in expected | found if found.get(key) != expected.get(key)]
    return [(key, *narrowed(found.get(key), expected.get(key))) for key in sorted(wrong)[:5]]


def narrowed(found: Any, expected: Any) -> tuple[Any, Any]:
    """The columns in which two rows differ, or the first difference of two lists. Other values are shortened."""
    if isinstance(found, dict) and isinstance(expected, dict):
        columns = [c for c in expected if found.get(c) != expected[c]]
        return {c: found.get(c) for c in columns}, {c: expected[c] for c in columns}
    if isinstance(found, list) and isinstance(expected, list):
        at = next((n for n, (f, e) in enumerate(zip(found, expected, strict=False)) if f != e), None)
        return (len(found), len(expected)) if at is None else narrowed(found[at], expected[at])
    return str(found)[:300], str(expected)[:300]

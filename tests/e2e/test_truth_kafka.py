"""Recorded streams in topics, partitioned by key, give the tables of their files and of the databases."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, SourceSpec
from tests.brokers import Broker, line_record
from tests.e2e.truth_runs import Run, a_project, check_images, check_latest, needs_recordings, spec_of, whole
from tests.recorded_tables import MARIADB, POSTGRESQL, Table
from tests.recordings import DATA, lines

EXTRACTS = Path(__file__).parents[1] / "data"
_numbers = itertools.count(1)


def produce(broker: Broker, recorded: Iterable[str]) -> str:
    """Produce the records of the lines to topics with their names. Gives a pattern that matches the topics."""
    prefix = f"recorded-{next(_numbers)}"
    by_topic = defaultdict(list)
    for line in recorded:
        by_topic[json.loads(line).get("topic") or "all"].append(line_record(line))
    for topic, records in by_topic.items():
        broker.create(f"{prefix}.{topic}", 3)
        broker.produce(f"{prefix}.{topic}", records)
    return f"{prefix}[.].*"


def source_of(
    broker: Broker, pattern: str, project: ProjectSpec, form: str = "debezium-json", **kafka: int
) -> SourceSpec:
    settings = {"bootstrap": broker.bootstrap, "pattern": pattern, **kafka}
    return table_spec({"table": "a.b", "source": {"format": form, "kafka": settings}}, project).source


def from_topics(
    spark: SparkSession,
    project: ProjectSpec,
    tables: Sequence[Table],
    source: SourceSpec,
    with_schemas: bool,
    runs: int,
) -> Run:
    specs = [replace(spec_of(project, table, Path("x"), with_schemas), source=source) for table in tables]
    reports = [catch_up(project, specs, spark) for _ in range(runs)]
    failed = [(table.table, table.error) for report in reports for table in report.tables if table.exit_code]
    assert not failed, failed
    assert reports[-1].sources[0].left == 0
    return Run(spark, specs, reports)


@pytest.mark.slow
@pytest.mark.parametrize("recording", ["postgresql.noschema", "mariadb.schema"])
def test_an_extract_in_topics_gives_the_tables_of_its_file(
    spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path: Path, broker: Broker, recording: str
) -> None:
    file, with_schemas = EXTRACTS / f"{recording}.jsonl", recording.endswith(".schema")
    tables = tuple((POSTGRESQL if recording.startswith("postgresql") else MARIADB).values())
    by_files = a_project(catalog, tmp_path, f"{project.namespace}_file")
    specs = [spec_of(by_files, table, file, with_schemas) for table in tables]
    assert catch_up(by_files, specs, spark).exit_code == 0
    source = source_of(broker, produce(broker, lines(file)), project)
    run = from_topics(spark, project, tables, source, with_schemas, 1)
    for table in tables:
        assert run.stored(table) == Run(spark, specs, ()).stored(table)
    assert any(run.rows(table) for table in tables)


@needs_recordings
@pytest.mark.slow
@pytest.mark.parametrize(
    ("recording", "tables"),
    [
        ("postgresql/events.noschema.jsonl.gz", POSTGRESQL),
        ("mariadb/debezium.schema.jsonl.gz", MARIADB),
    ],
)
def test_a_whole_recording_in_bounded_runs_gives_the_tables_of_the_database(
    spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path: Path, broker: Broker,
    recording: str, tables: dict[str, Table],
) -> None:  # fmt: skip
    recorded = list(lines(DATA / recording))
    source = source_of(broker, produce(broker, recorded), project, max_records=len(recorded) // 3 + 3_000)
    run = from_topics(spark, project, tuple(tables.values()), source, ".schema" in recording, 3)
    by_files = whole(
        spark, a_project(catalog, tmp_path, f"{project.namespace}_file"), tuple(tables.values()), recording
    )
    for table in tables.values():
        check_latest(run, table)
        except_keys = [(90,)] if table.name == "inventory.customers" else []  # see test_truth_postgresql
        check_images(run, table, recording, except_keys=except_keys)
        assert run.stored(table) == by_files.stored(table)

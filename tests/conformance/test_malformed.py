"""An invalid record is rejected with a reason that names the problem. The records around it are taken."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.errors import SourceError
from siltstone.engine.init import looks_like
from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec
from tests.conformance.decoded import spec_of, workload_folder
from tests.conformance.encoder import LineEncoder
from tests.conformance.formats import BY_NAME
from tests.conformance.malformed import FAMILIES, GOOD, THINGS, broken_lines, things_workload
from tests.decoding import decode_rows, discover, envelopes

LINE_ENCODERS = (
    "postgresql_bare",
    "mysql_bare",
    "mysql_flat",
    "canal",
    "ticdc",
    "spanner_new_values_array",
    "spanner_old_and_new_values_object",
)
LINE_ENCODERS += (
    "dms",
    "shareplex",
    "maxwell",
    "goldengate",
    "datastream_json_postgresql",
    "datastream_json_sqlserver",
)
LINE_ENCODERS += ("postgresql_framed", "mysql_framed", "dts_mysql", "dts_postgresql")


def test_every_line_format_has_malformed_records() -> None:
    written = {encoder.format for encoder in BY_NAME.values() if isinstance(encoder, LineEncoder)}
    assert {BY_NAME[name].format for name in LINE_ENCODERS} == set(FAMILIES) == written


@pytest.mark.parametrize("name", LINE_ENCODERS)
def test_each_malformed_record_is_rejected_with_its_reason_and_the_others_are_taken(
    name: str, spark: SparkSession, project: ProjectSpec
) -> None:
    encoder = BY_NAME[name]
    assert isinstance(encoder, LineEncoder)
    good, broken = broken_lines(encoder)
    # Valid lines before and after the invalid ones.
    texts = [*good[:2], *[one.line for one in broken], *good[2:]]
    spec = spec_of(project, encoder, THINGS, project.root)
    rows = [("events.jsonl", number, text.encode("utf-8", "surrogateescape")) for number, text in enumerate(texts)]
    read = spark.createDataFrame(rows, "file string, line bigint, text binary").coalesce(1)
    lines = read.select("file", "line", F.col("text").cast("string"))
    records = envelopes(lines, spec.source, {spec.table: spec.keys}).localCheckpoint()
    mine = records.where((F.col("kind") == "change") & (F.col("table") == spec.table))
    reasons_of_changes = by_line(decode_rows(mine, discover(records, spec), spec))
    reasons = by_line(records.where("kind = 'reject'")) | {
        line: reason for line, reason in reasons_of_changes.items() if reason
    }
    taken = {line for line, reason in reasons_of_changes.items() if not reason}
    assert taken == {0, 1, len(texts) - 2, len(texts) - 1}
    problems = [
        f"{one.what}: {reasons.get(number)}"
        for number, one in enumerate(broken, 2)
        if not all(word in reasons.get(number, "") for word in one.words)
    ]
    assert not problems, "\n".join(problems)
    assert len(taken) == GOOD


READS_TOO = {"debezium-flat-json": ("debezium-json",)}
"""Formats whose sources also send events of another format, because the transform passes them unchanged."""


@pytest.mark.parametrize("form", FAMILIES)
def test_lines_of_another_format_are_rejected(form: str, spark: SparkSession, project: ProjectSpec) -> None:
    """Every line is a reject with a reason. A run that finds no change reports one error for the whole file."""
    own = {form, *READS_TOO.get(form, ())}
    others = [BY_NAME[name] for name in LINE_ENCODERS if BY_NAME[name].format not in own]
    texts = [line for other in others if isinstance(other, LineEncoder) for line in broken_lines(other)[0]]
    mine = next(encoder for encoder in BY_NAME.values() if encoder.format == form)
    spec = spec_of(project, mine, THINGS, project.root)
    rows = [("events.jsonl", number, text) for number, text in enumerate(texts)]
    lines = spark.createDataFrame(rows, "file string, line bigint, text string").coalesce(1)
    found = envelopes(lines, spec.source, {spec.table: spec.keys}).select("kind", "reason", "text").collect()
    assert {row["kind"] for row in found} == {"reject"}
    assert all(row["reason"] for row in found)
    assert all("not JSON" not in row["reason"] for row in found if row["text"].startswith("{"))


@pytest.mark.parametrize("name", [name for name, encoder in BY_NAME.items() if isinstance(encoder, LineEncoder)])
def test_the_format_of_every_line_is_detected(name: str) -> None:
    encoder = BY_NAME[name]
    assert isinstance(encoder, LineEncoder)
    assert looks_like(encoder.lines(things_workload())) == encoder.format


@pytest.mark.parametrize(
    ("written", "read"), [("postgresql_bare", "canal"), ("spanner_new_values_array", "mysql_bare")]
)
def test_a_file_of_another_format_gives_one_error_that_names_the_format(
    written: str, read: str, spark: SparkSession, project: ProjectSpec
) -> None:
    folder = workload_folder(BY_NAME[written], things_workload(), project)
    report = catch_up(project, [spec_of(project, BY_NAME[read], THINGS, folder)], spark)
    (table,) = report.tables
    assert table.exit_code == SourceError.exit_code
    assert BY_NAME[written].format in str(table.error)


def by_line(rejects: DataFrame) -> dict[int, str]:
    return {row["line"]: row["reason"] for row in rejects.select("line", "reason").collect()}

"""A record with something wrong in it is rejected with a reason that says what; the records around it are taken."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.errors import SourceError
from siltstone.engine.init import looks_like
from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec
from tests.conformance.decoded import spec_of, told
from tests.conformance.formats import BY_NAME
from tests.conformance.malformed import FAMILIES, GOOD, THINGS, a_story, broken_lines
from tests.conformance.teller import LineTeller
from tests.decoding import decode_rows, discover, envelopes

LINE_TELLERS = (
    "postgresql_bare",
    "mysql_bare",
    "mysql_flat",
    "canal",
    "ticdc",
    "spanner_new_values_array",
    "spanner_old_and_new_values_object",
)
LINE_TELLERS += ("dms", "shareplex", "maxwell", "goldengate", "datastream_json_postgresql", "datastream_json_sqlserver")
LINE_TELLERS += ("postgresql_framed", "mysql_framed", "dts_mysql", "dts_postgresql")


def test_every_format_of_lines_is_broken_somewhere() -> None:
    assert {BY_NAME[name].format for name in LINE_TELLERS} == set(FAMILIES)


@pytest.mark.parametrize("name", LINE_TELLERS)
def test_what_is_wrong_is_said_and_the_rest_goes_on(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    teller = BY_NAME[name]
    assert isinstance(teller, LineTeller)
    good, broken = broken_lines(teller)
    # Good ones before, between and behind the broken ones.
    texts = [*good[:2], *[one.line for one in broken], *good[2:]]
    spec = spec_of(project, teller, THINGS, project.root)
    rows = [("events.jsonl", number, text.encode("utf-8", "surrogateescape")) for number, text in enumerate(texts)]
    read = spark.createDataFrame(rows, "file string, line bigint, text binary").coalesce(1)
    lines = read.select("file", "line", F.col("text").cast("string"))
    records = envelopes(lines, spec.source, {spec.table: spec.keys}).localCheckpoint()
    mine = records.where((F.col("kind") == "change") & (F.col("table") == spec.table))
    judged = by_line(decode_rows(mine, discover(mine, spec), spec))
    reasons = by_line(records.where("kind = 'reject'")) | {line: reason for line, reason in judged.items() if reason}
    taken = {line for line, reason in judged.items() if not reason}
    assert taken == {0, 1, len(texts) - 2, len(texts) - 1}
    problems = [
        f"{one.what}: {reasons.get(number)}"
        for number, one in enumerate(broken, 2)
        if not all(word in reasons.get(number, "") for word in one.words)
    ]
    assert not problems, "\n".join(problems)
    assert len(taken) == GOOD


READS_TOO = {"debezium-flat-json": ("debezium-json",)}
"""Formats whose sources send events of another one, too: what a transform lets pass."""


@pytest.mark.parametrize("form", FAMILIES)
def test_lines_of_another_format_are_no_changes(form: str, spark: SparkSession, project: ProjectSpec) -> None:
    """None of them: a file of another format is one error, told by the run that finds nothing it can take."""
    own = {form, *READS_TOO.get(form, ())}
    others = [BY_NAME[name] for name in LINE_TELLERS if BY_NAME[name].format not in own]
    texts = [line for other in others if isinstance(other, LineTeller) for line in broken_lines(other)[0]]
    mine = next(teller for teller in BY_NAME.values() if teller.format == form)
    spec = spec_of(project, mine, THINGS, project.root)
    rows = [("events.jsonl", number, text) for number, text in enumerate(texts)]
    lines = spark.createDataFrame(rows, "file string, line bigint, text string").coalesce(1)
    found = envelopes(lines, spec.source, {spec.table: spec.keys}).select("kind", "reason", "text").collect()
    assert {row["kind"] for row in found} == {"reject"}
    assert all(row["reason"] for row in found)
    assert all("not JSON" not in row["reason"] for row in found if row["text"].startswith("{"))


@pytest.mark.parametrize("name", [name for name, teller in BY_NAME.items() if isinstance(teller, LineTeller)])
def test_lines_of_every_teller_are_known_by_their_format(name: str) -> None:
    teller = BY_NAME[name]
    assert isinstance(teller, LineTeller)
    assert looks_like(teller.lines(a_story())) == teller.format


@pytest.mark.parametrize(
    ("written", "read"), [("postgresql_bare", "canal"), ("spanner_new_values_array", "mysql_bare")]
)
def test_a_file_of_another_format_is_one_error_that_names_it(
    written: str, read: str, spark: SparkSession, project: ProjectSpec
) -> None:
    folder = told(BY_NAME[written], a_story(), project)
    report = catch_up(project, [spec_of(project, BY_NAME[read], THINGS, folder)], spark)
    (table,) = report.tables
    assert table.exit_code == SourceError.exit_code
    assert BY_NAME[written].format in str(table.error)


def by_line(rejects: DataFrame) -> dict[int, str]:
    return {row["line"]: row["reason"] for row in rejects.select("line", "reason").collect()}

"""Whatever comes in: no run ends in an error that is not siltstone's own, and every record is accounted for."""

import gzip
import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.errors import SchemaEvolutionError, SiltstoneError
from siltstone.engine.formats import format_of
from siltstone.engine.init import SchemaPlace, find_tables, looks_like, written_specs
from siltstone.engine.inputs.line_files import BLANKS
from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.conformance.decoded import enveloped, spec_of
from tests.conformance.formats import BY_NAME
from tests.conformance.hostile import hostile_lines, spoilt
from tests.conformance.malformed import THINGS, a_story
from tests.conformance.quick import ways
from tests.conformance.story import Story
from tests.conformance.story import a_story as a_long_story
from tests.conformance.tell_rows import Rows
from tests.conformance.teller import LineTeller, Teller
from tests.decoding import decode_rows, discover

SEED = int(os.environ.get("SILTSTONE_SEED", "1"))
DAMAGED = int(os.environ.get("SILTSTONE_DAMAGED", "12"))
MANY = int(os.environ.get("SILTSTONE_HOSTILE", "200"))
NAMES = [
    "postgresql_bare", "mysql_schemas", "oracle_bare", "sqlserver_bare", "canal", "spanner_new_values_array",
    "spanner_new_row_text", "ticdc", "shareplex", "dms", "datastream_json_postgresql", "datastream_json_sqlserver",
    "rows_json", "postgresql_framed", "dts_mysql", "dts_postgresql", "maxwell", "goldengate", "goldengate_row",
]  # fmt: skip
FILES = (
    "datastream_avro_mysql",
    "spanner_avro_old_and_new_values",
    "rows_avro",
    "rows_parquet",
    "rows_csv",
    "postgresql_bare",
)


def hostile(teller: Teller, folder: Path, seed: int = SEED, many: int = MANY) -> list[bytes]:
    """Hostile lines in a file of the folder, good ones in front of them."""
    good, others = told_lines(teller, a_story(), folder), told_lines(teller, a_long_story(), folder)
    lines = [line.encode() for line in good] + hostile_lines(teller, good + others, seed, many)
    place = folder / THINGS.name if isinstance(teller, Rows) else folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "events.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return [line for line in lines if line.strip(BLANKS)]


def told_lines(teller: Teller, story: Story, folder: Path) -> list[str]:
    """The lines that tell a story."""
    if isinstance(teller, LineTeller):
        return teller.lines(story)
    folder.mkdir(parents=True)
    teller.deliver(story, folder)
    found = [line for file in sorted(folder.rglob("*")) if file.is_file() for line in file.read_text().splitlines()]
    shutil.rmtree(folder)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_bytes_break_init(name: str, tmp_path: Path) -> None:
    """Without a JVM: files of a good line and a bad one, and one of each alone."""
    teller, refused = BY_NAME[name], 0
    good, *_ = told_lines(teller, a_story(), tmp_path / "told")
    place = SchemaPlace(Path(teller.source(THINGS, tmp_path / "told")["schemas"])) if name.endswith("framed") else None
    for line in hostile_lines(teller, [good], SEED, MANY // 2):
        file = tmp_path / "events.jsonl"
        for text in (line, good.encode() + b"\n" + line):
            file.write_bytes(text + b"\n")
            try:
                written_specs(find_tables([file], None, place), tmp_path / "specs", tmp_path, [file], place)
            except SiltstoneError:
                refused += 1
        looks_like([line.decode("utf-8", "replace")])
    assert refused


@pytest.mark.parametrize("name", ways(NAMES))
def test_no_bytes_break_a_decoder(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    """Every line is a change, a control event or a reject with its reason, and each row fits or is told not to."""
    teller, folder = BY_NAME[name], project.root / "told" / name
    lines = hostile(teller, folder)
    spec = spec_of(project, teller, THINGS, folder, keys=["id"])
    records = enveloped(spark, project, spec, {spec.table: spec.keys})
    assert records.select("line").distinct().count() == len(lines)
    assert records.where("(kind = 'reject') != (reason IS NOT NULL)").isEmpty()
    mine = records.where((F.col("kind") == "change") & (F.col("table") == spec.table))
    judged(mine, spec)
    with suppress(SchemaEvolutionError):  # where types that events tell contradict each other, a person decides
        judged(mine, spec_of(project, teller, THINGS, folder, typed=False, keys=["id"]))


def judged(mine: DataFrame, spec: TableSpec) -> None:
    """What is not rejected has all that the fold asks for."""
    changes = decode_rows(mine, discover(mine, spec), spec).localCheckpoint()
    assert changes.count() == mine.count()
    good = changes.where("reason IS NULL")
    assert good.where("op IS NULL OR (op != 'truncate' AND key.id IS NULL)").isEmpty()
    assert good.where("op != 'read' AND (position IS NULL OR coalesce(commit_ts, ingest_ts) IS NULL)").isEmpty()


@pytest.mark.parametrize("name", ways(FILES, ("datastream_avro_mysql", "rows_parquet")))
def test_no_damaged_file_ends_in_another_error(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    """Files that say how they are to be read, with bytes changed: read as far as they can be, or refused as such."""
    teller, whole, outcomes = BY_NAME[name], project.root / "whole", []
    whole.mkdir()
    teller.deliver(a_story(), whole)
    file = min((each for each in whole.rglob("*") if each.is_file()), key=lambda each: each.stat().st_size)
    data = file.read_bytes() if name != "postgresql_bare" else gzip.compress(file.read_bytes())
    draw = random.Random(f"{SEED} {name}")
    for number in range(MANY):  # without a JVM there is time for more
        target = project.root / "files" / (f"{number}" + "".join(file.suffixes))
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(spoilt(draw, data, [bytes(8), b"\xff" * 8]))
        with suppress(SiltstoneError):
            written_specs(find_tables([target]), whole, whole, [target])
    for number in range(DAMAGED):
        place = project.root / f"damaged-{number}"
        target = place / file.relative_to(whole)
        target = target.with_name(target.name + ".gz") if name == "postgresql_bare" else target
        target.parent.mkdir(parents=True)
        target.write_bytes(spoilt(draw, data, [bytes(8), b"\xff" * 8]))
        spec = spec_of(project, teller, THINGS, place)
        try:
            outcomes.append(enveloped(spark, project, spec, {spec.table: spec.keys}).count())
        except SiltstoneError as error:
            outcomes.append(str(error))
    assert len(set(outcomes)) > 1, outcomes
    assert not [told for told in outcomes if "SQLSTATE" in str(told)]  # that is how Spark says it


@pytest.mark.slow
def test_nothing_is_lost_in_whole_runs(spark: SparkSession, project: ProjectSpec) -> None:
    """All formats in one run: taken, rejected, control events and what is not ours are all the records."""
    specs, wanted = [], {}
    for name in NAMES:
        folder = project.root / "told" / name
        lines = hostile(BY_NAME[name], folder, SEED + 1, MANY // 2)
        specs.append(spec_of(project, BY_NAME[name], THINGS, folder, keys=["id"], rejects={"max_fraction": 1.0}))
        wanted[specs[-1].source.path] = len(lines)
    report = catch_up(project, specs, spark)
    foreign = [(table.table, table.error) for table in report.tables if table.error and not is_own(table.error)]
    assert foreign == []
    read = {source.path: source.read for source in report.sources}
    fans_out = {spec.source.path for spec in specs if format_of(spec.source.format).fans_out}
    assert {path: read[path] for path in wanted if path not in fans_out} == {
        path: lines for path, lines in wanted.items() if path not in fans_out
    }
    # A line with records of several tables counts in each.
    assert [path for path in fans_out if read[path] < wanted[path]] == []
    for source in report.sources:
        parts = sum(source.taken.values()) + source.control + sum(source.other_tables.values()) + source.rejected
        assert parts == source.read, source
    rejects = spark.table(f"lake.{project.namespace}.rejects")
    assert rejects.where("reason IS NULL OR reason = ''").isEmpty()


def is_own(error: str) -> bool:
    """Whether siltstone refused a table in its own words: a record can claim to be of another source."""
    return error.startswith("Cannot ") and "Traceback" not in error

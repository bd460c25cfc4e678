"""Hostile input: a run ends only in siltstone's own errors, and it accounts for every record."""

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
from siltstone.engine.formats import FORMATS, format_of
from siltstone.engine.init import SchemaPlace, find_tables, looks_like, written_specs
from siltstone.engine.inputs.line_files import BLANKS
from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.conformance.decoded import enveloped, open_sums, spec_of
from tests.conformance.encode_rows import Rows
from tests.conformance.encoder import Encoder, LineEncoder
from tests.conformance.formats import BY_NAME
from tests.conformance.hostile import damaged_bytes, hostile_lines
from tests.conformance.malformed import THINGS, things_workload
from tests.conformance.quick import variants
from tests.conformance.workload import Workload, full_workload
from tests.decoding import decode_rows, discover

SEED = int(os.environ.get("SILTSTONE_SEED", "1"))
DAMAGED = int(os.environ.get("SILTSTONE_DAMAGED", "12"))
MANY = int(os.environ.get("SILTSTONE_HOSTILE", "200"))
NAMES = [
    "postgresql_bare", "mysql_schemas", "oracle_bare", "sqlserver_bare", "canal", "spanner_new_values_array",
    "spanner_new_row_text", "ticdc", "shareplex", "dms", "datastream_json_postgresql", "datastream_json_sqlserver",
    "rows_json", "mysql_flat", "postgresql_framed", "dts_mysql", "dts_postgresql", "maxwell", "goldengate",
    "goldengate_row",
]  # fmt: skip
FILES = (
    "datastream_avro_mysql",
    "spanner_avro_old_and_new_values",
    "rows_avro",
    "rows_parquet",
    "rows_csv",
    "postgresql_bare",
)


def test_every_format_has_hostile_records() -> None:
    assert {encoder.format for encoder in BY_NAME.values()} == set(FORMATS)
    assert {BY_NAME[name].format for name in (*NAMES, *FILES)} == set(FORMATS)


def hostile(encoder: Encoder, folder: Path, seed: int = SEED, many: int = MANY) -> list[bytes]:
    """Write good lines, then hostile lines, to a file of the folder."""
    good, others = workload_lines(encoder, things_workload(), folder), workload_lines(encoder, full_workload(), folder)
    lines = [line.encode() for line in good] + hostile_lines(encoder, good + others, seed, many)
    place = folder / THINGS.name if isinstance(encoder, Rows) else folder
    place.mkdir(parents=True, exist_ok=True)
    (place / "events.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return [line for line in lines if line.strip(BLANKS)]


def workload_lines(encoder: Encoder, workload: Workload, folder: Path) -> list[str]:
    """The lines of a workload."""
    if isinstance(encoder, LineEncoder):
        return encoder.lines(workload)
    folder.mkdir(parents=True)
    encoder.deliver(workload, folder)
    found = [line for file in sorted(folder.rglob("*")) if file.is_file() for line in file.read_text().splitlines()]
    shutil.rmtree(folder)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_init_handles_any_bytes(name: str, tmp_path: Path) -> None:
    """`init` reads or refuses files of a hostile line, alone and after a good line. It runs without a JVM."""
    encoder, refused = BY_NAME[name], 0
    good, *_ = workload_lines(encoder, things_workload(), tmp_path / "encoded")
    place = (
        SchemaPlace(Path(encoder.source(THINGS, tmp_path / "encoded")["schemas"])) if name.endswith("framed") else None
    )
    for line in hostile_lines(encoder, [good], SEED, MANY // 2):
        file = tmp_path / "events.jsonl"
        for text in (line, good.encode() + b"\n" + line):
            file.write_bytes(text + b"\n")
            try:
                written_specs(find_tables([file], None, place), tmp_path / "specs", tmp_path, [file], place)
            except SiltstoneError:
                refused += 1
        looks_like([line.decode("utf-8", "replace")])
    assert refused


@pytest.mark.parametrize("name", variants(NAMES))
def test_a_decoder_handles_any_bytes(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    """Every line is a change, a control event or a reject with its reason. Each accepted row is complete."""
    encoder, folder = BY_NAME[name], project.root / "encoded" / name
    lines = hostile(encoder, folder)
    spec = spec_of(project, encoder, THINGS, folder, keys=["id"])
    records = enveloped(spark, project, spec, {spec.table: spec.keys})
    assert records.select("line").distinct().count() == len(lines)
    assert records.where("(kind = 'reject') != (reason IS NOT NULL)").isEmpty()
    assert_changes_are_complete(records, spec)
    with suppress(SchemaEvolutionError):  # if the types in the events contradict each other, the user must declare them
        assert_changes_are_complete(records, spec_of(project, encoder, THINGS, folder, typed=False, keys=["id"]))


def assert_changes_are_complete(events: DataFrame, spec: TableSpec) -> None:
    """Each change that is not rejected has all fields that the fold needs."""
    mine = events.where((F.col("kind") == "change") & (F.col("table") == spec.table))
    changes = decode_rows(mine, discover(events, spec), spec).localCheckpoint()
    assert changes.count() == mine.count()
    good = changes.where("reason IS NULL")
    assert good.where("op IS NULL OR (op != 'truncate' AND key.id IS NULL)").isEmpty()
    assert good.where("op != 'read' AND (position IS NULL OR coalesce(commit_ts, ingest_ts) IS NULL)").isEmpty()


@pytest.mark.parametrize("name", variants(FILES, ("datastream_avro_mysql", "rows_parquet")))
def test_a_damaged_file_is_read_or_refused(name: str, spark: SparkSession, project: ProjectSpec) -> None:
    """Files with changed bytes, in formats that describe their own content, are read as far as possible or refused."""
    encoder, whole, outcomes = BY_NAME[name], project.root / "whole", []
    whole.mkdir()
    encoder.deliver(things_workload(), whole)
    file = min((each for each in whole.rglob("*") if each.is_file()), key=lambda each: each.stat().st_size)
    data = file.read_bytes() if name != "postgresql_bare" else gzip.compress(file.read_bytes())
    draw = random.Random(f"{SEED} {name}")
    for number in range(MANY):  # more cases, because this part needs no JVM
        target = project.root / "files" / (f"{number}" + "".join(file.suffixes))
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(damaged_bytes(draw, data, [bytes(8), b"\xff" * 8]))
        with suppress(SiltstoneError):
            written_specs(find_tables([target]), whole, whole, [target])
    for number in range(DAMAGED):
        place = project.root / f"damaged-{number}"
        target = place / file.relative_to(whole)
        target = target.with_name(target.name + ".gz") if name == "postgresql_bare" else target
        target.parent.mkdir(parents=True)
        target.write_bytes(damaged_bytes(draw, data, [bytes(8), b"\xff" * 8]))
        spec = spec_of(project, encoder, THINGS, place)
        try:
            outcomes.append(enveloped(spark, project, spec, {spec.table: spec.keys}).count())
        except SiltstoneError as error:
            outcomes.append(str(error))
    assert len(set(outcomes)) > 1, outcomes
    assert not [outcome for outcome in outcomes if "SQLSTATE" in str(outcome)]  # an error message of Spark


@pytest.mark.slow
def test_a_run_accounts_for_every_record(spark: SparkSession, project: ProjectSpec) -> None:
    """Taken records, rejects, control events and records of other tables add up to all records."""
    specs, wanted = [], {}
    for name in NAMES:
        folder = project.root / "encoded" / name
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
    # A line with records of several tables counts once for each table.
    assert [path for path in fans_out if read[path] < wanted[path]] == []
    assert open_sums(report) == []
    rejects = spark.table(f"lake.{project.namespace}.rejects")
    assert rejects.where("reason IS NULL OR reason = ''").isEmpty()


def is_own(error: str) -> bool:
    """Whether siltstone refused a table with its own message. A record can claim to be from another source."""
    return error.startswith("Cannot ") and "Traceback" not in error

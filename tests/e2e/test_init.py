"""Specs that `init` writes run unchanged, and declare the types that the engine infers itself."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from siltstone.engine.decode.formats.datastream import ROW_ID
from siltstone.engine.ingest.source_records import read_records, source_files
from siltstone.engine.init import FoundTable, SchemaPlace, find_tables, write_specs, written_specs
from siltstone.engine.init.path_patterns import Surroundings, common_path, named_folders
from siltstone.engine.inputs.listing import list_files
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.run import catch_up
from siltstone.engine.spec import load_project, load_specs, table_spec
from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.validate import checks_of_run
from tests import dts_records as dts
from tests.decoding import discover
from tests.framed import envelope, frame, message, record, schemas_file
from tests.recordings import DATA
from tests.unit.decode.given import SOURCE

EXTRACTS = Path(__file__).parents[1] / "data"
RECORDED = (
    "mariadb/canal.flat.jsonl.gz",
    "mariadb/debezium.noschema.jsonl.gz",
    "spanner/real_googlesql_array_struct.jsonl",
    "spanner/real_pg_jsonb.jsonl",
    "spanner/derived_emulator_NEW_VALUES.jsonl",
    "datastream/avro",
    "datastream/json",
    "dts/shareplex/doc_samples.jsonl",
    "canal/canal-data.txt",
    "dts/samples/mydb_t1.base64.txt",
    "dts/samples/drds_insert.noborn.base64.txt",
    "postgresql/events.avro.jsonl.gz",
)


def spec_of(project: ProjectSpec, table: FoundTable, path: str) -> TableSpec:
    """A spec without types, so that the engine infers them."""
    source = {"format": table.format, "path": path}
    if table.format == "debezium-avro":
        source["schemas"] = str(recorded_schemas(Path(path)))
    mapping: dict[str, object] = {"table": table.name, "source": source}
    if table.keys != {(ROW_ID,)}:  # ROW_ID is not a column of the row
        mapping["keys"] = sorted(table.keys)[0] if table.keys else [next(iter(table.columns.types()))]
    return table_spec(mapping, project)


def recorded_schemas(events: Path) -> Path:
    """The file with the schemas of a recording of frames."""
    return events.with_name(events.name.replace(".jsonl", ".schemas.json"))


def engine_types(
    spark: SparkSession, project: ProjectSpec, tables: Sequence[FoundTable], path: str
) -> dict[str | None, dict[str, str]]:
    """The types that the engine infers from the events of each table."""
    specs = {table.name: spec_of(project, table, path) for table in tables}
    source = next(iter(specs.values())).source
    files = source_files(spark, source, "lake", None)
    lines, _ = read_records(spark, source, [PendingFile(file, "", 0, False) for file in files], "lake")
    events = lines.events(source, {spec.table: spec.keys for spec in specs.values()}).localCheckpoint()
    found: dict[str | None, dict[str, str]] = {}
    for name, spec in specs.items():
        shape = discover(events, replace(spec, columns=None))
        found[name] = {column.name: column.value_type.simpleString() for column in shape.columns}
    return found


def check_types(spark: SparkSession, project: ProjectSpec, place: Path) -> None:
    schemas = SchemaPlace(recorded_schemas(place)) if ".avro.jsonl" in place.name else None
    tables = [table for table in find_tables([place], schemas=schemas) if table.name]
    known = engine_types(spark, project, tables, str(place))
    declared = {t.name: {n: k.simpleString() if k else "?" for n, k in t.columns.types().items()} for t in tables}
    for table in tables:
        if table.keys != {(ROW_ID,)}:  # the spec has another key, so ROW_ID is not one of its columns
            declared[table.name].pop(ROW_ID, None)
    assert {table: set(columns) for table, columns in declared.items()} == {t: set(c) for t, c in known.items()}
    assert declared == known


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
@pytest.mark.parametrize("recording", RECORDED)
def test_init_declares_the_types_that_the_engine_infers(
    spark: SparkSession, project: ProjectSpec, recording: str
) -> None:
    check_types(spark, project, DATA / recording)


@pytest.mark.parametrize("extract", ["postgresql.noschema", "postgresql.schema", "mariadb.noschema", "mariadb.schema"])
def test_init_declares_the_types_of_checked_in_events(spark: SparkSession, project: ProjectSpec, extract: str) -> None:
    check_types(spark, project, EXTRACTS / f"{extract}.jsonl")


def in_own_namespace(spec: TableSpec, project: ProjectSpec) -> TableSpec:
    """The spec with its tables in the test's own namespace, because other tests have tables of the same names."""
    latest, history = (f"{project.namespace}.{n.replace('.', '_')}" for n in (spec.target.latest, spec.target.history))
    return replace(spec, target=replace(spec.target, latest=latest, history=history))


@pytest.mark.slow
def test_written_specs_run_unchanged_and_reject_no_record(spark: SparkSession, project: ProjectSpec) -> None:
    folder = project.root / "specs"
    for extract in ("postgresql.noschema", "mariadb.schema"):
        events = project.root / extract
        events.mkdir()
        shutil.copy(EXTRACTS / f"{extract}.jsonl", events / "a.jsonl")
        tables = [table for table in find_tables([events]) if table.keys]
        write_specs(written_specs(tables, folder, project.root, [events]), None, force=False)
    specs = [in_own_namespace(spec, project) for spec in load_specs(None, project)]
    report = catch_up(project, specs, spark)
    assert not [(table.table, table.error) for table in report.tables if table.exit_code]
    assert {table.rejected for table in report.tables} == {0}
    assert all(table.changes for table in report.tables)
    for spec in specs:
        stored = spark.table(f"lake.{spec.target.latest}").dtypes
        declared = {name: parse_column_type(col.type).spark_type for name, col in (spec.columns or {}).items()}
        assert declared.items() <= dict(stored).items()


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
@pytest.mark.parametrize("recording", ["spanner/derived_emulator_NEW_ROW.jsonl", "mariadb/debezium.noschema.jsonl.gz"])
def test_a_complete_spec_runs_without_rejects_and_failed_checks(
    spark: SparkSession, project: ProjectSpec, recording: str
) -> None:
    tables = find_tables([DATA / recording])
    found = written_specs(tables, project.root / "ready", project.root, [DATA / recording])
    assert not [spec.open_questions for spec in found if spec.open_questions]
    write_specs(found, None, force=False)
    specs = [in_own_namespace(spec, project) for spec in load_specs([spec.file for spec in found], project)]
    report = catch_up(project, specs, spark, checks=checks_of_run)
    assert not [(table.table, table.error) for table in report.tables if table.exit_code]
    assert {table.rejected for table in report.tables} == {0}
    failed = [
        (table.table, one.check) for table in report.tables for one in table.checks or () if one.status == "failed"
    ]
    assert failed == []


@pytest.mark.slow
def test_written_specs_of_messages_run_unchanged(spark: SparkSession, project: ProjectSpec) -> None:
    folder = project.root / "specs"
    columns = {"id": "long", "name": "string"}
    key = record("Key", {"id": "long"})
    place = SchemaPlace(Path(schemas_file(project.root, {1: key, 2: envelope(columns)})))
    source = dict.fromkeys(("db", "txId")) | SOURCE | {"version": "3", "db": "main"}
    event = {"before": None, "source": source, "transaction": None, "op": "c", "ts_ms": 1}
    frames = [
        message(frame(2, envelope(columns), event | {"after": {"id": n, "name": "a"}}), frame(1, key, {"id": n}))
        for n in (1, 2)
    ]
    records = [
        dts.line(dts.record("BEGIN", keys=None, objectName=None)),
        *[
            dts.line(
                dts.record("INSERT", dts.MYSQL, after=[dts.integer(n), dts.text("å")], objectName="db.things"), born
            )
            for n, born in ((1, True), (2, False))
        ],
    ]
    for name, lines in (("frames", frames), ("dts", records)):
        events = project.root / name / "a.jsonl"
        events.parent.mkdir()
        events.write_text("".join(f"{line}\n" for line in lines))
        tables = find_tables([events.parent], schemas=place if name == "frames" else None)
        write_specs(written_specs(tables, folder, project.root, [events.parent], place), None, force=False)
    specs = [in_own_namespace(spec, project) for spec in load_specs(None, project)]
    assert {(spec.table, spec.source.format) for spec in specs} == {
        ("shop.items", "debezium-avro"), ("db.things", "dts-avro"),
    }  # fmt: skip
    report = catch_up(project, specs, spark)
    assert {(table.exit_code, table.rejected, table.changes) for table in report.tables} == {(0, 0, 2)}
    for spec in specs:
        rows = spark.table(f"lake.{spec.target.latest}").select("id", "name").orderBy("id").collect()
        text = "a" if spec.table == "shop.items" else "å"
        assert [tuple(row) for row in rows] == [(1, text), (2, text)]
    swapped = [
        replace(spec, source=replace(spec.source, path=str(project.root / other)))
        for spec, other in zip(sorted(specs, key=lambda spec: spec.source.format), ("dts", "frames"), strict=True)
    ]
    reports = catch_up(project, swapped, spark).tables
    assert {("look like dts-avro" in str(t.error), "look like debezium-avro" in str(t.error)) for t in reports} == {
        (True, False), (False, True),
    }  # fmt: skip


def test_the_path_of_a_spec_matches_exactly_the_files_of_its_table(spark: SparkSession, tmp_path: Path) -> None:
    def made(*names: str) -> list[Path]:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("{}\n")
        return [tmp_path / name for name in names]

    nested = made("nested/one/a.jsonl", "nested/two/b c.jsonl")
    made("nested/other.txt")
    flat = made("flat/a.jsonl.gz", "flat/b.jsonl.gz")
    made("flat/c.avro")
    mixed = made("mixed/a.jsonl", "mixed/b.json")
    made("mixed/c.json")
    whole = made("whole/x/a.jsonl", "whole/b.json")
    for files, folder in ((nested, "nested"), (flat, "flat"), (mixed, "mixed"), (whole, "whole")):
        path = common_path(files, tmp_path, Surroundings(named_folders([tmp_path / folder])))
        found = [Path(file.path.removeprefix("file:")) for file in list_files(str(tmp_path / path))]
        assert found == sorted(files), path
    assert common_path(flat, tmp_path, Surroundings(named_folders([tmp_path / "flat"]))) == "flat/*.jsonl.gz"
    own = made("apart/t/1.jsonl")
    controls = made("apart/c/05/1.jsonl", "apart/c/06/1.jsonl", "apart/h.jsonl")
    made("apart/no.jsonl")
    path = common_path(own, tmp_path, Surroundings(named_folders([tmp_path / "apart"]), controls))
    assert path == "apart/{t/*.jsonl,h.jsonl,c}"
    found = [Path(file.path.removeprefix("file:")) for file in list_files(str(tmp_path / path))]
    assert found == sorted([*own, *controls])
    assert common_path(whole, tmp_path, Surroundings(named_folders([tmp_path / "whole"]))) == "whole"


CANAL = {
    "database": "shop", "pkNames": ["id"], "isDdl": False, "type": "INSERT", "es": 1, "ts": 2,
    "mysqlType": {"id": "int"}, "data": [{"id": "1"}], "old": None,
}  # fmt: skip


def paths_of(root: Path, files: dict[str, Sequence[str]]) -> dict[str, str]:
    """Write files with Canal events of these tables. Gives the path in the spec that `init` writes for each table."""
    for name, tables in files.items():
        (root / "ev" / name).parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(CANAL | {"id": n, "table": table}) if table else "?" for n, table in enumerate(tables)]
        (root / "ev" / name).write_text("".join(f"{line}\n" for line in lines))
    specs = written_specs(find_tables([root / "ev"]), root / "specs", root, [root / "ev"])
    return {spec.table.removeprefix("shop."): yaml.safe_load(spec.text)["source"]["path"] for spec in specs}


def test_the_path_of_a_spec_also_matches_future_files(tmp_path: Path) -> None:
    a, b, both = ["a"], ["b"], ["a", "b"]
    dated, unknown = "2024/05/01/10/210/x.jsonl", [""]
    cases: list[tuple[dict[str, Sequence[str]], dict[str, str]]] = [
        ({"a.2026.11.21.jsonl": a}, {"a": "ev/*.jsonl"}),
        ({"a.2026.11.21.jsonl": a, "other.jsonl": unknown}, {"a": "ev/*.21.jsonl"}),
        ({"events.jsonl.1": a, "events.jsonl.2": a}, {"a": "ev"}),
        ({"day1.jsonl": both, "day2.jsonl": a}, {"a": "ev/*.jsonl", "b": "ev/*.jsonl"}),
        ({"day1.jsonl": both, "day2.jsonl": a, "c.txt": unknown}, {"a": "ev/*.jsonl", "b": "ev/*.jsonl"}),
        ({"1.jsonl": both, "2.jsonl": a, "sub/1.jsonl": a, "sub/c.txt": unknown}, {
            "a": "ev/{1.jsonl,2.jsonl,sub/1.jsonl}", "b": "ev/*.jsonl",
        }),
        ({"a.jsonl": a, "b.jsonl": b, "c.jsonl": unknown}, {"a": "ev/a.jsonl", "b": "ev/b.jsonl"}),
        ({f"a/{dated}": a, f"b/{dated}": b}, {"a": "ev/a", "b": "ev/b"}),
        ({f"a/{dated}": a, "c.jsonl": unknown}, {"a": "ev/a"}),
        ({"a/05/01/x.jsonl": a, "a/05/02/x.jsonl": a, "b.jsonl": b}, {"a": "ev/a", "b": "ev/*.jsonl"}),
        ({dated: a}, {"a": "ev"}),
        ({"dt=05-01/x.jsonl": both, "dt=05-02/x.jsonl": a}, {"a": "ev", "b": "ev"}),
        ({"day1/x.jsonl": both, "c.txt": unknown}, {"a": "ev/day1/*.jsonl", "b": "ev/day1/*.jsonl"}),
    ]  # fmt: skip
    for number, (files, paths) in enumerate(cases):
        assert paths_of(tmp_path / f"{number}", files) == paths, files


def test_a_file_name_with_wildcards_matches_no_other_file(spark: SparkSession, tmp_path: Path) -> None:
    """Next to each file is a file of another kind that the name would match as a pattern."""
    neighbours: list[dict[str, str]] = [
        {"jobs[1].jsonl": "jobs1.jsonl"},
        {"b*?.jsonl": "bbb.jsonl"},
        {"${c,d}.jsonl": "$c.jsonl"},
        {"e\\x.jsonl": "ex.jsonl"},
        {"a,b.jsonl": "a", "[c].jsonl": "c.jsonl", "{": "d"},
        {"f,g/{1}.jsonl": "f,g/1.jsonl", "[h]\\,.jsonl": "h,.jsonl", "1.jsonl": "2.jsonl"},
        {"[i]/1.jsonl": "i/1.jsonl", "[i]/2.jsonl": "i/2.jsonl"},
        {"[j]/{05}/1.jsonl": "j/05/1.jsonl", "[j]/{05}/k/2.jsonl": "k.jsonl"},
    ]
    event = json.dumps(CANAL | {"table": "a"})
    for number, names in enumerate(neighbours):
        for root in (tmp_path / f"{number}", tmp_path / f"{{[{number}]}}"):
            for name, text in {**dict.fromkeys(names.values(), "?"), **dict.fromkeys(names, event)}.items():
                (root / "ev" / name).parent.mkdir(parents=True, exist_ok=True)
                (root / "ev" / name).write_text(text)
            specs = written_specs(find_tables([root / "ev"]), root / "specs", root, [root / "ev"])
            write_specs(specs, root / "siltstone.yaml", force=False)
            (spec,) = load_specs(None, load_project(root))
            found = {Path(file.path.removeprefix("file:")) for file in list_files(spec.source.path)}
            assert found == {root / "ev" / name for name in names}, spec.source.path

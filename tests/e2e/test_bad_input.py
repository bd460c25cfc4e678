"""Bad input: errors give the file, line, table, reason and a hint. No record is lost, and the next good run works."""

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from siltstone.engine.ingest import append_changes
from siltstone.engine.ingest.source_records import source_files
from siltstone.engine.report import FAILED, RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, SourceSpec
from siltstone.engine.spec.rows_format import RowsSpec
from siltstone.quality.report.write_report import facts_of
from siltstone.quality.validate import checks_of_run
from tests.e2e.streams import THINGS, Shop, event, insert, row, update


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def failure(report: RunReport, exit_code: int) -> str:
    """The message of the one table, which failed with this exit code."""
    (table,) = report.tables
    assert (table.status, table.exit_code, report.exit_code) == (FAILED, exit_code, exit_code), table.error
    assert table.error is not None
    return table.error


def has_no_data(shop: Shop) -> bool:
    """Whether the table has no change, no version, no row, no recorded input and no reject."""
    stored = [shop.rows(name) for name in ("shop_things_changes", "shop_things_h", "shop_things")]
    return stored == [[], [], []] and not rows_of_things(shop, "inputs") and not rows_of_things(shop, "rejects")


def rows_of_things(shop: Shop, ledger: str) -> list[dict[str, Any]]:
    return [found for found in shop.rows(ledger) if found["consumer"] == THINGS]


GOOD = (insert(1, row(1, "Alice")), insert(2, row(2, "Bob")))
DECIMAL = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "12"},
}
HALF = insert(3, row(3, "Charlie"))
CANAL = (
    '{"id":1,"database":"shop","table":"things","type":"INSERT","isDdl":false,"es":1,"ts":2,"pkNames":["id"],'
    '"mysqlType":{"id":"int"},"data":[{"id":"1"}],"old":null}\n'
)
BAD = (
    "{not JSON\n",
    insert(11, row(None, "Nobody")),
    insert(12, row(4, "Dora")).replace('"op": "c"', '"op": "x"'),
    insert(13, row(5, "Eve", 3_000_000_000)),
    "\n",
)


@dataclass(frozen=True)
class Mixed:
    """One file with each kind of bad record between good records, and an incomplete line at its end."""

    shop: Shop
    file: Path
    report: RunReport


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    shop = Shop.open(spark, catalog, tmp_path_factory.mktemp("bad_records"), "bad_records")
    file = shop.write("a.jsonl", [GOOD[0], *BAD, GOOD[1], HALF[:60]])
    report = shop.run(shop.spec("shop.thing"), shop.spec(rejects=1.0))
    return Mixed(shop, file, report)


def test_each_bad_record_is_stored_with_its_place_and_reason(mixed: Mixed) -> None:
    text = mixed.file.read_text(encoding="utf-8").split("\n")
    rejects = {found["line"]: found for found in mixed.shop.rows("rejects")}
    assert {line: (found["table"], found["reason"]) for line, found in sorted(rejects.items())} == {
        2: (None, "not JSON"),
        3: (THINGS, 'key column "id" is null'),
        4: (THINGS, 'unknown op "x"'),
        5: (THINGS, 'column "n": the value does not fit int (it needs bigint)'),
        8: (None, "not JSON"),
    }
    assert {found["file"] for found in rejects.values()} == {f"file:{mixed.file}"}
    assert all(found["record"] == text[line - 1] for line, found in rejects.items())


def test_good_records_between_bad_ones_are_taken(mixed: Mixed) -> None:
    _, table = mixed.report.tables
    assert (table.exit_code, table.changes, table.rejected) == (0, 2, 3), table.error
    assert mixed.shop.latest() == [(1, "Alice", 0), (2, "Bob", 0)]


def test_the_report_counts_every_record(mixed: Mixed) -> None:
    (source,) = mixed.report.sources
    assert (source.read, source.taken, source.control, source.rejected) == (7, {THINGS: 4}, 0, 3)
    assert source.half_lines == (f"file:{mixed.file}:8",)


def test_a_table_without_events_fails_with_the_nearest_name_and_stops_no_other_table(mixed: Mixed) -> None:
    shop, typo = mixed.shop, mixed.report.tables[0]
    assert (typo.status, typo.exit_code, mixed.report.exit_code) == (FAILED, 3, 3)
    assert f"Cannot find events of shop.thing in {shop.events}: 1 files hold shop.things." in str(typo.error)
    assert "Hint: did you mean shop.things?" in str(typo.error)
    assert shop.rows("shop_thing_changes") == []


def test_an_incomplete_last_line_is_taken_when_it_is_complete(mixed: Mixed) -> None:
    shop = mixed.shop
    shop.write("b.jsonl", [])
    with mixed.file.open("a", encoding="utf-8") as growing:
        growing.write(HALF[60:] + update(4, row(1, "Alicia")))
    report = shop.run(shop.spec(rejects=1.0))
    (table,) = report.tables
    assert (table.exit_code, table.changes, table.rejected) == (0, 2, 0), table.error
    assert report.sources[0].half_lines == ()
    assert shop.latest() == [(1, "Alicia", 0), (2, "Bob", 0), (3, "Charlie", 0)]
    places = sorted((found["line"], found["batch"]) for found in shop.rows("shop_things_changes"))
    assert places == [(1, 1), (7, 1), (8, 2), (9, 2)]


@pytest.mark.slow
def test_the_check_of_each_table_and_the_report_count_records_without_a_table(shop: Shop) -> None:
    other = event("c", 5, None, row(1, "Otto"), "shop.others")
    file = shop.write("a.jsonl", [other, *GOOD, "{not JSON\n", "{neither\n", HALF[:60]])
    specs = [shop.spec(rejects=1.0), shop.spec("shop.others", rejects=1.0)]

    def message() -> list[tuple[str, int, str]]:
        report = catch_up(shop.project, specs, shop.spark, checks=checks_of_run)
        assert report.exit_code == 0, report.tables
        checks = [check for table in report.tables for check in table.checks or () if check.check == "rejects"]
        return [(check.status, check.observed, check.message) for check in checks]

    what = "2 records of the source name no table and may be of this one: not JSON (2, first at line 4 of"
    assert message() == [("failed", 2, f"{what} file:{file})")] * 2
    (lost,) = facts_of(shop.project).rejects
    assert (lost.source, lost.reason, lost.count, lost.line) == (str(shop.events), "not JSON", 2, 4)
    shop.write("b.jsonl", [insert(8, row(8, "Zoe")), event("c", 9, None, row(2, "Olga"), "shop.others")])
    assert message() == [("passed", 0, "nothing found")] * 2


def test_an_error_about_a_missing_source_names_its_path(shop: Shop) -> None:
    missing = failure(shop.run(shop.spec(path="events/gone.jsonl")), 3)
    unmatched = failure(shop.run(shop.spec(path="events/*.jsonl")), 3)
    assert f"Cannot read {shop.events}/gone.jsonl: it does not exist. Hint: check source.path" in missing
    assert f"Cannot read {shop.events}/*.jsonl: it matches no file. Hint: check source.path" in unmatched
    assert has_no_data(shop)


def test_a_run_takes_nothing_from_a_truncated_compressed_file_until_it_is_complete(shop: Shop) -> None:
    shop.write("a.jsonl", [insert(1, row(1, "Alice"))])
    whole = gzip.compress("".join(insert(n, row(n, f"{n:x}" * 9, n * n)) for n in range(2, 40)).encode())
    cut = shop.events / "b.jsonl.gz"
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    message = failure(shop.run(), 3)
    assert f"Cannot read file:{cut}: the compressed stream ends early after line " in message
    assert "Nothing of this batch was taken. Hint: deliver the whole file and retry" in message
    assert has_no_data(shop)
    cut.write_bytes(whole)
    assert shop.taken().changes == 39
    assert [key for key, _, _ in shop.latest()] == list(range(1, 40))


def test_a_run_refuses_a_column_that_changes_its_type_and_names_both_types(shop: Shop) -> None:
    spec = shop.spec(columns=None)
    shop.write("a.jsonl", [insert(1, row(1, "Alice", 1), types={})])
    assert shop.run(spec).exit_code == 0
    before = {name: shop.rows(name) for name in ("shop_things_changes", "shop_things_h", "shop_things")}
    text, decimal = shop.events / "b.jsonl", shop.events / "c.jsonl"
    text.write_text(update(2, row(1, "Alice", "one"), types={"n": "string"}), encoding="utf-8")
    message = failure(shop.run(spec), 4)
    assert "Cannot decode shop.things: column n changes its type (int, string). Hint: Declare one type" in message
    text.unlink()
    decimal.write_text(update(3, row(1, "Alice", "AZA="), types={"n": DECIMAL}), encoding="utf-8")
    message = failure(shop.run(spec), 4)
    assert "column n is int and cannot become decimal(12,2) without rewriting the table. Hint: " in message
    decimal.unlink()
    assert {name: shop.rows(name) for name in before} == before
    assert len(rows_of_things(shop, "inputs")) == 1
    shop.write("d.jsonl", [update(4, row(1, "Alice", 7_000_000_000), types={"n": "int64"})])
    assert shop.run(spec).exit_code == 0
    assert shop.latest() == [(1, "Alice", 7_000_000_000)]


def test_a_run_with_too_many_rejects_takes_nothing(shop: Shop) -> None:
    file = shop.write("a.jsonl", [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", "two"))])
    message = failure(shop.run(), 3)
    assert "Cannot take the batch for shop.things: 1 of 2 records cannot be decoded" in message
    assert "more than rejects.max_fraction 0.01 allows" in message
    assert f'(1 x column "n": the value does not fit int (file:{file}:2))' in message
    assert "Hint: fix the spec, or raise rejects.max_fraction to take the others" in message
    assert has_no_data(shop)


def test_an_error_about_too_many_lines_without_a_table_gives_reasons_and_places(shop: Shop) -> None:
    file = shop.write("a.jsonl", [*GOOD, "{cut\n", "{again\n", "[1]\n", HALF[:60]])
    message = failure(shop.run(), 3)
    assert "3 of 6 records are no debezium-json events, more than rejects.max_fraction 0.01 allows (2 x not" in message
    assert f" (2 x not JSON (file:{file}:3); 1 x " in message
    assert f" (file:{file}:5)). Nothing was taken. Hint:" in message
    assert has_no_data(shop)


def test_rejects_of_an_undeclared_table_are_stored_and_stop_no_other_table(shop: Shop) -> None:
    others = [GOOD[0].replace('"table": "things"', '"table": "others"').replace('"op": "c"', '"op": "x"')] * 3
    assert others[0] != GOOD[0]
    shop.write("a.jsonl", [*GOOD, *others])
    assert shop.run().exit_code == 0
    assert len(shop.latest()) == 2
    assert [row["table"] for row in shop.rows("rejects")] == ["shop.others"] * 3


def act_after_decoding(patch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call `act` after a table's records are decoded, before the run reads the texts of its rejects."""

    def decoding(*arguments: Any) -> append_changes.Decoded:
        found = decode_table(*arguments)
        act()
        return found

    decode_table = append_changes.decode_table
    patch.setattr(append_changes, "decode_table", decoding)


@pytest.mark.slow
def test_a_reject_keeps_its_own_text_if_its_file_grows_during_the_run(shop: Shop) -> None:
    lines = [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", "two")), insert(3, row(3, "Carl", "three"))]
    more, spec = [insert(n, row(n, f"{n}" * 99, "x")) for n in range(4, 400)], shop.spec(rejects=1.0)
    shop.write("a.jsonl", ["\n", *lines])
    with pytest.MonkeyPatch.context() as patch:
        act_after_decoding(patch, lambda: shop.write("a.jsonl", ["\n", *lines, *more]))
        assert shop.taken(spec).changes == 1
    rejects = sorted((found["line"], found["record"]) for found in rows_of_things(shop, "rejects"))
    assert rejects == [(3, lines[1].rstrip("\n")), (4, lines[2].rstrip("\n"))]
    assert shop.taken(spec).rejected == 396


def test_a_run_takes_nothing_from_a_file_that_is_replaced_during_the_run(shop: Shop) -> None:
    file = shop.write("a.jsonl", [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", "two"))])
    other = [insert(1, row(1, "Alice")), insert(2, row(2, "Zoe", "two"))]
    with pytest.MonkeyPatch.context() as patch:
        act_after_decoding(patch, lambda: shop.write("a.jsonl", other))
        message = failure(shop.run(shop.spec(rejects=1.0)), 3)
    assert f"in file:{file}:2: the file was replaced while it was taken. Nothing of this batch was" in message
    assert has_no_data(shop)
    assert shop.taken(shop.spec(rejects=1.0)).rejected == 1
    assert "Zoe" in rows_of_things(shop, "rejects")[0]["record"]


@pytest.mark.slow
def test_a_run_takes_nothing_from_a_file_that_is_deleted_during_the_run(shop: Shop) -> None:
    whole = gzip.compress((insert(1, row(1, "Alice")) + insert(2, row(2, "Bob", "two"))).encode())
    file = shop.events / "a.jsonl.gz"
    file.write_bytes(whole)
    with pytest.MonkeyPatch.context() as patch:
        act_after_decoding(patch, file.unlink)
        message = failure(shop.run(shop.spec(rejects=1.0)), 3)
    assert f"Cannot read file:{file}: it is gone since it was listed. Nothing of this batch was taken. Hint:" in message
    assert has_no_data(shop)
    file.write_bytes(whole)
    assert shop.taken(shop.spec(rejects=1.0)).rejected == 1


def refused(shop: Shop, folder: str, lines: str, **source: str) -> str:
    """The error of a run over one file, for a spec that declares only the key of its table."""
    (shop.events / folder).mkdir()
    (shop.events / folder / "a.jsonl").write_text(lines, encoding="utf-8")
    mapping = {"table": THINGS, "source": {"path": f"events/{folder}"} | source, "keys": ["id"]}
    message = failure(shop.run(table_spec(mapping, shop.project)), 3)
    assert has_no_data(shop)
    return message


def test_an_error_names_the_probable_format_if_no_line_can_be_decoded(shop: Shop) -> None:
    message = refused(shop, "operations", CANAL * 3, format="shareplex-json")
    assert "none of its 3 records can be decoded (3 x meta is missing (file:" in message
    assert "events/operations/a.jsonl:1)); they look like canal-json. Nothing was taken. Hint: check source" in message
    message = refused(shop, "rows", CANAL * 3, format="rows", sequence_by="seq")
    assert '(3 x sequence column "seq" is null or missing (file:' in message
    assert "/a.jsonl:1)); they look like canal-json. Nothing was taken." in message
    message = refused(shop, "avro", CANAL, format="datastream-avro")
    assert "it is not an Avro file. It looks like canal-json. Hint:" in message


def test_an_error_names_what_a_file_of_another_kind_looks_like(shop: Shop) -> None:
    written = io.BytesIO()
    source = {"database": "shop", "table": "things", "log_file": "mysql-bin.000001", "change_type": "INSERT"}
    meta = {"type": "record", "name": "m", "fields": [{"name": name, "type": "string"} for name in source]}
    row = {"type": "record", "name": "p", "fields": [{"name": "table", "type": "string"}]}
    instant = {"type": "long", "logicalType": "timestamp-micros"}
    fields = [{"name": "source_metadata", "type": meta}, {"name": "payload", "type": row}]
    fields += [{"name": "source_timestamp", "type": instant}, {"name": "uuid", "type": "string"}]
    event = {"source_metadata": source, "payload": {"table": "a"}, "source_timestamp": 1, "uuid": "u"}
    fastavro.writer(
        written, {"type": "record", "name": "e", "fields": fields}, [event], sync_marker=b"no line end here"
    )
    avro, folder = written.getvalue(), shop.events / "kinds"
    assert b"\n" not in avro
    folder.mkdir()
    pq.write_table(pa.table({"id": [1], "note": [b"ab"]}), folder / "rows.parquet")
    (folder / "a.avro").write_bytes(avro)
    (folder / "avro.jsonl").write_bytes(avro)
    (folder / "csv.jsonl").write_text("id,n\n1,2\n2,3\n", encoding="utf-8")
    kinds = {
        "avro.jsonl": ("canal-json", "an Avro file"),
        "csv.jsonl": ("canal-json", "plain rows in CSV (format rows)"),
        "a.avro": ("dts-avro", "datastream-avro"),
        "rows.parquet": ("dts-avro", "plain rows (format rows)"),
    }
    mappings = [
        {"table": f"shop.{name[:3]}", "source": {"path": f"events/kinds/{name}", "format": form}, "keys": ["id"]}
        for name, (form, _) in kinds.items()
    ]
    report = catch_up(shop.project, [table_spec(mapping, shop.project) for mapping in mappings], shop.spark)
    message = {f"shop.{name[:3]}": likeness for name, (_, likeness) in kinds.items()}
    assert [table.exit_code for table in report.tables] == [3] * len(kinds)
    assert [table.table for table in report.tables if f"ook like {message[table.table]}" not in table.error] == []


def test_an_error_names_a_missing_sequence_column(shop: Shop) -> None:
    message = refused(shop, "rows", '{"id": 1, "seq": 1}\n', format="rows", sequence_by="sek")
    assert 'none of its 1 records can be decoded (1 x sequence column "sek" is null or missing (file:' in message
    assert "look like" not in message


def test_an_error_names_the_probable_format_if_no_key_column_or_no_table_is_found(shop: Shop) -> None:
    shop.write("a.jsonl", [CANAL] * 3)
    as_rows = {"table": THINGS, "source": {"format": "rows", "path": "events", "sequence_by": "ts"}, "keys": ["sku"]}
    message = failure(shop.run(table_spec(as_rows, shop.project)), 2)
    assert "no column is known for its keys (sku). Its records look like canal-json. Hint: check source" in message
    framed = {"table": "shop.others", "source": {"format": "dts-avro", "path": "events"}, "keys": ["id"]}
    message = failure(shop.run(table_spec(framed, shop.project)), 3)
    assert "1 files hold no table at all: 3 x a JSON object without a value in base64 (file:" in message
    assert "/a.jsonl:1); they look like canal-json. Hint: " in message


def test_events_of_another_format_give_one_error_that_names_the_format(shop: Shop) -> None:
    shop.write("a.jsonl", [CANAL] * 30)
    message = failure(shop.run(), 3)
    assert "30 of 30 records are no debezium-json events" in message
    assert f" (file:{shop.events}/a.jsonl:1)); they look like canal-json. Nothing was taken." in message
    assert has_no_data(shop)
    assert shop.rows("rejects") == []


@pytest.mark.parametrize("ending", ["csv", "parquet", "avro", "jsonl.gz", "jsonl.bz2", "jsonl.zst"])
def test_a_run_skips_an_empty_file_of_rows(spark: SparkSession, tmp_path: Path, ending: str) -> None:
    """A program may still write it. If a run took it empty, no later run could take its rows."""
    for name, content in (("a", b"id,n\n1,1\n"), ("b", b"")):
        (tmp_path / f"{name}.{ending}").write_bytes(content)
    source = SourceSpec("rows", str(tmp_path), rows=RowsSpec("a.b", (("n", "any"),)))
    assert [Path(file.path).name for file in source_files(spark, source, "lake", None)] == [f"a.{ending}"]


def test_a_run_with_a_fixed_spec_succeeds_after_a_refused_first_run(shop: Shop) -> None:
    shop.write("a.jsonl", [insert(1, row(1, "Alice", 3)), insert(2, row(2, "Bob", 4))])
    wrong = replace(shop.spec(columns={"id": "int", "name": "int", "n": "string"}), keys=("n",))
    assert "cannot be decoded" in failure(shop.run(wrong), 3)
    assert has_no_data(shop)
    shop.taken()
    assert shop.latest() == [(1, "Alice", 3), (2, "Bob", 4)]

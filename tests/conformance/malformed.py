"""Invalid records, made from valid ones in every format, and the words that the reason of each reject must contain."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.conformance.encoder import LineEncoder
from tests.conformance.wire import SECOND
from tests.conformance.workload import NOON, Event, Row, Step, Table, Workload

THINGS = Table("things", ("id",), {"id": "bigint", "name": "text", "size": "int", "price": "decimal(12,2)"})
GOOD = 4
Change = Callable[[Row], None]


@dataclass(frozen=True)
class Broken:
    """A line, and words of the reason for its reject. A lone surrogate represents a byte that is not text."""

    what: str
    line: str
    words: tuple[str, ...]


def things_workload() -> Workload:
    """A few rows, each inserted by its own transaction."""
    rows: list[Row] = [{"id": n, "name": f"n{n}", "size": n, "price": Decimal(n)} for n in range(1, GOOD + 22)]
    steps = [
        Step("stream", n, NOON + n * SECOND, (Event("insert", THINGS, None, row),)) for n, row in enumerate(rows, 1)
    ]
    return Workload((THINGS,), steps)


def broken_lines(encoder: LineEncoder) -> tuple[list[str], list[Broken]]:
    """Valid lines, and invalid lines that are made from other valid lines."""
    family = FAMILIES[encoder.format]
    inserts = [line for line in encoder.lines(things_workload()) if family.is_change(line)]
    opened, closed = (json.loads, json.dumps) if family.wire is None else family.wire(encoder)
    lines = list({str(opened(line).get("data", line)): line for line in inserts[::-1]}.values())[
        ::-1
    ]  # one line for each row
    assert len(lines) == GOOD + 21
    spare = iter(lines[GOOD:])
    found = list(family.garbage(encoder, spare))
    for what, change, words in family.changes(encoder):
        record = opened(next(spare))
        change(record)
        found.append(Broken(what, closed(record), words))
    return lines[:GOOD], found


def no_json(encoder: LineEncoder, spare: Iterator[str]) -> Iterator[Broken]:
    """Lines that are not a JSON object."""
    yield Broken("half a line", (line := next(spare))[: len(line) // 2], ("not JSON",))
    yield Broken("no JSON", "this is no event", ("not JSON",))
    if encoder.format == "spanner-json":
        yield Broken("a number", "12", ("neither",))
    else:
        yield Broken("an array", "[1, 2]", ("JSON object",))
    yield Broken("two values", next(spare) + " {}", ("not JSON",))
    yield Broken("a brace too many", next(spare) + "}", ("not JSON",))
    yield Broken("another character set", next(spare).replace('"n', '"\udce9n', 1), ("not UTF-8 text",))
    yield Broken("Python's own way", repr(json.loads(next(spare))), ("not JSON",))


@dataclass(frozen=True)
class Family:
    """How to make the records of a format invalid: (what, change, words of the reason).

    `wire`: functions that open and close a line that is not JSON. `garbage`: lines that are not a record.
    """

    is_change: Callable[[str], bool]
    changes: Callable[[LineEncoder], Iterator[tuple[str, Change, tuple[str, ...]]]]
    wire: Callable[[Any], tuple[Callable[[str], Row], Callable[[Row], str]]] | None = None
    garbage: Callable[[LineEncoder, Iterator[str]], Iterator[Broken]] = no_json


def value_of(record: Row) -> Row:
    """Debezium's value, without its schema."""
    value: Row = record["value"]
    inner: Row = value.get("payload", value)
    return inner


def debezium(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def source(record: Row) -> Row:
        found: Row = value_of(record)["source"]
        return found

    def without_key(record: Row) -> None:
        value_of(record)["after"]["id"] = None
        record["key"] = None

    places = {"lsn": None, "sequence": None, "file": "", "pos": 0}
    yield "unknown op", lambda r: value_of(r).update(op="x"), ('unknown op "x"',)
    yield "null key", without_key, ('key column "id" is null',)
    yield "no position", lambda r: source(r).update({k: v for k, v in places.items() if k in source(r)}), ("position",)
    yield "wrong type", lambda r: value_of(r)["after"].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: value_of(r)["after"].update(size=2**31), ('"size"', "int")
    yield "no decimal", lambda r: value_of(r)["after"].update(price="12.50!"), ('"price"', "decimal")
    yield "no source", lambda r: value_of(r).update(source=None), ("source is missing",)
    yield "an image that is none", lambda r: value_of(r).update(after="x"), ("after is not an object",)
    yield "an envelope of another type", lambda r: source(r).update(ts_ms="yesterday"), ("envelope",)


def flat(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def without_key(record: Row) -> None:
        record["value"]["id"] = None
        record["key"] = None

    yield "unknown op", lambda r: r["value"].update(__op="x"), ('unknown op "x"',)
    yield "null key", without_key, ('key column "id" is null',)
    yield "no position", lambda r: r["value"].update(__source_pos=None), ("position",)
    yield "wrong type", lambda r: r["value"].update(size="many"), ('"size"', "int")
    yield "no decimal", lambda r: r["value"].update(price="12.50!"), ('"price"', "decimal")
    yield "no row", lambda r: r.update(value=[1]), ("the row is not a JSON object",)
    yield "a field of another type", lambda r: r["value"].update(__source_pos="far"), ("envelope",)


def canal(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r.update(type="UPSERT"), ('unknown type "UPSERT"',)
    yield "null key", lambda r: r["data"][0].update(id=None), ('key column "id" is null',)
    yield "no key", lambda r: r["data"][0].pop("id"), ('key column "id" is missing',)
    yield "no time", lambda r: r.update(es=None), ("es",)
    yield "wrong type", lambda r: r["data"][0].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: r["data"][0].update(size=str(2**31)), ('"size"', "int")
    yield "no decimal", lambda r: r["data"][0].update(price="12.5.0"), ('"price"', "decimal")
    yield "no rows", lambda r: r.update(data=[]), ("without rows",)
    yield "a row that is none", lambda r: r.update(data=["x"]), ("not an object",)
    yield "a message of another type", lambda r: r.update(es="yesterday"), ("type that Canal does not write",)


def ticdc(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield from canal(encoder)
    yield "no extension", lambda r: r.pop("_tidb"), ("_tidb is missing", "canal-json")
    yield "no TSO", lambda r: r.update(_tidb={"watermarkTs": 1}), ("commitTs is missing",)
    yield "a number that is no TSO", lambda r: r.update(_tidb={"commitTs": 1}), ("commitTs is not a TSO",)
    yield "the key alone", lambda r: r["_tidb"].update(onlyHandleKey=True), ("onlyHandleKey",)


def maxwell(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r.update(type="upsert"), ('unknown type "upsert"',)
    yield "null key", lambda r: r["data"].update(id=None), ('key column "id" is null',)
    yield "no key", lambda r: r["data"].pop("id"), ('key column "id" is missing',)
    yield "no time", lambda r: r.pop("ts"), ("ts is missing",)
    yield "no position", lambda r: r.update(position="mysql-bin.000001"), ("position", "binlog")
    yield "wrong type", lambda r: r["data"].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: r["data"].update(size=2**31), ('"size"', "int")
    yield "no decimal", lambda r: r["data"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no row", lambda r: r.pop("data"), ("data is missing",)
    yield "a row that is none", lambda r: r.update(data=["x"]), ("not an object",)
    yield "no table", lambda r: r.update(table=""), ("table is missing",)
    yield "a message of another type", lambda r: r.update(ts="yesterday"), ("type that Maxwell does not write",)


def goldengate(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r.update(op_type="X"), ('unknown op_type "X"',)
    yield "null key", lambda r: r["after"].update(id=None), ('key column "id" is null',)
    yield "no key", lambda r: r["after"].pop("id"), ('key column "id" is missing',)
    yield "no time", lambda r: r.pop("op_ts"), ("op_ts is missing",)
    yield "no timestamp", lambda r: r.update(op_ts="2024-13-01 00:00:00"), ("op_ts",)
    yield "no position", lambda r: r.update(pos="AA"), ("pos", "trail")
    yield "wrong type", lambda r: r["after"].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: r["after"].update(size=2**31), ('"size"', "int")
    yield "no decimal", lambda r: r["after"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no row", lambda r: r.update(after=None), ("without its row",)
    yield "a row that is none", lambda r: r.update(after=["x"]), ("not an object",)
    yield "no table", lambda r: r.pop("table"), ("table is missing",)


def spanner(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def data(record: Row) -> Row:
        if "change_record" in record:
            found: Row = record["change_record"][0]["data_change_record"][0]
            return found
        other: Row = record["data_change_record"]
        return other

    yield "unknown op", lambda r: data(r).update(mod_type="UPSERT"), ('unknown mod_type "UPSERT"',)
    yield "no key", lambda r: data(r)["mods"][0]["keys"].pop("id"), ('key column "id" is missing',)
    yield "no time", lambda r: data(r).pop("commit_timestamp"), ("commit_timestamp is missing",)
    yield "no timestamp", lambda r: data(r).update(commit_timestamp="2024-13-01T00:00:00Z"), ("commit_timestamp",)
    yield "no sequence", lambda r: data(r).update(record_sequence="first"), ("record_sequence",)
    yield "wrong type", lambda r: data(r)["mods"][0]["new_values"].update(size="many"), ('"size"', "int")
    yield "no decimal", lambda r: data(r)["mods"][0]["new_values"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no mods", lambda r: data(r).update(mods=[]), ("without mods",)
    yield "no table", lambda r: data(r).pop("table_name"), ("table_name is missing",)


def shareplex(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r["meta"].update(op="ups"), ('unknown op "ups"',)
    yield "null key", lambda r: r["data"].update(id=None), ('key column "id" is null',)
    yield "no time", lambda r: r["meta"].pop("time"), ("meta.time is missing",)
    yield "wrong type", lambda r: r["data"].update(size="many"), ('"size"', "int")
    yield "no decimal", lambda r: r["data"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no data", lambda r: r.pop("data"), ("without data",)
    yield "no meta", lambda r: r.pop("meta"), ("meta is missing",)


def dms(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r["metadata"].update(operation="upsert"), ('unknown operation "upsert"',)
    yield "null key", lambda r: r["data"].update(id=None), ('key column "id" is null',)
    yield "no key", lambda r: r["data"].pop("id"), ('key column "id" is missing',)
    yield "no time", lambda r: r["metadata"].pop("timestamp"), ("metadata.timestamp is missing",)
    yield "no commit time", lambda r: r["metadata"].update({"commit-timestamp": "soon"}), ("commit-timestamp",)
    yield "wrong type", lambda r: r["data"].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: r["data"].update(size=2**31), ('"size"', "int")
    yield "no decimal", lambda r: r["data"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no data", lambda r: r.pop("data"), ("without data",)
    yield "no metadata", lambda r: r.pop("metadata"), ("metadata is missing",)


def datastream(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def meta(record: Row) -> Row:
        found: Row = record["source_metadata"]
        return found

    yield "unknown op", lambda r: meta(r).update(change_type="UPSERT"), ('unknown change_type "UPSERT"',)
    yield "null key", lambda r: r["payload"].update(id=None), ('key column "id" is null',)
    yield "no key", lambda r: r["payload"].pop("id"), ('key column "id" is',)
    yield "no position", lambda r: meta(r).update(lsn="16/ZZ", change_type="UPDATE"), ("position",)
    yield "no time", lambda r: r.update(source_timestamp=None, read_timestamp="soon"), ("source_timestamp",)
    yield "wrong type", lambda r: r["payload"].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: r["payload"].update(size=2**31), ('"size"', "int")
    yield "no decimal", lambda r: r["payload"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no payload", lambda r: r.pop("payload"), ("payload is missing",)
    yield "no metadata", lambda r: r.pop("source_metadata"), ("source_metadata is missing",)


def debezium_bodies(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    """Changes that the schema allows: an unknown operation, no position, no row, no table."""
    places = {"lsn": None, "sequence": None, "file": "", "pos": 0}
    yield "unknown op", lambda r: r["value"].update(op="x"), ('unknown op "x"',)
    yield (
        "no position",
        lambda r: r["value"]["source"].update({k: v for k, v in places.items() if k in r["value"]["source"]}),
        ("position",),
    )
    yield "no row", lambda r: r["value"].update(after=None), ("after",)
    yield "no table", lambda r: r["value"]["source"].update(table=""), ("table",)


def frames(encoder: LineEncoder, spare: Iterator[str]) -> Iterator[Broken]:
    """Bytes that are not a frame, or not the body that their schema describes."""

    def changed(change: Callable[[bytes], bytes]) -> str:
        record = json.loads(next(spare))
        return json.dumps(record | {"value": base64.b64encode(change(base64.b64decode(record["value"]))).decode()})

    yield Broken("half a line", (line := next(spare))[: len(line) // 2], ("not JSON",))
    yield Broken("no message", "this is no message", ("not base64",))
    yield Broken("no base64", json.dumps(json.loads(next(spare)) | {"value": "no bytes!"}), ("not base64",))
    yield Broken("JSON", json.dumps({"op": "c", "after": {"id": 1}}), ("base64",))
    yield Broken("another byte in front", changed(lambda data: b"\x01" + data[1:]), ("not a Confluent frame", "0x01"))
    yield Broken("a frame cut short", changed(lambda data: data[:4]), ("truncated",))
    yield Broken("a body cut short", changed(lambda data: data[:-1]), ("does not fit the body",))
    yield Broken("a body too long", changed(lambda data: data + b"\x00"), ("does not fit the body",))
    yield Broken("an unknown schema", changed(lambda data: b"\x00\x00\x00\xff\xff" + data[5:]), ("65535", "not known"))
    yield Broken("the schema of a key", changed(lambda data: data[:4] + b"\x01" + data[5:]), ("does not fit the body",))


def framed(encoder: Any) -> tuple[Callable[[str], Row], Callable[[Row], str]]:
    """The functions that open the frame of a line and close it."""

    def opened(line: str) -> Row:
        record: Row = json.loads(line)
        schema, value = encoder.opened(record["value"])
        return record | {"value": value, "schema": schema}

    def closed(record: Row) -> str:
        return json.dumps(record | {"value": encoder.framed(record["schema"], record["value"]), "schema": None})

    return opened, closed


def dts(encoder: LineEncoder) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def column(number: int, value: Any) -> Change:
        return lambda record: record["afterImages"].__setitem__(number, value)

    yield "null key", column(0, None), ('key column "id" is null',)
    yield "no key", column(0, "NONE"), ('key column "id" is',)
    yield "no position", lambda r: r.update(sourcePosition="0@0"), ("position",)
    yield "a position that is none", lambda r: r.update(sourcePosition="a@b"), ("position", "a@b")
    yield "no time", lambda r: r.update(sourceTimestamp=10**15), ("sourceTimestamp",)
    yield "wrong type", column(2, ("Character", {"charset": "utf8", "value": b"many"})), ('"size"', "int")
    yield "too great", column(2, ("Integer", {"precision": 8, "value": str(2**31)})), ('"size"', "int")
    yield "no decimal", column(3, ("Decimal", {"value": "12.5.0", "precision": 5, "scale": 1})), ('"price"', "decimal")
    yield "unknown charset", column(1, ("Character", {"charset": "klingon", "value": b"x"})), ("be read", '"name"')
    yield "bytes of another charset", column(1, ("Character", {"charset": "utf8", "value": b"\xff"})), ('"name"',)
    yield "too few values", lambda r: r["afterImages"].pop(), ("the numbers of values and fields differ",)
    yield "no row", lambda r: r.update(afterImages=None), ("without afterImages",)
    yield "no fields", lambda r: r.update(fields=None), ("without fields",)
    yield "no table", lambda r: r.update(objectName=None), ("objectName",)


def bytes_of(line: str) -> bytes:
    """The bytes of a base64 line, or of the value of a message."""
    return base64.b64decode(json.loads(line)["value"] if line.startswith("{") else line)


def no_record(encoder: LineEncoder, spare: Iterator[str]) -> Iterator[Broken]:
    """Lines and bytes that are not a record of DTS."""
    yield Broken("no base64", "this is no message", ("not base64",))
    yield Broken("no value", '{"topic": "t"}', ("base64",))
    yield Broken("a file", base64.b64encode(b"Obj\x01" + bytes(60)).decode(), ("whole Avro file",))
    data = bytes_of(next(spare))
    yield Broken("bytes cut short", base64.b64encode(data[:-20]).decode(), ("not a record",))
    yield Broken("bytes too many", base64.b64encode(data + b"more than one").decode(), ("not a record",))


FAMILIES = {
    "debezium-json": Family(lambda line: '"op":"c"' in line, debezium),
    "debezium-flat-json": Family(lambda line: '"__op":"c"' in line, flat),
    "canal-json": Family(lambda line: '"type":"INSERT"' in line, canal),
    "ticdc-json": Family(lambda line: '"type":"INSERT"' in line, ticdc),
    "maxwell-json": Family(lambda line: '"type": "insert"' in line, maxwell),
    "spanner-json": Family(lambda line: '"mod_type"' in line, spanner),
    "shareplex-json": Family(lambda line: True, shareplex),
    "dms-json": Family(lambda line: '"data"' in line, dms),
    "goldengate-json": Family(lambda line: True, goldengate),
    "datastream-json": Family(lambda line: True, datastream),
    "debezium-avro": Family(lambda line: "srv.transaction" not in line, debezium_bodies, framed, frames),
    "dts-avro": Family(
        lambda line: b"pk_uk_info" in bytes_of(line), dts, lambda encoder: (encoder.opened, encoder.closed), no_record
    ),
}

"""Records with something wrong in them, made from good ones in every format, and what must be said of each."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from tests.conformance.story import NOON, Event, Row, Step, Story, Table
from tests.conformance.teller import LineTeller
from tests.conformance.wire import SECOND

THINGS = Table("things", ("id",), {"id": "bigint", "name": "text", "size": "int", "price": "decimal(12,2)"})
GOOD = 4
Change = Callable[[Row], None]


@dataclass(frozen=True)
class Broken:
    """A line, and words of the reason that must be given for it."""

    what: str
    line: str
    words: tuple[str, ...]


def a_story() -> Story:
    """Some rows, each inserted by a transaction of its own."""
    rows: list[Row] = [{"id": n, "name": f"n{n}", "size": n, "price": Decimal(n)} for n in range(1, GOOD + 20)]
    steps = [
        Step("stream", n, NOON + n * SECOND, (Event("insert", THINGS, None, row),)) for n, row in enumerate(rows, 1)
    ]
    return Story((THINGS,), steps)


def broken_lines(teller: LineTeller) -> tuple[list[str], list[Broken]]:
    """Good lines, and broken ones made of other good lines."""
    family = FAMILIES[teller.format]
    told = [line for line in teller.lines(a_story()) if family.is_change(line)]
    lines = list({str(json.loads(line).get("data", line)): line for line in told[::-1]}.values())[::-1]  # each row once
    assert len(lines) == GOOD + 19
    spare = iter(lines[GOOD:])
    found = [
        Broken("half a line", (line := next(spare))[: len(line) // 2], ("not JSON",)),
        Broken("no JSON", "this is no event", ("not JSON",)),
        Broken("an array", "[1, 2]", ("JSON object",))
        if teller.format != "spanner-json"
        else Broken("a number", "12", ("neither",)),
        Broken("two values", next(spare) + " {}", ("not JSON",)),
    ]
    for what, change, words in family.changes(teller):
        record = json.loads(next(spare))
        change(record)
        found.append(Broken(what, json.dumps(record), words))
    return lines[:GOOD], found


@dataclass(frozen=True)
class Family:
    """How a format's records are broken: (what, change, words of the reason)."""

    is_change: Callable[[str], bool]
    changes: Callable[[LineTeller], Iterator[tuple[str, Change, tuple[str, ...]]]]


def value_of(record: Row) -> Row:
    """Debezium's value, without a schema."""
    value: Row = record["value"]
    inner: Row = value.get("payload", value)
    return inner


def debezium(teller: LineTeller) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def source(record: Row) -> Row:
        found: Row = value_of(record)["source"]
        return found

    def nobody(record: Row) -> None:
        value_of(record)["after"]["id"] = None
        record["key"] = None

    places = {"lsn": None, "sequence": None, "file": "", "pos": 0}
    yield "unknown op", lambda r: value_of(r).update(op="x"), ('unknown op "x"',)
    yield "null key", nobody, ('key column "id" is null',)
    yield "no position", lambda r: source(r).update({k: v for k, v in places.items() if k in source(r)}), ("position",)
    yield "wrong type", lambda r: value_of(r)["after"].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: value_of(r)["after"].update(size=2**31), ('"size"', "int")
    yield "no decimal", lambda r: value_of(r)["after"].update(price="12.50!"), ('"price"', "decimal")
    yield "no source", lambda r: value_of(r).update(source=None), ("source is missing",)
    yield "an image that is none", lambda r: value_of(r).update(after="x"), ("after is not an object",)
    yield "an envelope of another type", lambda r: source(r).update(ts_ms="yesterday"), ("envelope",)


def canal(teller: LineTeller) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r.update(type="UPSERT"), ('unknown type "UPSERT"',)
    yield "null key", lambda r: r["data"][0].update(id=None), ('key column "id" is null',)
    yield "no key", lambda r: r["data"][0].pop("id"), ('key column "id" is missing',)
    yield "no time", lambda r: r.update(es=None), ("es",)
    yield "wrong type", lambda r: r["data"][0].update(size="many"), ('"size"', "int")
    yield "too great", lambda r: r["data"][0].update(size=str(2**31)), ('"size"', "int")
    yield "no decimal", lambda r: r["data"][0].update(price="12.5.0"), ('"price"', "decimal")
    yield "no rows", lambda r: r.update(data=[]), ("without rows",)
    yield "a row that is none", lambda r: r.update(data=["x"]), ("not an object",)
    yield "a message of another type", lambda r: r.update(es="yesterday"), ("type that Canal does not give",)


def spanner(teller: LineTeller) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    def data(record: Row) -> Row:
        if "change_record" in record:
            found: Row = record["change_record"][0]["data_change_record"][0]
            return found
        other: Row = record["data_change_record"]
        return other

    yield "unknown op", lambda r: data(r).update(mod_type="UPSERT"), ('unknown mod_type "UPSERT"',)
    yield "null key", lambda r: data(r)["mods"][0]["keys"].update(id=None), ('key column "id" is null',)
    yield "no time", lambda r: data(r).pop("commit_timestamp"), ("commit_timestamp is missing",)
    yield "no timestamp", lambda r: data(r).update(commit_timestamp="2024-13-01T00:00:00Z"), ("commit_timestamp",)
    yield "no sequence", lambda r: data(r).update(record_sequence="first"), ("record_sequence",)
    yield "wrong type", lambda r: data(r)["mods"][0]["new_values"].update(size="many"), ('"size"', "int")
    yield "no decimal", lambda r: data(r)["mods"][0]["new_values"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no mods", lambda r: data(r).update(mods=[]), ("without mods",)
    yield "no table", lambda r: data(r).pop("table_name"), ("table_name is missing",)


def shareplex(teller: LineTeller) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
    yield "unknown op", lambda r: r["meta"].update(op="ups"), ('unknown op "ups"',)
    yield "null key", lambda r: r["data"].update(id=None), ('key column "id" is null',)
    yield "no time", lambda r: r["meta"].pop("time"), ("meta.time is missing",)
    yield "wrong type", lambda r: r["data"].update(size="many"), ('"size"', "int")
    yield "no decimal", lambda r: r["data"].update(price="12.5.0"), ('"price"', "decimal")
    yield "no data", lambda r: r.pop("data"), ("without data",)
    yield "no meta", lambda r: r.pop("meta"), ("meta is missing",)


def datastream(teller: LineTeller) -> Iterator[tuple[str, Change, tuple[str, ...]]]:
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


FAMILIES = {
    "debezium-json": Family(lambda line: '"op":"c"' in line, debezium),
    "canal-json": Family(lambda line: '"type":"INSERT"' in line, canal),
    "spanner-json": Family(lambda line: '"mod_type"' in line, spanner),
    "shareplex-json": Family(lambda line: True, shareplex),
    "datastream-json": Family(lambda line: True, datastream),
}

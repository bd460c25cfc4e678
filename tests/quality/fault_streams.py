"""Recorded streams as lists of events, for the injection of faults: plain Python, one reader per format."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.recorded_tables import MARIADB, POSTGRESQL
from tests.recordings import DATA, lines, payload, position, table_of

Key = tuple[str, ...]


@dataclass(frozen=True)
class Event:
    """One line with the facts that faults need. `lane`: delivered in order; `chunk`: the READs of one window."""

    line: str
    kind: str = "other"  # change, read, begin, end, heartbeat, window, other
    table: str | None = None
    key: Key | None = None
    op: str | None = None
    tx: str | None = None
    place: str | None = None
    at: float = 0.0  # commit time in seconds
    lane: str = ""
    chunk: str | None = None
    log: int | None = None
    partition: int | None = None
    others: tuple[Key, ...] = ()  # the other keys of the same line
    alone: bool = True  # can be removed alone: not part of a pair or of a redelivery


@dataclass(frozen=True)
class Stream:
    """A stream, its declared tables, and the spec of each."""

    name: str
    events: Sequence[Event]
    tables: Sequence[str]
    spec: Callable[..., dict[str, Any]]
    grace: timedelta = timedelta(seconds=3)
    has_befores: bool = True
    names_transactions: bool = False  # other transactions identify a missing one


def texts(values: Iterable[Any]) -> Key:
    return tuple(str(value) for value in values)


def declared(table: str, path: str, form: str, namespace: str, **more: Any) -> dict[str, Any]:
    name = table.replace(".", "_")
    target = {"latest": f"{namespace}.{name}", "history": f"{namespace}.{name}_history"}
    quality = {"quality": {"grace": "3s"}, "snapshot": {"margin": "1s"}}
    return {"table": table, "source": {"format": form, "path": path}, "target": target} | quality | more


def debezium(name: str, recording: str, names: Sequence[str]) -> Stream:
    tables = {n: t for n, t in (POSTGRESQL | MARIADB).items() if n in names}

    def spec(table: str, path: str, namespace: str) -> dict[str, Any]:
        of = tables[table]
        columns = {
            c: {"type": v.type, "default": of.defaults[c]} if c in of.defaults else v.type
            for c, v in of.columns.items()
        }
        return declared(table, path, "debezium-json", namespace, keys=list(of.keys), columns=columns)

    events = [debezium_event(line) for line in lines(DATA / recording)]
    return Stream(name, events, list(names), spec, names_transactions=True)


def debezium_event(line: str) -> Event:
    event = json.loads(line)
    value, topic = payload(event["value"]) or {}, event.get("topic") or event.get("destination") or ""
    source, status = value.get("source"), value.get("status")
    if status in ("BEGIN", "END"):
        return Event(line, status.lower(), tx=transaction(value["id"]), at=value["ts_ms"] / 1000, partition=mod(event))
    if "-heartbeat" in topic:
        return Event(line, "heartbeat", at=value["ts_ms"] / 1000, lane=topic)
    if not source or value.get("op") not in ("c", "u", "d", "r", "t"):
        return Event(line, partition=mod(event))
    image = value.get("after") or value.get("before") or {}
    table, op = table_of(source), value["op"]
    kind = "window" if "snapshot-window" in str(image.get("type")) else "read" if op == "r" else "change"
    key = payload(event["key"])
    moved = any(word in line for word in ("__debezium.newkey", "__debezium.oldkey"))
    return Event(
        line,
        kind,
        table,
        texts(key.values()) if key else None,
        op,
        transaction((value.get("transaction") or {}).get("id")),
        position(source),
        source["ts_ms"] / 1000,
        topic,
        f"{table} {position(source)}" if op == "r" and source["snapshot"] == "incremental" else None,
        int(source["file"].rpartition(".")[2]) if source.get("file") else None,
        mod(event),
        alone=op in "cud" and not moved,
    )


def transaction(name: str | None) -> str | None:
    """The engine's transaction id: PostgreSQL's `txId:lsn` without the part that differs within one transaction."""
    head, colon, tail = (name or "").partition(":")
    return head if colon and head.isdigit() and tail.isdigit() else name


def mod(event: dict[str, Any]) -> int | None:
    """The partition that the recorder computed from the key."""
    return (event.get("rec") or {}).get("murmur2_mod3")


def canal() -> Stream:
    """Messages with one row can be removed if Canal sent them once."""
    read = [(line, json.loads(line)) for line in lines(DATA / "mariadb/canal.flat.jsonl.gz")]
    contents = [json.dumps({k: v for k, v in message.items() if k not in ("id", "ts")}) for _, message in read]
    times: dict[str, int] = {}
    for content in contents:
        times[content] = times.get(content, 0) + 1
    repeated = {message["id"] for (_, message), content in zip(read, contents, strict=True) if times[content] > 1}
    names = ["shop.customers", "shop.orders"]

    def event(line: str, message: dict[str, Any]) -> Event:
        table = f"{message['database']}.{message['table']}"
        op = {"INSERT": "c", "UPDATE": "u", "DELETE": "d", "TRUNCATE": "t"}.get(message["type"])
        if op is None or table not in names:
            return Event(line)
        keys = MARIADB[table].keys
        rows, olds = message["data"] or [], [row or {} for row in message["old"] or [{}]]
        old, before = olds[0], [row | then for row, then in zip(rows, olds, strict=False)]  # a key change has two keys
        row_keys = [texts(row[k] for k in keys) for row in [*rows, *before]]
        key = row_keys[0] if len(rows) == 1 else None
        alone = key is not None and op != "t" and not set(keys) & set(old) and message["id"] not in repeated
        alone = alone and (op != "u" or bool(old))
        at, others = message["es"] / 1000, tuple(one for one in dict.fromkeys(row_keys) if one != key)
        return Event(line, "change", table, key, op, at=at, lane="file", others=others, alone=alone)

    def spec(table: str, path: str, namespace: str) -> dict[str, Any]:
        of = MARIADB[table]
        columns = {c: {"type": of.columns[c].type, "default": v} for c, v in of.defaults.items()}
        return declared(table, path, "canal-json", namespace, **({"columns": columns} if columns else {}))

    return Stream("canal", [event(*one) for one in read], names, spec)


def spanner(copies: int = 40) -> Stream:
    """Copies of the recorded history of one table, with other keys, later times and alternating partitions."""
    recorded = [json.loads(line) for line in lines(DATA / "spanner/derived_beam_ordered_within_key.jsonl")]
    found: list[Event] = []
    for copy in range(copies):
        token = f"partition-{copy % 3:08}"
        for number, record in enumerate(recorded):
            found.append(spanner_event(record, copy, token))
            if number % 5 == 0:
                found += [beat(copy, f"partition-{n:08}", found[-1].at) for n in range(3)]

    def spec(table: str, path: str, namespace: str) -> dict[str, Any]:
        return declared(table, path, "spanner-json", namespace)

    return Stream("spanner", found, ["Singers"], spec, has_befores=False)


def spanner_event(record: dict[str, Any], copy: int, token: str) -> Event:
    moment = datetime.fromisoformat(record["commit_timestamp"]) + timedelta(seconds=10 * copy)
    mods = [mod | {"keys": {"SingerId": str(int(mod["keys"]["SingerId"]) + 100 * copy)}} for mod in record["mods"]]
    tx = f"{record['server_transaction_id']}-{copy:03}"
    stamp = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    whole = record | {"commit_timestamp": stamp, "mods": mods, "server_transaction_id": tx, "partition_token": token}
    op = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[record["mod_type"]]
    key, *others = (texts(mod["keys"].values()) for mod in mods)
    last = record["is_last_record_in_transaction_in_partition"]
    return Event(
        json.dumps(whole) + "\n", "change", "Singers", key, op, tx, stamp, moment.timestamp(), token,
        partition=int(token[-1]), chunk="last" if last else None, others=tuple(others), alone=not others,
    )  # fmt: skip


def beat(copy: int, token: str, at: float) -> Event:
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    value = {"heartbeat_record": {"timestamp": stamp}, "partition_token": token}
    return Event(json.dumps(value) + "\n", "heartbeat", at=at, lane=token, partition=int(token[-1]))


def shareplex(transactions: int = 150) -> Stream:
    """Operations in the documented shape: each transaction inserts two rows, updates one, and deletes an older one."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    found: list[Event] = []
    rows: dict[int, dict[str, Any]] = {}

    def operation(number: int, seq: int, size: int, op: str, **more: Any) -> None:
        moment = start + timedelta(seconds=number)
        tx, scn = f"1.0.{number}", 1000 + number
        meta = {"time": moment.isoformat()[:19], "op": op, "scn": str(scn), "trans": tx, "seq": seq, "size": size}
        key = texts([(more.get("key") or more["data"])["ID"]])
        line = json.dumps({"meta": meta | {"table": "SHOP.LOG", "idx": f"{seq}/{size}"}} | more) + "\n"
        letter = {"ins": "c", "upd": "u", "del": "d"}[op]
        place = f"{scn:016X} {seq:04}"
        found.append(
            Event(
                line,
                "change",
                "SHOP.LOG",
                key,
                letter,
                tx,
                place,
                moment.timestamp(),
                "file",
                chunk="last" if seq == size else None,
            )
        )

    for number in range(transactions):
        first = {"ID": str(2 * number), "STATE": "new", "AMOUNT": str(number)}
        second = first | {"ID": str(2 * number + 1)}
        size = 4 if number >= 10 else 3
        operation(number, 1, size, "ins", data=first)
        operation(number, 2, size, "ins", data=second)
        operation(number, 3, size, "upd", data={"STATE": "done"}, key=first)
        rows[number] = first | {"STATE": "done"}
        if size == 4:
            operation(number, 4, size, "del", data=rows.pop(number - 10))

    def spec(table: str, path: str, namespace: str) -> dict[str, Any]:
        columns = {"ID": "bigint", "STATE": "string", "AMOUNT": "int"}
        return declared(table, path, "shareplex-json", namespace, keys=["ID"], columns=columns)

    return Stream("shareplex", found, ["SHOP.LOG"], spec)


STREAMS: dict[str, Callable[[], Stream]] = {
    "postgresql": lambda: debezium(
        "postgresql", "postgresql/events.noschema.jsonl.gz", ["inventory.customers", "inventory.orders"]
    ),
    "mariadb": lambda: debezium("mariadb", "mariadb/debezium.noschema.jsonl.gz", ["shop.customers", "shop.orders"]),
    "canal": canal,
    "spanner": spanner,
    "shareplex": shareplex,
}

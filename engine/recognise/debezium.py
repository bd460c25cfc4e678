"""Debezium's events: what a record says of tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.decode.debezium_kinds import BOUNDARY, MARKS, NOTIFICATION, OPS, SIGNALS
from engine.decode.debezium_places import BINLOG_CONNECTORS, COMMIT_SCNS_SINCE, CONNECTORS, ORACLE, SQLSERVER
from engine.recognise.fact import Fact

ORDER: Final = "the source's log: position, LSN or SCN"
_SIGNAL: Final = {"id", "type", "data"}
_ROUTED: Final = "__dbz__physicalTableIdentifier"  # what ByLogicalTableRouter adds to keys: it is in no row


def facts(record: Any) -> Sequence[Fact] | None:
    """A change of a row; nothing for control events and null messages; None for what is no event."""
    if not isinstance(record, Mapping):
        return None
    value, schema = _value(record)
    if value is None:
        return [] if "key" in record or "schema" in record else None
    code, source = value.get("op"), value.get("source")
    if not isinstance(code, str) or not isinstance(source, Mapping):
        return [] if _is_control(value) else None
    if code not in OPS or source.get("connector") not in CONNECTORS:
        return [] if code == "m" or code in OPS else None
    row = value.get("after") or value.get("before")
    if isinstance(row, Mapping) and _is_signal(row):
        return []
    image, keyless = (row if isinstance(row, Mapping) else None), "key" in record and record["key"] is None
    # A truncate has no key in any table: it says nothing of whether its rows have one.
    database = source.get("db") if source["connector"] == SQLSERVER else None
    by_scn, inserted = code != "r" and _is_by_scn(source), code in "cr"
    keys, no_key = _keys(record, image or {}), None if code == "t" else keyless
    return [Fact(_table(source), keys, schema, image, inserted, no_key, database, by_scn)]


def _value(record: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The event, wherever the record has it, and its schema."""
    inside = record.get("value")
    around = inside if isinstance(inside, Mapping) else record
    if "value" in record and inside is None:
        return None, None
    payload, schema = around.get("payload"), around.get("schema")
    images = schema.get("fields") if isinstance(schema, Mapping) else None
    told = {"fields": [image for image in images if image.get("field") in ("before", "after")][-1:]} if images else None
    if isinstance(payload, Mapping):
        return payload, told
    return (None if "payload" in around else around), told


def _is_signal(row: Mapping[str, Any]) -> bool:
    """Whether a row is one of the signal table, whose columns may have any names in the order of the usual ones."""
    named = {name.lower(): value for name, value in row.items()}
    if set(named) == _SIGNAL:
        return named["type"] in SIGNALS
    return len(row) == len(_SIGNAL) and list(row.values())[1] in MARKS


def _is_control(value: Mapping[str, Any]) -> bool:
    """Whether it is a control event of Debezium; rows can have fields of the same names."""
    boundary = value.get("status") in ("BEGIN", "END") and "id" in value
    ddl = ("ddl" in value or "tableChanges" in value) and isinstance(value.get("source"), Mapping)
    notice = "aggregate_type" in value and ("additional_data" in value or set(value) <= set(NOTIFICATION))
    told = "event_count" in value or set(value) <= set(BOUNDARY)
    return (boundary and told) or ddl or notice or set(value) == {"ts_ms"}


def _table(source: Mapping[str, Any]) -> str | None:
    owner = source.get("db") if source["connector"] in BINLOG_CONNECTORS else source.get("schema")
    name = source.get("table")
    return None if not name else f"{owner}.{name}" if owner else str(name)


def _is_by_scn(source: Mapping[str, Any]) -> bool:
    """Whether the commit SCN is older than the change itself, and the version does not say that it may be."""
    try:
        is_older = source["connector"] == ORACLE and 0 < int(source["commit_scn"]) < int(source["scn"])
        return is_older and int(str(source.get("version")).split(".")[0]) >= COMMIT_SCNS_SINCE
    except (KeyError, TypeError, ValueError):  # one of them is not told
        return False


def _is_wrapped(key: Mapping[str, Any]) -> bool:
    """Whether a key has its schema around it, or could have it: no column of a key is an object."""
    schema = key.get("schema")
    return isinstance(schema, Mapping) or (schema is None and isinstance(key.get("payload"), Mapping))


def _keys(record: Mapping[str, Any], image: Mapping[str, Any]) -> tuple[str, ...]:
    key = record.get("key")
    if isinstance(key, Mapping) and _is_wrapped(key):
        key = key.get("payload")
    return tuple(name for name in key if name != _ROUTED or name in image) if isinstance(key, Mapping) else ()

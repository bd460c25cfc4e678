"""Datastream's events: what a record says of tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from engine.decode.datastream import MYSQL, POSTGRESQL
from engine.recognise.fact import Fact
from engine.recognise.sample import parsed

ORDER: Final = "the source's log: binlog position, SCN, or time and LSN"
_ORACLE: Final = ("scn", "rs_id", "row_id", "ssn")
_SQLSERVER: Final = ("physical_location", "replication_index")
_BINLOG: Final = ("log_position", "binlog_position")
ROW_ID: Final = "ROW_ID"


def facts(record: Any) -> Sequence[Fact] | None:
    """A change of a row; None for what is no event."""
    if not isinstance(record, Mapping) or not isinstance(record.get("source_metadata"), Mapping):
        return None
    meta, payload = record["source_metadata"], record.get("payload")
    if not meta.get("table") or not isinstance(payload, Mapping):
        return None
    kind = _kind(record, meta)
    owner = meta.get("database") if kind == MYSQL else meta.get("schema")
    table = f"{owner}.{meta['table']}" if owner else str(meta["table"])
    row = dict(payload)
    keys = _names(meta.get("primary_keys")) or _names(meta.get("replication_index"))
    spelt = {name.lower(): name for name in reversed(payload)}
    keys = tuple(name if name in payload else spelt.get(name.lower(), name) for name in dict.fromkeys(keys))
    if not keys and str(meta.get("row_id") or "").strip():
        keys, row = (ROW_ID,), {**row, ROW_ID: meta["row_id"]}
    inserted = meta.get("change_type") in (None, "INSERT", "READ")
    return [Fact(table, keys, None, row, inserted, False if keys else _is_keyless(kind, meta))]


def _kind(record: Mapping[str, Any], meta: Mapping[str, Any]) -> str | None:
    """MySQL and PostgreSQL, as the engine tells them: by the metadata they have, else by the name of the method, else
    by how tables are named."""
    lsn, method = str(meta.get("lsn") or ""), str(record.get("read_method") or "").lower()
    if ":" in lsn or any(meta.get(name) is not None for name in _SQLSERVER):
        return None
    if "/" in lsn:
        return POSTGRESQL
    if any(meta.get(name) is not None for name in _ORACLE):
        return None
    if any(meta.get(name) is not None for name in _BINLOG):
        return MYSQL
    for begins, kind in (("mysql", MYSQL), ("oracle", None), ("postgres", POSTGRESQL), ("sqlserver", None)):
        if method.startswith(begins):
            return kind
    has_database, has_schema = meta.get("database") is not None, meta.get("schema") is not None
    return None if has_database == has_schema else MYSQL if has_database else POSTGRESQL


def _is_keyless(kind: str | None, meta: Mapping[str, Any]) -> bool | None:
    """Whether PostgreSQL says that there is no key, nor a replica identity, which is taken for one: only inserts come.

    An update does not tell the row before, which a table without a key needs. MySQL sends updates all the same.
    """
    listed = meta.get("primary_keys")
    if listed is None:
        return None
    return kind == POSTGRESQL and listed in ([], "[]") and str(meta.get("change_type")).upper() != "UPDATE"


def _names(listed: Any) -> tuple[str, ...]:
    if isinstance(listed, str):
        try:
            listed = parsed(listed)
        except ValueError:
            return ()
    return tuple(name for name in listed if name) if isinstance(listed, Iterable) else ()

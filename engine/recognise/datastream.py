"""Datastream's events: what a record says of tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from engine.recognise.fact import Fact
from engine.recognise.sample import parsed

ORDER: Final = "the source's log: binlog position, SCN, or time and LSN"
_ORACLE: Final = ("scn", "rs_id", "row_id", "ssn")
_BINLOG: Final = ("log_position", "binlog_position")
ROW_ID: Final = "ROW_ID"


def facts(record: Any) -> Sequence[Fact] | None:
    """A change of a row; None for what is no event."""
    if not isinstance(record, Mapping) or not isinstance(record.get("source_metadata"), Mapping):
        return None
    meta, payload = record["source_metadata"], record.get("payload")
    if not meta.get("table") or not isinstance(payload, Mapping):
        return None
    owner = meta.get("database") if _is_mysql(record, meta) else meta.get("schema")
    table = f"{owner}.{meta['table']}" if owner else str(meta["table"])
    row = dict(payload)
    keys = _names(meta.get("primary_keys")) or _names(meta.get("replication_index"))
    spelt = {name.lower(): name for name in reversed(payload)}
    keys = tuple(name if name in payload else spelt.get(name.lower(), name) for name in dict.fromkeys(keys))
    if not keys and str(meta.get("row_id") or "").strip():
        keys, row = (ROW_ID,), {**row, ROW_ID: meta["row_id"]}
    return [Fact(table, keys, None, row, meta.get("change_type") in (None, "INSERT", "READ"))]


def _is_mysql(record: Mapping[str, Any], meta: Mapping[str, Any]) -> bool:
    """As the engine tells MySQL from the others: by the metadata it has, else by the name of the method."""
    lsn, method = str(meta.get("lsn") or ""), str(record.get("read_method") or "").lower()
    if ":" in lsn or "/" in lsn or any(meta.get(name) is not None for name in (*_ORACLE, "physical_location")):
        return False
    if meta.get("replication_index") is not None:
        return False
    if any(meta.get(name) is not None for name in _BINLOG) or method.startswith("mysql"):
        return True
    if method.startswith(("oracle", "postgres", "sqlserver")):
        return False
    return meta.get("database") is not None and meta.get("schema") is None


def _names(listed: Any) -> tuple[str, ...]:
    if isinstance(listed, str):
        try:
            listed = parsed(listed)
        except ValueError:
            return ()
    return tuple(name for name in listed if name) if isinstance(listed, Iterable) else ()

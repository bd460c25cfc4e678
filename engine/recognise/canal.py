"""Canal's messages: what a record says of tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.decode.canal_kinds import DDL, HEARTBEAT, OPS, OTHERS
from engine.recognise.fact import Fact
from engine.recognise.sample import parsed

ORDER: Final = "where the messages stand: partition and offset, else file and line"
_TIMES: Final = {"es", "ts"}


def facts(record: Any) -> Sequence[Fact] | None:
    """The rows of a message; nothing for statements; None for what is no message."""
    if not isinstance(record, Mapping):
        return None
    message = _message(record)
    kind = message.get("type")
    if kind == HEARTBEAT and _TIMES & message.keys():  # which may have nothing else
        return []
    if not isinstance(kind, str) or not ("isDdl" in message or "mysqlType" in message):
        return [] if "value" in record and record["value"] is None else None
    if kind.upper() not in (*OPS, *DDL, *OTHERS, HEARTBEAT):
        return None
    rows = message.get("data") or message.get("old") or ()
    if kind.upper() not in OPS or not message.get("database") or not message.get("table") or message.get("isDdl"):
        return []
    types = message.get("mysqlType")
    schema = {"mysqlType": types} if isinstance(types, Mapping) else None
    table, keys = f"{message['database']}.{message['table']}", tuple(message.get("pkNames") or ())
    inserted = kind.upper() in ("INSERT", "INIT")
    return [Fact(table, keys, schema, row, inserted, not keys) for row in rows if isinstance(row, Mapping)]


def _message(record: Mapping[str, Any]) -> Mapping[str, Any]:
    value = record.get("value")
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = parsed(value)
        except ValueError:
            return record
    return value if isinstance(value, Mapping) else record

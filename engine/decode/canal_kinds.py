"""What a message of Canal is: rows that changed, a control event and which, or neither and why."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.decode import json_lines, statements, values
from engine.decode.parsing import are_objects
from engine.schema import control_kinds

OPS: Final = {
    "INSERT": names.OP_INSERT,
    "UPDATE": names.OP_UPDATE,
    "DELETE": names.OP_DELETE,
    "INIT": names.OP_READ,
    "TRUNCATE": names.OP_TRUNCATE,
}
DDL: Final = ("DDL", "CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX")
OTHERS: Final = {"QUERY": control_kinds.QUERY} | dict.fromkeys(
    ("GTID", "XACOMMIT", "XAROLLBACK"), control_kinds.TRANSACTION_EVENT
)
HEARTBEAT: Final = "MHEARTBEAT"


def op(message: Column, kind: Column) -> Column:
    """The operation of a message's rows; null for every other type. DTS tells a truncate as DDL. `kind`: the type, in
    capitals."""
    is_statement = kind.isin("DDL", "QUERY") & F.coalesce(message["isDdl"], F.lit(True))
    return F.when(is_statement & statements.is_truncate(message["sql"]), names.OP_TRUNCATE).otherwise(
        json_lines.meaning(kind, OPS)
    )


def control_kind(message: Column, kind: Column, found: Column, text: Column) -> Column:
    """Which control event, or null. `found`: the operation."""
    chosen = F.when(kind.isin(*DDL) | ((kind == "QUERY") & message["isDdl"]), control_kinds.DDL).when(
        kind == HEARTBEAT, control_kinds.HEARTBEAT
    )
    for word, name in OTHERS.items():
        chosen = chosen.when(kind == word, name)
    null_message = kind.isNull() & json_lines.is_null_message(text)
    return F.when(found.isNull(), chosen.when(null_message, control_kinds.NULL_MESSAGE))


def table(message: Column, truncated: Column) -> Column:
    """`database.table`; null where the message is not about one. `truncated`: that in its statement, where that alone
    tells it."""
    both = (message["database"] != "") & (message["table"] != "")
    return F.coalesce(F.when(both, F.concat_ws(".", message["database"], message["table"])), truncated)


def truncated(message: Column, kind: Column) -> Column:
    """The table that the statement of a truncate names, where nothing beside it does; where it says no database, that
    of the message. Null where one is not told, and of every other message. `kind`: the type, in capitals."""
    is_silent = (op(message, kind) == names.OP_TRUNCATE) & (F.coalesce(message["table"], F.lit("")) == "")
    database = F.when(message["database"] != "", message["database"])
    return F.when(is_silent, statements.dotted(statements.truncated_in(message["sql"], database)))


def broken_reason(text: Column) -> Column:
    """Why a line could not be parsed as a message."""
    return json_lines.broken_reason(text, "a field of the message has a type that Canal does not give it")


def reject_reason(message: Column, found: Column, named: Column) -> Column:
    """Why a message that is no control event cannot be changes either; null where it can. `named`: its table."""
    data, old = message["data"], message["old"]
    kind = message["type"]
    rows = F.coalesce(data, old)
    is_truncate, is_update = found == names.OP_TRUNCATE, found == names.OP_UPDATE
    no_object = ~are_objects(rows) | ~are_objects(old, may_be_null=True)
    return (
        F.when(kind.isNull(), "type is missing")
        .when(found.isNull(), F.concat(F.lit('unknown type "'), F.substring(kind, 1, 20), F.lit('"')))
        .when(named.isNull() & is_truncate, "a TRUNCATE whose table is not told")
        .when(named.isNull(), "database or table is missing")
        .when(message["es"].isNull(), "es, the time of the change, is missing")
        .when(values.moment(message["es"], "millis").isNull(), "es, the time of the change, is no time in milliseconds")
        .when(~is_truncate & F.coalesce(F.size(rows) < 1, F.lit(True)), F.concat(kind, F.lit(" without rows in data")))
        .when(is_update & data.isNull(), "UPDATE without rows in data")
        .when(is_update & (F.size(old) != F.size(data)), "old and data have different numbers of rows")
        .when(~is_truncate & no_object, "a row in data or old is not an object")
    )

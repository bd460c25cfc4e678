"""What a record of DTS is: a change of a row, a control event and which, or neither and why."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.decode import json_lines, statements
from engine.inputs.magic import AVRO
from engine.schema import control_kinds

FILLER_BYTES: Final = 48
OPS: Final = {
    "INSERT": names.OP_INSERT,
    "UPDATE": names.OP_UPDATE,
    "DELETE": names.OP_DELETE,
    "INIT": names.OP_READ,
}
CONTROLS: Final = {
    "BEGIN": control_kinds.TRANSACTION_BEGIN,
    "COMMIT": control_kinds.TRANSACTION_END,
    "ROLLBACK": control_kinds.TRANSACTION_ROLLBACK,
    "ABORT": control_kinds.TRANSACTION_ROLLBACK,
    "HEARTBEAT": control_kinds.HEARTBEAT,
    "CHECKPOINT": control_kinds.CHECKPOINT,
    "DDL": control_kinds.DDL,
    "COMMAND": control_kinds.COMMAND,
    "FILL": control_kinds.FILLER,
    "NOOP": control_kinds.FILLER,
    "FINISH": control_kinds.FINISH,
    "CONTROL": control_kinds.CONTROL_RECORD,
    "RDB": control_kinds.RDB,
}
_BEFORE, _AFTER = "beforeImages", "afterImages"


def op(record: Column) -> Column:
    """The operation on a row, or on all rows of a table; null for every other record."""
    is_truncate = (record["operation"] == "DDL") & F.coalesce(statements.is_truncate(statement(record)), F.lit(False))
    return F.when(is_truncate, names.OP_TRUNCATE).otherwise(json_lines.meaning(record["operation"], OPS))


def control_kind(record: Column) -> Column:
    """Which control event, or null."""
    return F.when(op(record).isNull(), json_lines.meaning(record["operation"], CONTROLS))


def statement(record: Column) -> Column:
    """The text of a DDL statement or a command."""
    return record[_AFTER]["member0"]


def fields(record: Column) -> Column:
    """Names and types of the columns of a row."""
    return record["fields"]["member1"]


def before(record: Column) -> Column:
    """The values before."""
    return record[_BEFORE]["member1"]


def after(record: Column) -> Column:
    """The values after."""
    return record[_AFTER]["member1"]


def table(record: Column) -> Column:
    """`schema.table`, or `database.table`: the last two parts of the object's name, or the logical names of both."""
    name = F.when(op(record) == names.OP_TRUNCATE, _truncated(record)).otherwise(record["objectName"])
    owner = F.substring_index(F.substring_index(name, ".", -2), ".", 1)
    logical = [F.try_element_at(record["tags"], F.lit(tag)) for tag in ("l_db_name", "l_tb_name")]
    physical = [statements.dotted(owner), statements.dotted(F.substring_index(name, ".", -1))]
    return F.when(
        name.contains("."),
        F.concat_ws(
            ".", *[F.coalesce(F.nullif(told, F.lit("")), own) for told, own in zip(logical, physical, strict=True)]
        ),
    )


def _truncated(record: Column) -> Column:
    """The table that a TRUNCATE names; where it says no database, the one that the record is about."""
    name = record["objectName"]
    around = F.substring_index(name, ".", 1)
    return F.when(name.contains("."), name).otherwise(statements.truncated_in(statement(record), around))


def unread_reason(value: Column) -> Column:
    """Why bytes are no record."""
    return (
        F.when(F.substring(value, 1, 4) == F.lit(bytearray(AVRO)), "a whole Avro file, where one record should be")
        .when(
            F.substring(value, 1, 2) == F.lit(bytearray(2)),  # a zero, then a number of less than 24 bits
            "the bytes are no record of DTS; if they are Confluent frames, the format is debezium-avro",
        )
        .otherwise("the bytes are no record of DTS")
    )


def reject_reason(record: Column, table: Column, position: Column, commit_ts: Column) -> Column:
    """Why a record about rows cannot be a change; null where it can, or is a control event."""
    found, operation = op(record), record["operation"]
    number = F.size(fields(record))
    missing = F.concat(operation, F.lit(" without "))
    needs_before = found.isin(names.OP_DELETE)
    needs_after = found.isin(names.OP_INSERT, names.OP_UPDATE, names.OP_READ)

    def unequal(image: Column) -> Column:
        return image.isNotNull() & (F.size(image) != number)

    return F.when(
        found.isNotNull(),
        F.when(
            table.isNull(),
            F.when(found == names.OP_TRUNCATE, "a TRUNCATE whose table is not told").otherwise(
                "objectName does not name a table"
            ),
        )
        .when(commit_ts.isNull(), "sourceTimestamp is no time in seconds")
        .when((found != names.OP_READ) & position.isNull(), _nowhere(record))
        .when(found == names.OP_TRUNCATE, None)
        .when(fields(record).isNull(), F.concat(missing, F.lit("fields")))
        .when(needs_before & before(record).isNull(), F.concat(missing, F.lit(_BEFORE)))
        .when(needs_after & after(record).isNull(), F.concat(missing, F.lit(_AFTER)))
        .when(unequal(before(record)) | unequal(after(record)), "not as many values as fields"),
    )


def _nowhere(record: Column) -> Column:
    said = F.substring(record["sourcePosition"], 1, 60)
    return F.concat(F.lit('a streamed change without a position (sourcePosition "'), said, F.lit('")'))

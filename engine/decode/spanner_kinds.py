"""What a record of a Spanner change stream is: changes, a control event and which, or neither and why."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.decode import json_lines, outcome
from engine.decode.parsing import is_plain_object
from engine.schema import control_kinds

DATA_CHANGE: Final = "data_change"
RECORDS: Final[dict[str, tuple[str, ...]]] = {
    DATA_CHANGE: ("data_change_record", "dataChangeRecord"),
    control_kinds.HEARTBEAT: ("heartbeat_record", "heartbeatRecord"),
    control_kinds.CHILD_PARTITIONS: ("child_partitions_record", "childPartitionsRecord"),
    control_kinds.PARTITION_START: ("partition_start_record", "partitionStartRecord"),
    control_kinds.PARTITION_END: ("partition_end_record", "partitionEndRecord"),
    control_kinds.PARTITION_EVENT: ("partition_event_record", "partitionEventRecord"),
}
OPS: Final = {"INSERT": names.OP_INSERT, "UPDATE": names.OP_UPDATE, "DELETE": names.OP_DELETE}
BLANKS: Final = " \t\r\n"
OF_MESSAGE: Final = "a data record of the message ChangeStreamRecord (columnMetadata): this shape is not read"
NOTHING_IN_IT: Final = r'^\{(?:\s*"[^"]*"\s*:\s*(?:null|\[\s*\]|\{\s*\}|"")\s*,?)*\s*\}$'


def op(mod_type: Column) -> Column:
    """The operation of a record's mods; null for every other type."""
    return json_lines.meaning(mod_type, OPS)


def broken_reason(text: Column) -> Column:
    """Why a line could not be parsed as a record."""
    misfit = "a field of the line has a type that Spanner does not give it"
    return json_lines.broken_reason(text, misfit, "[{", "neither a JSON object nor an array of them")


def reject_reason(kind: Column, record: Column, moment: Column, mods: Column) -> Column:
    """Why a data record cannot be changes; why a line holds no record."""
    mod_type = record["mod_type"]
    data = (
        F.when(
            F.coalesce(record["table_name"], F.lit("")) == "",
            F.when(F.exists(mods, _is_of_message), OF_MESSAGE).otherwise("table_name is missing"),
        )
        .when(record["commit_timestamp"].isNull(), "commit_timestamp is missing")
        .when(moment.isNull(), "commit_timestamp is no timestamp")
        .when(record["server_transaction_id"].isNull(), "server_transaction_id is missing")
        .when(record["record_sequence"].try_cast("bigint").isNull(), "record_sequence is missing, or no number")
        .when(mod_type.isNull(), "mod_type is missing")
        .when(op(mod_type).isNull(), F.concat(F.lit('unknown mod_type "'), F.substring(mod_type, 1, 20), F.lit('"')))
        .when(F.coalesce(F.size(mods) < 1, F.lit(True)), "a data change record without mods")
        .when(F.exists(mods, _some_is_no_object), "keys, new_values or old_values in mods is not an object")
    )
    return F.when(kind.isNull(), "neither a data change, a heartbeat nor a partition record of Spanner").when(
        kind == DATA_CHANGE, data
    )


def _is_of_message(mod: Column) -> Column:
    """Whether a mod is of the message of protobuf: its values are lists, which name their columns by a number."""
    return F.concat_ws("", mod["keys"], mod["new_values"], mod["old_values"]).rlike(
        '"column(?:_m|M)etadata(?:_i|I)ndex"'
    )


def image(part: Column) -> Column:
    """A part of a mod without the blanks that JSON has around it where it came as a text; null for an empty one."""
    return F.nullif(F.trim(part, F.lit(BLANKS)), F.lit(""))


def _some_is_no_object(mod: Column) -> Column:
    """Whether some of a mod's parts is neither an object nor absent, which an empty text counts as."""
    parts = [mod[name] for name in ("keys", "new_values", "old_values")]
    return outcome.some(_is_no_object(part) for part in parts)


def _is_no_object(part: Column) -> Column:
    return part.isNotNull() & ~is_plain_object(part) & F.coalesce(~_is_object(image(part)), F.lit(False))


def _is_object(text: Column) -> Column:
    """Whether the text is an object and nothing else: parts are joined by their braces."""
    whole = F.when(F.instr(text, "}") < F.length(text), json_lines.whole(text).isNotNull()).otherwise(F.lit(True))
    return text.startswith("{") & text.endswith("}") & whole

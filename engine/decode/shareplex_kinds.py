"""What an operation of SharePlex is: a change, a control event and which, or neither and why."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.decode import json_lines, numbers
from engine.schema import control_kinds

BEFORE: Final = "UPDATE BEFORE"
AFTER: Final = "UPDATE AFTER"
OPS: Final = {
    "INS": names.OP_INSERT,
    "INSERT": names.OP_INSERT,
    "UPD": names.OP_UPDATE,
    "UPDATE": names.OP_UPDATE,
    AFTER: names.OP_UPDATE,
    "DEL": names.OP_DELETE,
    "DELETE": names.OP_DELETE,
    "TRUNC": names.OP_TRUNCATE,
    "TRUNCATE": names.OP_TRUNCATE,
}
_USUAL: Final = ("ins", "upd", "del", "INS", "UPD", "DEL")
CONTROLS: Final = {BEFORE: control_kinds.UPDATE_BEFORE, "DROP COLUMN": control_kinds.DDL, "DDL": control_kinds.DDL}


def word(op: Column) -> Column:
    """The operation's name in capitals, one blank between its words."""
    usual = F.when(op.isin(*_USUAL), F.upper(op))
    return F.coalesce(usual, F.upper(F.trim(F.regexp_replace(op, r"[\s_]+", " "))))


def op(word: Column) -> Column:
    """The operation of a change; null for every other."""
    return json_lines.meaning(word, OPS)


def control_kind(word: Column, meta: Column, text: Column) -> Column:
    """Which control event, or null."""
    null_message = meta.isNull() & json_lines.is_null_message(text)
    chosen = F.when(null_message, control_kinds.NULL_MESSAGE)
    for name, kind in CONTROLS.items():
        chosen = chosen.when(word == name, kind)
    return chosen


def broken_reason(text: Column) -> Column:
    """Why a line could not be parsed as an operation."""
    return json_lines.broken_reason(text, "a field of the operation has a type that SharePlex does not give it")


def is_unsaid(scn: Column) -> Column:
    """Whether an operation tells no SCN: a change is taken then by where it stands, but not with one that is none."""
    return scn.isNull() | (F.trim(scn) == "")


def reject_reason(op: Column, meta: Column, moment: Column, table: Column, image: Column, place: Column) -> Column:
    """Why an operation that is no control event cannot be a change either; null where it can."""
    name, scn = meta["op"], meta["scn"]
    is_no_scn = numbers.digits(scn).isNull() & ~is_unsaid(scn)
    return (
        F.when(is_no_scn, F.concat(F.lit('meta.scn "'), F.substring(scn, 1, 30), F.lit('" is no whole number')))
        .when(meta.isNull(), "meta is missing")
        .when(name.isNull(), "meta.op is missing")
        .when(op.isNull(), F.concat(F.lit('unknown op "'), F.substring(name, 1, 20), F.lit('"')))
        .when(table.isNull(), "meta.table is missing, and more than one spec reads these files")
        .when(meta["time"].isNull(), "meta.time is missing")
        .when(moment.isNull(), "meta.time is no time such as 2017-06-16T14:24:34")
        .when((op != names.OP_TRUNCATE) & image.isNull(), F.concat(F.lit('op "'), name, F.lit('" without data')))
        .when(place.isNull(), "a change without scn, trans or seq: source.order: coordinates takes it where it stands")
    )

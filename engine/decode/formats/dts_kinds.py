"""The kinds of DTS records: a change, a control event of some kind, or neither, with the reason; table and position."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from siltstone.engine import names
from siltstone.engine.decode.formats.dts_record import DtsRecord
from siltstone.engine.decode.formats.statements import is_truncate, truncated_table, with_dots
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object
from siltstone.engine.decode.position_text import LONGEST_NUMBER, hex_digits, joined, lsn_of_two_parts, segments
from siltstone.engine.inputs.file_signatures import AVRO
from siltstone.engine.schema import control_kinds

FILLER_BYTES: Final = 48
"""A message of this size or smaller is a filler of the transport."""
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
NO_RECORD: Final = "the bytes are not a record of DTS"
FRAMED: Final = f"{NO_RECORD}; if they are Confluent frames, the format is debezium-avro"
AVRO_FILE: Final = "a whole Avro file instead of one record"
NO_TIME: Final = "sourceTimestamp is not a time in seconds"
NO_TABLE: Final = "objectName does not name a table"
NO_TRUNCATED_TABLE: Final = "a TRUNCATE that does not name its table"
NOT_AS_MANY: Final = "the numbers of values and fields differ"

_FRAME: Final = bytes(2)  # a zero, then a number of less than 24 bits
_FIRST_SECOND: Final = -62_135_596_800  # 0001-01-01T00:00:00Z
_LAST_SECOND: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_MOST_SHOWN: Final = 60
_BETWEEN: Final = "<->"
_WITH_LSNS: Final = ("postgre", "ppas")
_AT_FILE: Final = re.compile("([0-9]{1,18})@([0-9]{1,18})", re.ASCII)
_NUMBER: Final = re.compile("[0-9]{1,18}", re.ASCII)
_LSN: Final = re.compile("([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})", re.ASCII)


def operation(record: DtsRecord) -> str | None:
    """The operation on a row, or on all rows of a table; None for all other records."""
    name = record.head["operation"]
    if name == "DDL":
        return names.OP_TRUNCATE if is_truncate(statement(record)) else None
    return OPS.get(name)


def statement(record: DtsRecord) -> str | None:
    """The text of a DDL statement or a command."""
    return record.after if isinstance(record.after, str) else None


def unread_reason(value: bytes) -> str:
    """Why bytes are not a record."""
    if value.startswith(AVRO):
        return AVRO_FILE
    return FRAMED if value.startswith(_FRAME) else NO_RECORD


def table(record: DtsRecord, op: str | None) -> str | None:
    """`schema.table`, or `database.table`: the last two parts of the object's name, or the logical names of both."""
    name = record.head["objectName"]
    if op == names.OP_TRUNCATE and (name is None or "." not in name):
        name = truncated_table(statement(record) or "", name)
    if name is None or "." not in name:
        return None
    rest, _, own = name.rpartition(".")
    owner, tags = rest.rpartition(".")[2], record.head["tags"]
    return f"{tags.get('l_db_name') or with_dots(owner)}.{tags.get('l_tb_name') or with_dots(own)}"


def commit_us(record: DtsRecord) -> int | None:
    """The time of the commit; None if it is outside of the calendar."""
    seconds: int = record.head["sourceTimestamp"]
    return seconds * 1_000_000 if _FIRST_SECOND <= seconds <= _LAST_SECOND else None


def reject_reason(record: DtsRecord, op: str, table: str | None, position: str | None) -> str | None:
    """Why a record about rows cannot be a change; None if it can."""
    is_truncated = op == names.OP_TRUNCATE
    if table is None:
        return NO_TRUNCATED_TABLE if is_truncated else NO_TABLE
    if commit_us(record) is None:
        return NO_TIME
    if position is None and op != names.OP_READ:
        shown = record.head["sourcePosition"][:_MOST_SHOWN]
        return f'a streamed change without a position (sourcePosition "{shown}")'
    return None if is_truncated else _image_problem(record, op)


def _image_problem(record: DtsRecord, op: str) -> str | None:
    missing, columns = f"{record.head['operation']} without", record.columns
    if columns is None:
        return f"{missing} fields"
    if op == names.OP_DELETE and not isinstance(record.before, list):
        return f"{missing} beforeImages"
    if op != names.OP_DELETE and not isinstance(record.after, list):
        return f"{missing} afterImages"
    for image in (record.before, record.after):
        if isinstance(image, list) and len(image) != len(columns.names):
            return NOT_AS_MANY
    return None


# --- positions ------------------------------------------------------------------------------------------------------


def position(text: str) -> str | None:
    """The position of `sourcePosition`: `position@file`, a number, or two numbers or LSNs with <-> between them.

    Of the latter, the first one orders first. 0@0 is not a position: some records that are not changes have it.
    """
    numbered = _AT_FILE.fullmatch(text)
    if numbered is not None:
        numbers: list[int | None] = [int(numbered[2]), int(numbered[1])]
    else:
        numbers = [_number_or_lsn(part) for part in text.split(_BETWEEN)]
    if len(numbers) == 1:
        numbers.insert(0, 0)
    if len(numbers) > 2 or not any(numbers):
        return None
    return joined(hex_digits(numbers[0], 16), hex_digits(numbers[1], 16))


def notation(place: str, source: str) -> str | None:
    """`sourcePosition` in the notation of the source: MySQL's position@file, a number, or PostgreSQL's LSNs."""
    first, last = [*segments(place, 16, 16), "", ""][:2]
    if not last:
        return None
    numbers = int(first, 16), int(last, 16)
    if not numbers[0]:
        return str(numbers[1])
    is_lsn = any(word in source for word in _WITH_LSNS)
    return _BETWEEN.join(map(lsn_of_two_parts, (first, last))) if is_lsn else f"{numbers[1]}@{numbers[0]}"


def _number_or_lsn(text: str) -> int | None:
    if _NUMBER.fullmatch(text):
        return int(text)
    halves = _LSN.fullmatch(text)
    number = None if halves is None else int(halves[1], 16) << 32 | int(halves[2], 16)
    return number if number is not None and number <= LONGEST_NUMBER else None


# --- keys -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_000)
def key_columns(key_info: str | None) -> tuple[str, ...] | None:
    """The columns of the primary key, else of the only unique key, in `{"PRIMARY":["id"],"uk":["a","b"]}`."""
    try:
        listed = parse_object(key_info or "")
    except PARSE_ERRORS:
        return None
    keys = {name: columns for name, columns in listed.items() if isinstance(columns, list) and columns}
    primary = [columns for name, columns in keys.items() if name.lower() == "primary"]
    chosen = primary or (list(keys.values()) if len(keys) == 1 else [])
    return tuple(str(column) for column in chosen[0] if column is not None) if chosen else None

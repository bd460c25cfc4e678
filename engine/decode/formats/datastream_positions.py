"""Positions of Datastream's changes in the logs of their sources. `datastream` describes the layout."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from siltstone.engine.decode.formats.datastream_record import (
    MYSQL,
    ORACLE,
    POSTGRESQL,
    Metadata,
    Word,
    as_number,
    as_text,
    is_blank,
)
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse
from siltstone.engine.decode.position_text import (
    binlog_place,
    hex_digits,
    joined,
    lsn_of_three_parts,
    lsn_of_two_parts,
    number_at_end,
    redo_record,
    segments,
    three_part_lsn,
    two_part_lsn,
)

_FIRST_HALF, _OTHER_HALF = "0", "1"
_LOGGED: Final = re.compile("logminer|cdc|supplementation")
_FILE_NUMBER: Final = re.compile(r"([0-9]+)[^0-9]+\Z", re.ASCII)
_AFTER_SCN: Final = ("F" * 24, "F" * 8)


def is_logged(database: str | None, metadata: Metadata, method: str | None, change_type: str) -> bool:
    """Whether the event has a position in the source's log."""
    if database == MYSQL:
        file, place = _binlog(metadata)
        return not is_blank(file) and (as_number(place) or 0) > 0
    if database == ORACLE:
        return (as_number(metadata.scn) or 0) > 0 and (_has_log_record(metadata) or _is_streamed(method, change_type))
    return not is_blank(metadata.lsn)


def _binlog(metadata: Metadata) -> tuple[str | None, Word]:
    """MySQL's log file and the position in it, under either pair of names."""
    if is_blank(metadata.log_file):
        return metadata.binlog_file, metadata.binlog_position
    return metadata.log_file, metadata.log_position


def log_file(metadata: Metadata) -> str | None:
    """The name of MySQL's log file."""
    return _binlog(metadata)[0]


def _has_log_record(metadata: Metadata) -> bool:
    """Whether Oracle's event names a log record or a transaction. Rows of a backfill have only an SCN."""
    return not (is_blank(metadata.rs_id) and is_blank(metadata.log_file) and is_blank(as_text(metadata.tx_id)))


def _is_streamed(method: str | None, change_type: str) -> bool:
    """Whether Oracle's event comes from the log, although it names no record in it.

    Only events of the log update and delete, and the methods that read the log have names of their own.
    """
    if "UPDATE" in change_type or "DELETE" in change_type:
        return True
    return change_type not in ("", "READ") and _LOGGED.search((method or "").lower()) is not None


def position(database: str | None, metadata: Metadata, source_us: int | None, is_first_half: bool) -> str | None:
    """The position of a streamed change.

    `source_us`: the time of the commit. The time of reading is not used: it would order changes by ingestion.
    `is_first_half`: the change is the delete of the old key of a key change.
    """
    half = _FIRST_HALF if is_first_half else _OTHER_HALF
    if database == MYSQL:
        file, place = _binlog(metadata)
        return joined(_file_number(file), hex_digits(as_number(place), 16), hex_digits(source_us or 0, 16), half)
    if database == ORACLE:
        return joined(_scn(metadata), redo_record(metadata.rs_id), hex_digits(as_number(metadata.ssn) or 0, 8), half)
    time = hex_digits(source_us, 16)
    if database == POSTGRESQL:
        return joined(time, two_part_lsn(metadata.lsn), half)
    return joined(time, three_part_lsn(metadata.lsn), _slot(metadata.physical_location), half)


def read_position(database: str | None, metadata: Metadata) -> str | None:
    """The position of a READ of Oracle. It saw everything up to its SCN, so it comes after all changes of that SCN."""
    return joined(_scn(metadata), *_AFTER_SCN, _OTHER_HALF) if database == ORACLE else None


def _scn(metadata: Metadata) -> str | None:
    number = as_number(metadata.scn)
    return hex_digits(number, 16) if number else None


@lru_cache(maxsize=1_000)
def _file_number(file: str | None) -> str | None:
    """The number of a log file: the last digits of its name, also before a suffix."""
    number = number_at_end(file)
    if number is None and file is not None:
        before_suffix = _FILE_NUMBER.search(file)
        number = None if before_suffix is None else number_at_end(before_suffix[1])
    return hex_digits(number, 8)


def _slot(location: list[int] | str | None) -> str:
    """File, page and slot of a row of SQL Server; zeros for those that the event lacks."""
    found = _parsed(location) if isinstance(location, str) else location
    places = found[:3] if isinstance(found, list) else []
    known = [hex_digits(place, 16) if isinstance(place, int) else None for place in places]
    return "".join((known[at] if at < len(known) else None) or "0" * 16 for at in range(3))


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except PARSE_ERRORS:
        return None


# --- in the notation of the sources ---------------------------------------------------------------------------------


def mysql_notation(place: str, _source: str) -> str | None:
    """File and position in it."""
    found = segments(place, 8, 16, 16, 1)
    return binlog_place(found[0], found[1:2]) if found else None


def oracle_notation(place: str, _source: str) -> str | None:
    """The SCN."""
    found = segments(place, 16, 24, 8, 1)
    return f"SCN {int(found[0], 16)}" if found else None


def postgresql_notation(place: str, _source: str) -> str | None:
    """The LSN."""
    found = segments(place, 16, 16, 1)
    return lsn_of_two_parts(found[1]) if len(found) > 1 else None


def sqlserver_notation(place: str, _source: str) -> str | None:
    """The LSN."""
    found = segments(place, 16, 20, 48, 1)
    return lsn_of_three_parts(found[1]) if len(found) > 1 else None

"""Files that AWS DMS writes to S3, recognized by their names.

A full load has names such as `LOAD00000001.csv`, changes have names such as `20240101-123456789.csv`. The files are in
the folder of their table, or below it in folders of dates.

    https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.S3.html

Changes begin with a column `Op` (I, U, D). A full load has it if `IncludeOpForFullLoad` is set. CSV files have no
header unless `AddColumnName` is set. If `TimestampColumnName` is set, a column with the time of the commit follows
`Op`, under any name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object

OP: Final = "Op"
OPS: Final = ("I", "U", "D")
LOADS: Final = "LOAD*"
READS: Final = f"{OP} IS NULL OR (_file >= 'LOAD' AND _file < 'LOAE')"
_LOAD: Final = re.compile(r"LOAD[0-9A-F]{5,}\.")
_CHANGES: Final = re.compile(r"\d{8}-\d{6,}\.")
_DATE: Final = re.compile(r"\d{1,10}")
_OF_DMS: Final = re.compile(r"(?i)dms|cdc|commit|transact|replic|timestamp|\A(op_?)?ts\Z")
_VALUE: Final = re.compile(r"[-+]?\d[\d.,:TZ -]*")


def is_load(file: Path) -> bool:
    """Whether a file has the name of a full load."""
    return _LOAD.match(file.name) is not None


def is_of_dms(file: Path) -> bool:
    """Whether a file has a name that DMS gives."""
    return is_load(file) or _CHANGES.match(file.name) is not None


def table_folder(file: Path) -> Path:
    """The folder of the table of a file."""
    folder = file.parent
    while is_of_dms(file) and _DATE.fullmatch(folder.name):
        folder = folder.parent
    return folder


def names_of_values(file: Path, first: Sequence[str]) -> tuple[str, ...]:
    """Names for the columns of a file without a header, by its first row; empty if it has a header."""
    has_op = not is_load(file) or first[0] in OPS
    if not is_of_dms(file) or (first[0] not in OPS and not any(map(_VALUE.fullmatch, first))):
        return ()
    own = tuple(f"column_{number}" for number in range(1, len(first) + (0 if has_op else 1)))
    return (OP, *own) if has_op else own


def is_new(file: Path, row: bytes) -> bool:
    """Whether a row of a file by DMS is a new row of its table."""
    try:
        return is_of_dms(file) and (is_load(file) or parse_object(row).get(OP) == "I")
    except PARSE_ERRORS:
        return False


def commit_column(columns: Sequence[str]) -> str | None:
    """The column with the time of the commit: the first one after `Op`, if its name suggests a time."""
    after = next((name for name in columns if name != OP), None)
    return after if after is not None and _OF_DMS.search(after) else None

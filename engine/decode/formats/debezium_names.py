"""The names that Debezium gives a source: its connector, and the source itself."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.decode.formats.debezium_envelope import Source

OP_ID: Final = re.compile(r"([0-9]{1,19}):([0-9]{1,19}):[^:]*:(-?[0-9]{1,10}):[0-9]+")
ORACLE: Final = "oracle"
TICDC: Final = "TiCDC"
POSTGRESQL: Final = "postgresql"
VITESS: Final = "vitess"
YUGABYTEDB: Final = "yugabytedb"


def connector_name(source: Source) -> str | None:
    """The connector. Only the events in Oracle's documentation do not name it."""
    if source.connector is None:
        return None if source.scn is None else ORACLE
    is_yugabytedb = source.connector.lower() == YUGABYTEDB  # its documentation writes YugabyteDB
    if not is_yugabytedb:
        return source.connector
    return YUGABYTEDB if isinstance(source.lsn, str) and OP_ID.fullmatch(source.lsn) else POSTGRESQL


def source_name(source: Source) -> str | None:
    """The source as changes name it: `<connector>:<name>`, followed by the shard, if that has a log of its own."""
    connector = connector_name(source)
    if connector is None or source.name is None:
        return None
    return f"{connector}:{source.name}" + (f":{source.shard}" if source.shard is not None else "")

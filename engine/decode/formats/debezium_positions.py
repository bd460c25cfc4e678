"""The connectors of Debezium: how each names its tables, and the positions of its changes.

    PostgreSQL       epoch(4) - commit LSN of the transaction before (16) - LSN (16); READs of a snapshot: LSN (16) -
                     LSN (16) - the last commit streamed before it (16), if there is one
    MySQL, MariaDB   epoch(4) - number of the binlog file (8) - position in it (16) - row in the event (8)
    Oracle           epoch(4) - commit SCN (16), zeros where SCNs alone order - SCN (16) - redo record (24) - number in
                     it (8) - redo thread (4)
    SQL Server       epoch(4) - commit LSN (20) - change LSN (20) - number of the event in it (8)
    TiCDC            the TSO of the commit: `tso` has the layout
    Db2              epoch(4) - commit LSN (32) - change LSN (32)
    Informix         epoch(4) - commit LSN (16) - change LSN (16)
    Vitess           epoch(4) - epoch of the transaction (8) - its rank (16) - order of the change in it (8)
    YugabyteDB       epoch(4) - commit time (16), zeros if the connector does not write it - term (16) - index (16) -
                     write (8)
    MongoDB          epoch(4) - milliseconds since 1970 (16) - number in the time (8)

A position is None if the source block has no position, or a sentinel instead of one.

Vitess: each shard has a log of its own and is a source of its own. The rank of a transaction is the number of
transactions in the GTID set of its shard, unless the connector ranks them (`VitessOrderedTransactionMetadataFactory`).
Without metadata of transactions, all changes of a transaction have one position: coordinates order the changes of a
key.

YugabyteDB: the connector for the gRPC protocol names operations of Raft's log in `lsn`: term:index:key:write:time. Each
tablet has such a log; commit times order the changes of a row across tablets. The connector for the PostgreSQL protocol
writes the same events as PostgreSQL's connector, and is treated as that one.

MongoDB: the changes of a transaction have one position. Coordinates order the changes of a document.

A new database needs one entry in CONNECTORS, and its fields in `Source`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from siltstone.engine.decode.formats.debezium_cells import cell_values
from siltstone.engine.decode.formats.debezium_documents import plain_document, plain_key
from siltstone.engine.decode.formats.debezium_envelope import WRONG_TYPE, Source, Transaction
from siltstone.engine.decode.formats.debezium_names import OP_ID, ORACLE, POSTGRESQL, TICDC, VITESS, YUGABYTEDB
from siltstone.engine.decode.formats.debezium_oracle import (
    oracle_misplaced,
    oracle_position,
    oracle_position_of_read,
    positive,
)
from siltstone.engine.decode.formats.json_fields import whole_number
from siltstone.engine.decode.formats.tso import position_of
from siltstone.engine.decode.formats.vitess_gtids import number_of_transactions
from siltstone.engine.decode.position_text import EPOCH, hex_digits, joined, number_at_end, three_part_lsn
from siltstone.engine.spec.model import SourceSpec

_MAX_FILE: Final = 0xFFFFFFFF
_ROWS: Final = range(2**32)
_AFTER_ALL_OF_LSN: Final = ("F" * 20, "F" * 8)
_AFTER_ALL_OF_WRITES: Final = "F" * 8
_DB2_LSN: Final = re.compile(r"[0-9A-F]{1,32}")
_DB2_DIGITS: Final = 32  # ten bytes before version 10, then sixteen

Place = Callable[[Source, SourceSpec], str | None]


@dataclass(frozen=True, slots=True)
class Connector:
    """One database.

    `names`: the fields of the source block that name a table; then longer lists, each used if a spec declares the name
    that it gives.

    Positions: `streamed`, `read`: of changes and of READs. `window_close`: of the mark that closes a window of READs; a
    READ that borrows this position is not after it. `deleted`: of deletes, if they differ. `misplaced`: why a streamed
    change has no position that orders it. `in_transaction`: adds the metadata of its transaction to the position of a
    streamed change.

    `transaction`: the id of a transaction, if the event has no metadata of it. `image`, `key`: convert a row and a key
    to plain JSON objects. `has_documents`: rows are documents: a document without a field has null there, and schemas
    do not describe their fields.
    """

    names: tuple[tuple[str, ...], ...]
    streamed: Place
    read: Place
    window_close: Place
    deleted: Place | None = None
    misplaced: Place | None = None
    transaction: Callable[[Source], str | None] | None = None
    in_transaction: Callable[[str, Transaction], str] | None = None
    image: Callable[[bytes], bytes] | None = None
    key: Callable[[bytes], bytes] | None = None
    has_documents: bool = False


def table_name(source: Source, connector: Connector | None, declared: Collection[str]) -> str | None:
    """The name of the table as specs write it. `declared`: the tables that specs name.

    Events that do not name their origin, as in Oracle's documentation, belong to the only table of the specs.
    """
    if len(declared) == 1 and source.scn is not None and _names_no_origin(source):
        return next(iter(declared))
    usual, *longer = (connector or ANY).names
    if not getattr(source, usual[-1]):
        return None
    full = next((name for names in longer if (name := _dotted(source, names)) in declared), None)
    return full if full is not None else _dotted(source, usual)


def _dotted(source: Source, names: tuple[str, ...]) -> str:
    return ".".join(part for name in names if (part := getattr(source, name)) is not None)


def _names_no_origin(source: Source) -> bool:
    return source.connector is None and source.db is None and source.schema is None and source.table is None


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


def _postgresql(source: Source, _spec: SourceSpec) -> str | None:
    own = _lsn(source)
    if own is None:
        own = _in_sequence(source.sequence, -1)
    if own is None:
        return None
    previous = _in_sequence(source.sequence, 0)
    return f"{EPOCH}-{own if previous is None else previous:016X}-{own:016X}"


def _postgresql_read(source: Source, spec: SourceSpec) -> str | None:
    """The position of a READ. A READ of a snapshot at an LSN comes after everything that began before that LSN.

    All of that, except the last transaction, was also committed before it. The third number is the last commit that the
    connector had streamed: everything after it is delivered together with the READs. READs of an incremental snapshot
    have no LSN of their own: their position is the sequence that they borrow.
    """
    own, streamed = _lsn(source), _in_sequence(source.sequence, 0)
    if own is None:
        return _postgresql(source, spec)
    return f"{EPOCH}-{own:016X}-{own:016X}" + ("" if streamed is None else f"-{streamed:016X}")


def _postgresql_misplaced(source: Source, _spec: SourceSpec) -> str | None:
    """Why the LSN cannot order a change; None if it can, or is missing."""
    return WRONG_TYPE if isinstance(source.lsn, str) and whole_number(source.lsn) is None else None


def _lsn(source: Source) -> int | None:
    number = whole_number(source.lsn)
    return number if number is not None and number >= 0 else None


def _in_sequence(sequence: str | None, at: int) -> int | None:
    """An LSN of a sequence, which is a JSON array of two numbers as text, or nulls. `at`: 0 or -1."""
    number = None if sequence is None else whole_number(sequence.split(",")[at].strip('[]" '))
    return number if number is not None and number >= 0 else None


# --- MySQL, MariaDB -------------------------------------------------------------------------------------------------


def _binlog(source: Source, _spec: SourceSpec) -> str | None:
    number, pos, row = _file_number(source.file), source.pos, source.row or 0
    if number is None or pos is None or pos < 0 or row not in _ROWS:
        return None
    return f"{EPOCH}-{number:08X}-{pos:016X}-{row:08X}"


@lru_cache(maxsize=1_000)
def _file_number(name: str | None) -> int | None:
    """The number at the end of a file's name: mysql-bin.999999 comes before mysql-bin.1000000, unlike in text order."""
    number = number_at_end(name)
    return number if number is not None and number <= _MAX_FILE else None


# --- SQL Server -----------------------------------------------------------------------------------------------------


def _sqlserver(source: Source, _spec: SourceSpec) -> str | None:
    serial = hex_digits(source.event_serial_no or 0, 8)
    return joined(three_part_lsn(source.commit_lsn), three_part_lsn(source.change_lsn), serial)


def _sqlserver_read(source: Source, _spec: SourceSpec) -> str | None:
    """A READ that saw everything up to a commit comes after all changes of it."""
    return joined(three_part_lsn(source.commit_lsn), *_AFTER_ALL_OF_LSN)


# --- Db2, Informix --------------------------------------------------------------------------------------------------


def _db2(source: Source, _spec: SourceSpec) -> str | None:
    return joined(_db2_lsn(source.commit_lsn), _db2_lsn(source.change_lsn))


def _db2_read(source: Source, _spec: SourceSpec) -> str | None:
    """A READ that saw everything up to a commit comes after all changes of it."""
    return joined(_db2_lsn(source.commit_lsn), "F" * _DB2_DIGITS)


def _db2_lsn(lsn: str | None) -> str | None:
    """Db2's LSN: bytes as hexadecimal digits, with a colon after the fourth and the eighth byte."""
    digits = "" if lsn is None else lsn.replace(":", "").upper()
    return digits.zfill(_DB2_DIGITS) if _DB2_LSN.fullmatch(digits) else None


def _informix(source: Source, _spec: SourceSpec) -> str | None:
    return joined(
        hex_digits(positive(source.commit_lsn), 16),
        hex_digits(positive(source.change_lsn), 16),
    )


def _informix_read(source: Source, _spec: SourceSpec) -> str | None:
    """A READ that saw everything up to a commit comes after all changes of it."""
    return joined(hex_digits(positive(source.commit_lsn), 16), "F" * 16)


# --- Vitess ---------------------------------------------------------------------------------------------------------


def _vitess(source: Source, _spec: SourceSpec) -> str | None:
    return joined(hex_digits(0, 8), hex_digits(_rank(source), 16), hex_digits(0, 8))


def _vitess_read(source: Source, _spec: SourceSpec) -> str | None:
    """A READ that saw everything up to a transaction comes after all changes of it."""
    return joined(hex_digits(0, 8), hex_digits(_rank(source), 16), "F" * 8)


def _rank(source: Source) -> int | None:
    return number_of_transactions(source.vgtid or "", source.shard or "")


def _in_vitess_transaction(position: str, transaction: Transaction) -> str:
    """The position with the epoch, the rank and the order of the metadata, if it has them."""
    epoch, of_transaction, rank, order = position.split("-")
    given = (
        hex_digits(transaction.epoch, 8) or of_transaction,
        hex_digits(_decimal(transaction.rank), 16) or rank,
        hex_digits(transaction.total_order, 8) or order,
    )
    return "-".join((epoch, *given))


def _decimal(written: str | int | None) -> int | None:
    """A whole number: in base64, the default for decimals in Kafka Connect's JSON, or a JSON number."""
    if not isinstance(written, str):
        return written
    try:
        return int.from_bytes(base64.b64decode(written, validate=True), "big", signed=True)
    except ValueError:
        return None


# --- YugabyteDB -----------------------------------------------------------------------------------------------------


def _yugabytedb(source: Source, _spec: SourceSpec) -> str | None:
    found = OP_ID.fullmatch(str(source.lsn))
    if found is None:
        return None
    term, index, write = (int(part) for part in found.groups())
    numbers = (source.commit_time or 0, 16), (term, 16), (index, 16), (max(write, 0), 8)
    return joined(*(hex_digits(number, width) for number, width in numbers))


def _yugabytedb_read(source: Source, spec: SourceSpec) -> str | None:
    """A READ that saw everything up to an operation comes after all writes of it."""
    position = _yugabytedb(source, spec)
    return None if position is None else position[: -len(_AFTER_ALL_OF_WRITES)] + _AFTER_ALL_OF_WRITES


# --- TiCDC ----------------------------------------------------------------------------------------------------------


def _tso(source: Source, _spec: SourceSpec) -> str | None:
    return position_of(source.commit_ts, is_delete=False)


def _tso_of_delete(source: Source, _spec: SourceSpec) -> str | None:
    return position_of(source.commit_ts, is_delete=True)


def _transaction_of_tso(source: Source) -> str | None:
    return None if source.commit_ts is None else str(source.commit_ts)


# --- MongoDB --------------------------------------------------------------------------------------------------------


def _mongodb(source: Source, _spec: SourceSpec) -> str | None:
    millis = source.ts_ms if source.ts_ms is not None and source.ts_ms > 0 else None
    return joined(hex_digits(millis, 16), hex_digits(source.ord, 8))


def _session_transaction(source: Source) -> str | None:
    """The transaction of a session; None for a change outside of a transaction."""
    return None if source.lsid is None or source.txn_number is None else f"{source.lsid}:{source.txn_number}"


# --- all ------------------------------------------------------------------------------------------------------------


def _no_position(_source: Source, _spec: SourceSpec) -> None:
    return None


def _commit_lsn(source: Source) -> str | None:
    return source.commit_lsn


_BY_SCHEMA: Final = (("schema", "table"),)
_BY_DATABASE: Final = (("db", "table"),)
ANY: Final = Connector(_BY_SCHEMA, streamed=_no_position, read=_no_position, window_close=_no_position)
"""An unknown connector."""
_BINLOG: Final = Connector(_BY_DATABASE, streamed=_binlog, read=_binlog, window_close=_binlog)
CONNECTORS: Final[dict[str, Connector]] = {
    POSTGRESQL: Connector(
        _BY_SCHEMA,
        streamed=_postgresql,
        read=_postgresql_read,
        window_close=_postgresql,
        misplaced=_postgresql_misplaced,
        image=cell_values,
        key=cell_values,
    ),
    "mysql": _BINLOG,
    "mariadb": _BINLOG,
    ORACLE: Connector(
        _BY_SCHEMA,
        streamed=oracle_position,
        read=oracle_position_of_read,
        window_close=oracle_position_of_read,
        misplaced=oracle_misplaced,
    ),
    "sqlserver": Connector(
        (*_BY_SCHEMA, ("db", "schema", "table")),  # a connector can read several databases
        streamed=_sqlserver,
        read=_sqlserver_read,
        window_close=_sqlserver_read,
        transaction=_commit_lsn,
    ),
    TICDC: Connector(
        _BY_DATABASE,
        streamed=_tso,
        read=_tso,
        window_close=_tso,
        deleted=_tso_of_delete,
        transaction=_transaction_of_tso,
    ),
    "db2": Connector(_BY_SCHEMA, streamed=_db2, read=_db2_read, window_close=_db2_read, transaction=_commit_lsn),
    "informix": Connector(_BY_SCHEMA, streamed=_informix, read=_informix_read, window_close=_informix_read),
    VITESS: Connector(
        (("keyspace", "table"),),
        streamed=_vitess,
        read=_vitess_read,
        window_close=_vitess_read,
        in_transaction=_in_vitess_transaction,
    ),
    YUGABYTEDB: Connector(
        _BY_SCHEMA,
        streamed=_yugabytedb,
        read=_yugabytedb_read,
        window_close=_yugabytedb_read,
        image=cell_values,
        key=cell_values,
    ),
    "mongodb": Connector(
        (("db", "collection"),),
        streamed=_mongodb,
        read=_mongodb,
        window_close=_mongodb,
        transaction=_session_transaction,
        image=plain_document,
        key=plain_key,
        has_documents=True,
    ),
}

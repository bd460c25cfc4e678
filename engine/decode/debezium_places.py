"""Where the events of each Debezium connector stand: their table, and their place in the log.

Oracle's changes stand at their commit (commit SCN, SCN, redo record). Connectors before 2.0 wrote the commit SCN of the
transaction before on all events but a transaction's last: theirs stand at their statement, before all that newer
connectors wrote, with zeros for the commit SCN, which tell the windows of READs to reach further back. Which order an
event is in is told by its own `source.version`, by the spec (`source.order: scn`), or by one commit SCN of the source
that is lower than the SCN beside it, for all of its events (`run.order` remembers it).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode import position
from engine.decode.images import Declared
from engine.decode.methods import own_method
from engine.spec.model import SourceSpec

POSTGRESQL: Final = "postgresql"
BINLOG_CONNECTORS: Final = ("mysql", "mariadb")
ORACLE: Final = "oracle"
SQLSERVER: Final = "sqlserver"
CONNECTORS: Final = (POSTGRESQL, *BINLOG_CONNECTORS, ORACLE, SQLSERVER)
COMMIT_SCNS_SINCE: Final = 2
"""The first major version whose commit SCNs are the event's own."""
BY_SCN: Final = "scn"
LOWER_COMMIT: Final = "source.commit_scn is lower than source.scn"
SOURCE_FIELDS: Final = (
    "version string, connector string, name string, db string, schema string, table string, ts_ms bigint, "
    "ts_us bigint, ts_ns bigint, lsn bigint, sequence string, txId string, file string, pos bigint, row bigint, "
    "scn string, commit_scn string, rs_id string, ssn bigint, redo_thread bigint, commit_ts_ms bigint, "
    "commit_lsn string, change_lsn string, event_serial_no bigint"
)


def connector(source: Column) -> Column:
    """The connector; only Oracle's documentation shows events that do not name it."""
    return F.coalesce(source["connector"], F.when(source["scn"].isNotNull(), ORACLE))


def table(source: Column, declared: Declared) -> Column:
    """The table's name: where a spec names it, with the database before it, for a connector of SQL Server can read
    several. One spec's table is that of events that say nothing of where they are from, as in Oracle's documentation.
    """
    schema = F.when(source["connector"].isin(*BINLOG_CONNECTORS), source["db"]).otherwise(source["schema"])
    told = F.when(source["table"] != "", F.concat_ws(".", schema, source["table"]))
    of_databases = [name for name in declared if name.count(".") > 1]
    if of_databases:
        full = F.concat_ws(".", source["db"], source["schema"], source["table"])
        told = F.when((source["connector"] == SQLSERVER) & full.isin(of_databases), full).otherwise(told)
    if len(declared) != 1:
        return told
    says_nothing = F.coalesce(*[source[name] for name in ("connector", "db", "schema", "table")]).isNull()
    return F.when(says_nothing & source["scn"].isNotNull(), F.lit(next(iter(declared)))).otherwise(told)


def source_name(source: Column) -> Column:
    """The source as changes name it."""
    return F.concat(connector(source), F.lit(":"), source["name"])


def by_scn(source: Column, spec: SourceSpec) -> Column:
    """Whether SCNs alone order the event."""
    if spec.order == BY_SCN:
        return F.lit(True)
    major = F.regexp_extract(source["version"], r"^([0-9]+)\.", 1).try_cast("int")
    told = major < COMMIT_SCNS_SINCE
    return F.coalesce(told | source_name(source).isin(*spec.by_scn) if spec.by_scn else told, F.lit(False))


def seen_by_scn() -> Column:
    """The source of a record whose commit SCN shows that SCNs alone order it; null of every other record.

    Needs: reason, source.
    """
    return F.when(F.col("reason").startswith(LOWER_COMMIT), F.col("source"))


def place(source: Column, code: Column, spec: SourceSpec) -> Column:
    """The position; null where the source block has none, or a sentinel."""
    which, is_read = connector(source), code == "r"
    lsns = (source["commit_lsn"], source["change_lsn"])
    return (
        F.when(which == POSTGRESQL, own_method(_postgresql(source, is_read)))
        .when(which.isin(*BINLOG_CONNECTORS), position.binlog(source["file"], source["pos"], source["row"]))
        .when((which == ORACLE) & is_read, own_method(_oracle_read(source, spec)))
        .when(which == ORACLE, own_method(_oracle(source, spec)))
        .when((which == SQLSERVER) & is_read, own_method(position.sqlserver_read(source["commit_lsn"])))
        .when(which == SQLSERVER, own_method(position.sqlserver(*lsns, source["event_serial_no"])))
    )


def _postgresql(source: Column, is_read: Column) -> Column:
    """READs of an incremental snapshot have no LSN of their own, and stand where their borrowed sequence says."""
    lsn, sequence = source["lsn"], source["sequence"]
    return F.when(is_read & (lsn >= 0), position.postgresql_read(lsn, sequence)).otherwise(
        position.postgresql(lsn, sequence)
    )


def close_place(source: Column, place_of_marker: Column, spec: SourceSpec) -> Column:
    """Where a window closes: where a READ stands that borrows the place of the closing marker.

    Oracle's and SQL Server's READs stand behind all changes of the commit that they name.
    """
    behind = connector(source).isin(ORACLE, SQLSERVER)
    return F.when(behind, place(source, F.lit("r"), spec)).otherwise(place_of_marker)


def _oracle(source: Column, spec: SourceSpec) -> Column:
    committed = F.when(by_scn(source, spec), F.lit("0")).otherwise(_positive(source["commit_scn"]))
    return position.oracle(committed, source["scn"], source["rs_id"], source["ssn"], source["redo_thread"])


def _oracle_read(source: Column, spec: SourceSpec) -> Column:
    """READs of a snapshot name its SCN; those of an incremental one borrow an older one, perhaps with its commit."""
    seen = F.greatest(_positive(source["scn"]), _positive(source["commit_scn"]))
    scn = F.when(by_scn(source, spec), _positive(source["scn"])).otherwise(seen)
    return position.oracle_read(F.when(by_scn(source, spec), F.lit(0)).otherwise(seen), scn)


def _positive(scn: Column) -> Column:
    number = scn.try_cast("bigint")
    return F.when(number > 0, number)


def misplaced(source: Column, spec: SourceSpec) -> Column:
    """Why the commit SCN of a streamed change cannot order it; null where it can, or does not."""
    commit = _positive(source["commit_scn"])
    why = F.when(commit.isNull(), "source.commit_scn is missing").when(commit < _positive(source["scn"]), LOWER_COMMIT)
    judged = (connector(source) == ORACLE) & ~by_scn(source, spec) & _positive(source["scn"]).isNotNull()
    return F.when(judged & why.isNotNull(), F.concat(why, F.lit(" (source.order: scn in the spec orders without it)")))


def committed_ms(source: Column) -> Column:
    """Oracle's events are stamped with their statement's time; that of the commit, where it is told, is not earlier."""
    return F.when(source["commit_ts_ms"] >= source["ts_ms"], source["commit_ts_ms"])

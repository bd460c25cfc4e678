"""Every way in which a story is told."""

from tests.conformance.tell_datastream import DatastreamAvro, DatastreamJson
from tests.conformance.tell_debezium import Flat, Mysql, Postgresql
from tests.conformance.tell_debezium_commits import Db2, Oracle, Sqlserver, Vitess, Yugabytedb
from tests.conformance.tell_dms import Dms
from tests.conformance.tell_dts import Canal, Shareplex
from tests.conformance.tell_dts_avro import DtsMysql, DtsPostgresql
from tests.conformance.tell_framed import MysqlFramed, PostgresqlFramed
from tests.conformance.tell_goldengate import GoldenGate
from tests.conformance.tell_maxwell import Maxwell
from tests.conformance.tell_rows import Rows
from tests.conformance.tell_spanner import Spanner
from tests.conformance.tell_spanner_avro import SpannerAvro
from tests.conformance.tell_ticdc import Ticdc
from tests.conformance.teller import Teller

TELLERS: tuple[Teller, ...] = (
    Postgresql(schemas=False),
    Postgresql(schemas=True),
    Mysql(schemas=False),
    Mysql(schemas=True),
    Sqlserver(),
    Oracle(),
    Db2(),
    Vitess(),
    Yugabytedb(),
    Flat(),
    PostgresqlFramed(),
    MysqlFramed(),
    DtsMysql(),
    DtsPostgresql(),
    Canal(),
    Canal(swapped=True),
    Ticdc(),
    Maxwell(),
    Maxwell(places=False),
    Spanner("NEW_VALUES", "array"),
    Spanner("OLD_AND_NEW_VALUES", "object"),
    Spanner("NEW_ROW", "text"),
    Spanner("NEW_ROW_AND_OLD_VALUES", "array"),
    SpannerAvro("OLD_AND_NEW_VALUES"),
    Shareplex(),
    Dms(),
    GoldenGate(),
    GoldenGate(has_rows=True),
    DatastreamJson("postgresql"),
    DatastreamJson("sqlserver"),
    DatastreamAvro("mysql"),
    DatastreamAvro("oracle"),
    DatastreamAvro("postgresql"),
    Rows("json"),
    Rows("csv"),
    Rows("parquet"),
    Rows("avro"),
)
BY_NAME = {teller.name: teller for teller in TELLERS}

"""All encoders: every variant in which the kit writes a workload."""

from tests.conformance.encode_datastream import DatastreamAvro, DatastreamJson
from tests.conformance.encode_debezium import Flat, Mysql, Postgresql
from tests.conformance.encode_debezium_commits import Db2, Oracle, Sqlserver, Vitess, Yugabytedb
from tests.conformance.encode_dms import Dms
from tests.conformance.encode_dts import Canal, Shareplex
from tests.conformance.encode_dts_avro import DtsMysql, DtsPostgresql
from tests.conformance.encode_framed import MysqlFramed, PostgresqlFramed
from tests.conformance.encode_goldengate import GoldenGate
from tests.conformance.encode_maxwell import Maxwell
from tests.conformance.encode_rows import Rows
from tests.conformance.encode_spanner import Spanner
from tests.conformance.encode_spanner_avro import SpannerAvro
from tests.conformance.encode_ticdc import Ticdc
from tests.conformance.encoder import Encoder

ENCODERS: tuple[Encoder, ...] = (
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
    Maxwell(positions=False),
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
BY_NAME = {encoder.name: encoder for encoder in ENCODERS}

"""One key's versions, its latest row and the run's changes in one order: all checks of a key share one shuffle."""

from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.table.catalog import quoted

KINDS = ("version", "latest", "change", "read")


@dataclass(frozen=True)
class Columns:
    """The columns of one table: the key's; the others that all its tables share; those that images are compared on."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    compared: dict[str, T.DataType]

    @classmethod
    def of(cls, changes: T.StructType, history: T.StructType, latest: T.StructType) -> "Columns":
        """Read off the schemas of the three tables; every shared column is compared."""
        keys, row = struct_type(changes, "key"), struct_type(changes, "row")
        shared = set(row.names) & set(history.names) & set(latest.names) - set(keys.names)
        values = tuple(name for name in row.names if name in shared)
        return cls(tuple(keys.names), values, {name: row[name].dataType for name in values})

    def comparing(self, compared: frozenset[str]) -> "Columns":
        """The same columns, with images compared on these only."""
        return replace(self, compared={name: kind for name, kind in self.compared.items() if name in compared})


def struct_type(schema: T.StructType, name: str) -> T.StructType:
    """The type of a column that is a struct."""
    kind = schema[name].dataType
    if not isinstance(kind, T.StructType):
        raise TypeError(f"Cannot read the changes: column {name} is no struct ({kind.simpleString()}).")
    return kind


def version_rows(history: DataFrame, columns: Columns) -> DataFrame:
    """History rows as rows of the timeline.

    Needs: history rows. Gives: key, version. Rows: 1:1.
    """
    version = F.struct(
        F.col(names.VALID_FROM).alias("valid_from"),
        F.col(names.VALID_TO).alias("valid_to"),
        F.col(names.IS_CURRENT).alias("is_current"),
        F.col(names.OP).alias("op"),
        F.col(names.POSITION).alias("position"),
        F.col(names.UNKNOWN).alias("unknown"),
        F.col(names.RESCUED).alias("rescued"),
        fingerprint(columns).alias("fingerprint"),
        F.struct(*[F.col(quoted(name)).alias(name) for name in columns.compared]).alias("image"),
    )
    return history.select(key_struct(columns), version.alias("version"))


def latest_rows(latest: DataFrame, columns: Columns) -> DataFrame:
    """Rows of the latest table as rows of the timeline.

    Needs: latest rows. Gives: key, latest. Rows: 1:1.
    """
    row = F.struct(F.col(names.POSITION).alias("position"), fingerprint(columns).alias("fingerprint"))
    return latest.select(key_struct(columns), row.alias("latest"))


def change_rows(changes: DataFrame, columns: Columns, trust_deletes: bool) -> DataFrame:
    """Streamed changes of single keys as rows of the timeline.

    Needs: the change schema. Gives: key, change. Rows: filters out READs and truncates.
    `trust_deletes`: whether the before image of a delete is taken for the whole row.
    """
    before = F.struct(*[F.col("before")[name].alias(name) for name in columns.compared])
    whole = carries_before(columns) & (F.lit(trust_deletes) | (F.col("op") != names.OP_DELETE))
    change = F.struct(
        "position",
        "op",
        "commit_ts",
        "tx_id",
        "tx_order",
        "present",
        "content_hash",
        "rescued",
        F.col("old_key").isNotNull().alias("takes_key"),
        ((F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull()).alias("gives_key"),
        F.when(whole, before).alias("before"),
    )
    return changes.where(is_streamed() & F.col("key").isNotNull()).select("key", change.alias("change"))


def read_rows(reads: DataFrame) -> DataFrame:
    """Snapshot READs as rows of the timeline: from where on they vouch for their key.

    Needs: key, position, and low_ts, low_position, close as `attach_windows` gives them.
    Gives: key, read. Rows: 1:1.
    """
    since = F.coalesce(F.least("low_position", "close"), F.lit(""))
    return reads.select("key", F.struct(since.alias("position"), "low_ts").alias("read"))


def is_streamed() -> Column:
    """True for what the stream carries: no snapshot READ."""
    return (F.col("origin") == names.ORIGIN_STREAM) & (F.col("op") != names.OP_READ)


def carries_before(columns: Columns) -> Column:
    """True when the before image is the whole row. One that holds nothing but fallbacks tells only the key."""
    told = [~is_fallback(F.col("before")[name], kind) for name, kind in columns.compared.items()]
    whole = F.array_contains(F.array(*told), True) if told else F.lit(False)
    changes_row = F.col("op").isin(names.OP_UPDATE, names.OP_DELETE)
    return changes_row & F.col("before").isNotNull() & ((F.col("op") == names.OP_UPDATE) | whole)


def is_fallback(value: Column, kind: T.DataType) -> Column:
    """True for null and for what a connector writes into a column that must not be null and is not known."""
    if isinstance(kind, T.NumericType):
        fallback = value == 0
    elif isinstance(kind, T.BooleanType):
        fallback = ~value
    elif isinstance(kind, T.StringType):
        fallback = value.isin("", "0", "{}") | value.startswith("1970-01-01") | value.startswith("00:00:00")
    elif isinstance(kind, T.BinaryType):
        fallback = F.length(value) == 0
    elif isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType):
        fallback = F.to_date(value) == F.lit("1970-01-01")
    elif isinstance(kind, T.ArrayType):
        fallback = F.size(value) == 0
    else:
        fallback = F.lit(False)
    return F.coalesce(fallback, F.lit(True))


def fingerprint(columns: Columns) -> Column:
    """A hash of a row's values that tells null from absent, with its validity and position."""
    values = [F.col(quoted(name)) for name in (*columns.values, names.VALID_FROM, names.POSITION)]
    return F.xxhash64(*values, *[value.isNull() for value in values])


def key_struct(columns: Columns) -> Column:
    """The key of a history or latest row, as changes have it."""
    return F.struct(*[F.col(quoted(name)).alias(name) for name in columns.keys]).alias("key")


def timeline(versions: DataFrame, latest: DataFrame, changes: DataFrame, reads: DataFrame | None) -> DataFrame:
    """Put the rows of each key in order, and tell each row what lies around it.

    Needs: rows as `version_rows`, `latest_rows`, `change_rows` and `read_rows` give them (no READs: None).
    Gives: the columns of `around_key`, then state (the last version that a change at a smaller position left), previous
        (the change before), changes_before (how many there are), has_opened (whether the change opened a version).
    Rows: 1:1.
    """
    united = versions.unionByName(latest, allowMissingColumns=True).unionByName(changes, allowMissingColumns=True)
    if reads is None:
        united = united.withColumn("read", F.lit(None).cast("struct<position: string, low_ts: timestamp>"))
    else:
        united = united.unionByName(reads, allowMissingColumns=True)
    return united.select("key", *KINDS).transform(around_key).transform(around_change)


def around_key(rows: DataFrame) -> DataFrame:
    """Chain the versions of a key in time, and count what the key has.

    Needs: key, version, latest, change, read.
    Gives: the same, then place and link (where the row stands among the key's changes), earlier (the bounds of the
        version before), is_last, versions, opened, changes, latest_count, latest_row, read_from, read_low_ts (since
        when READs vouch for the key), given, taken (transactions that gave the key to or took it from another row).
    Rows: 1:1. A version without a position of its own stands where the version before it does.
    """
    whole = Window.partitionBy("key")
    in_time = whole.orderBy(
        F.col("version").isNull(),
        F.col("version.valid_from").asc_nulls_first(),
        F.col("version.valid_to").asc_nulls_last(),
        F.col("version.position").asc_nulls_first(),
    )
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_version = F.col("version").isNotNull()
    bounds = F.struct("version.valid_from", "version.valid_to", "version.position")
    reached = F.coalesce(F.max("version.position").over(so_far), F.lit(""))
    is_insert = F.col("change.op") == names.OP_INSERT
    return rows.select(
        *rows.columns,
        F.when(is_version, reached).otherwise(F.col("change.position")).alias("place"),
        F.row_number().over(in_time).alias("link"),
        F.when(is_version, F.lag(bounds).over(in_time)).alias("earlier"),
        F.count("version").over(whole).alias("versions"),
        F.count_if(is_version & F.col("version.valid_to").isNull()).over(whole).alias("opened"),
        F.count("change").over(whole).alias("changes"),
        F.count("latest").over(whole).alias("latest_count"),
        F.max("latest").over(whole).alias("latest_row"),
        F.min("read.position").over(whole).alias("read_from"),
        F.min("read.low_ts").over(whole).alias("read_low_ts"),
        F.collect_set(F.when(F.col("change.gives_key"), F.col("change.tx_id"))).over(whole).alias("given"),
        F.collect_set(F.when(is_insert, F.col("change.tx_id"))).over(whole).alias("taken"),
    )


def around_change(rows: DataFrame) -> DataFrame:
    """Tell each change the state it met: a version that begins at its own position is what it left behind.

    Needs: the columns of `around_key`.
    Gives: the same, then state, previous, changes_before, has_opened.
    Rows: 1:1.
    """
    in_order = Window.partitionBy("key").orderBy(
        F.col("place").asc_nulls_first(),
        F.col("version").isNotNull(),
        (F.col("change.op") != names.OP_DELETE).asc_nulls_first(),
        F.col("change.op").asc_nulls_first(),
        F.col("change.content_hash").asc_nulls_first(),
        F.col("link"),
    )
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    previous = F.struct("change.position", "change.op", "change.content_hash")
    opens_here = (F.col("version.position") == F.col("place")) & (F.col("version.op") != names.OP_READ)
    return rows.select(
        *rows.columns,
        F.last("version", ignorenulls=True).over(before).alias("state"),
        F.when(F.col("change").isNotNull(), F.lag(previous).over(in_order)).alias("previous"),
        F.count("change").over(before).alias("changes_before"),
        (F.count_if(opens_here).over(Window.partitionBy("key", "place")) > 0).alias("has_opened"),
    )

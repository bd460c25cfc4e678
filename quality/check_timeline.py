"""One key's versions, its latest row and the run's changes in one order: all checks of a key share one shuffle.

The first look carries hashes of images, so that its rows are narrow; a closer look at few keys carries the images.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.names import quoted
from siltstone.engine.ordering.tie_breaking import (
    Tied,
    end_of,
    partition_offset,
    start_of,
    transaction_order,
    with_turns,
)

KINDS = ("version", "latest", "change", "read")
READ_SCHEMA = "struct<position: string, low_ts: timestamp>"


@dataclass(frozen=True)
class Columns:
    """The columns of one table: the key's; the others that all its tables share; those that images are compared on.

    `masked`: those of which images hold no value of the source. `image`: all of an image, keys among them.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    compared: dict[str, T.DataType]
    keyless: bool = False
    masked: frozenset[str] = frozenset()
    image: tuple[str, ...] = ()

    @classmethod
    def of(cls, changes: T.StructType, history: T.StructType, latest: T.StructType) -> "Columns":
        """Read off the schemas of the three tables; every shared column is compared, as its type says: a column that is
        text among the changes, and typed in history, by history's type.

        Of a table without a key, a row is known by the whole of it and by its number among equal ones.
        """
        keys, row = struct_type(changes, "key"), struct_type(changes, "row")
        shared = set(row.names) & set(history.names) & set(latest.names) - set(keys.names)
        values = tuple(name for name in row.names if name in shared)
        keyless = names.COPY in history.names
        known_by = (*keys.names, names.COPY) if keyless else tuple(keys.names)
        kinds = {name: typed(row[name].dataType, history[name].dataType) for name in values}
        return cls(known_by, values, kinds, keyless, image=tuple(row.names))

    def comparing(self, compared: frozenset[str], masked: frozenset[str] = frozenset()) -> "Columns":
        """The same columns, with images compared on these only, and some of them masked."""
        kinds = {name: kind for name, kind in self.compared.items() if name in compared}
        return replace(self, compared=kinds, masked=masked)


@dataclass(frozen=True)
class Look:
    """How rows are looked at: on which columns; with the images, or their hashes only; with keys that change hands.

    `skew`: by how much clocks may differ.
    """

    columns: Columns
    closely: bool = False
    trusts_deletes: bool = True
    swaps: bool = True
    skew: timedelta = timedelta(seconds=5)


def struct_type(schema: T.StructType, name: str) -> T.StructType:
    """The type of a column that is a struct."""
    kind = schema[name].dataType
    if not isinstance(kind, T.StructType):
        raise TypeError(f"Cannot read the changes: column {name} is no struct ({kind.simpleString()}).")
    return kind


def typed(one: T.DataType, other: T.DataType) -> T.DataType:
    """The type to compare values of two columns by: the first, unless that is text and the other says more."""
    return other if isinstance(one, T.StringType) else one


def before_value(name: str, kind: T.DataType) -> Column:
    """A column's value in the before image, as the type to compare it by; null where it is none of that type."""
    return F.col("before")[name].try_cast(kind)


def version_rows(history: DataFrame, look: Look) -> DataFrame:
    """History rows as rows of the timeline.

    Needs: history rows. Gives: key, version. Rows: 1:1.
    """
    compared = look.columns.compared
    image = {name: F.col(quoted(name)).cast(kind) for name, kind in compared.items()}
    closer = [
        F.struct(*[value.alias(name) for name, value in image.items()]).alias("image"),
        F.col(names.UNKNOWN).alias("unknown"),
        F.col(names.RESCUED).alias("rescued"),
    ]
    version = F.struct(
        F.col(names.VALID_FROM).alias("valid_from"),
        F.col(names.VALID_TO).alias("valid_to"),
        F.col(names.IS_CURRENT).alias("is_current"),
        F.col(names.OP).alias("op"),
        F.col(names.POSITION).alias("position"),
        F.col(names.LAST_POSITION).alias("last_position"),
        hashed([F.col(quoted(name)) for name in look.columns.values]).alias("row_hash"),
        hashed(list(image.values())).alias("image_hash"),
        *(closer if look.closely else []),
    )
    return history.select(key_struct(look.columns), version.alias("version"))


def latest_rows(latest: DataFrame, look: Look) -> DataFrame:
    """Rows of the latest table as rows of the timeline.

    Needs: latest rows. Gives: key, latest. Rows: 1:1.
    """
    row = F.struct(
        F.col(names.VALID_FROM).alias("valid_from"),
        F.col(names.POSITION).alias("position"),
        hashed([F.col(quoted(name)) for name in look.columns.values]).alias("row_hash"),
    )
    return latest.select(key_struct(look.columns), row.alias("latest"))


def change_facts(columns: Columns) -> list[Column]:
    """What the checks ask of a change: of its before image, where that is whole, only a hash."""
    image = [before_value(name, kind) for name, kind in columns.compared.items()]
    return [
        *[F.col(name) for name in ("position", "op", "commit_ts", "ingest_ts", "content_hash", "tx_id")],
        transaction_order().alias("tx_order"),
        partition_offset(~is_streamed()).alias("offset"),
        start_of(F.col("op"), F.col("before"), columns.image).alias("starts"),
        end_of(F.col("op"), F.col("row"), F.col("present"), columns.image).alias("ends"),
        F.when(carries_before(columns), hashed(image)).alias("before_hash"),
        F.col("old_key").isNotNull().alias("takes_key"),
        gives_key().alias("gives_key"),
    ]


def with_images(changes: DataFrame, columns: Columns) -> DataFrame:
    """Changes for a closer look.

    Needs: the change schema. Gives: key, origin, the columns of `change_facts`, before, present, rescued. Rows: 1:1.
    """
    image = F.struct(*[before_value(name, kind).alias(name) for name, kind in columns.compared.items()])
    return changes.select("key", "origin", *change_facts(columns), image.alias("before"), "present", "rescued")


def change_rows(changes: DataFrame, look: Look) -> DataFrame:
    """Streamed changes of single keys as rows of the timeline.

    Needs: the digest; for a closer look what `with_images` gives.
    Gives: key, change. Rows: filters out READs and truncates.
    """
    is_told = F.lit(look.trusts_deletes) | (F.col("op") != names.OP_DELETE)
    change = F.struct(
        *("position", "op", "commit_ts", "ingest_ts", "content_hash", "tx_order", "offset", "starts", "ends"),
        F.when(is_told, F.col("before_hash")).alias("before_hash"),
        (F.col("tx_id") if look.swaps or look.closely else no_text()).alias("tx_id"),
        *("takes_key", "gives_key"),
        *(("before", "present", "rescued") if look.closely else ()),
    )
    return changes.where(is_streamed() & F.col("key").isNotNull()).select("key", change.alias("change"))


def read_rows(reads: DataFrame) -> DataFrame:
    """Snapshot READs as rows of the timeline: from where on they vouch for their key.

    Needs: key, position, and low_ts, low_position, close as `attach_windows` gives them.
    Gives: key, read. Rows: 1:1.
    """
    since = F.coalesce(F.least("low_position", "close"), F.lit(""))
    return reads.select("key", F.struct(since.alias("position"), "low_ts").cast(READ_SCHEMA).alias("read"))


def is_streamed() -> Column:
    """True for what the stream carries: no snapshot READ."""
    return (F.col("origin") != names.ORIGIN_SNAPSHOT) & (F.col("op") != names.OP_READ)


def gives_key() -> Column:
    """True for the delete half of a key change."""
    return (F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull()


def has_before(columns: Columns) -> Column:
    """True when there is a before image."""
    return F.col("before").isNotNull() if columns.keys else F.lit(False)


def carries_before(columns: Columns) -> Column:
    """True when the before image is the whole row. One that holds nothing but fallbacks tells only the key.

    What a mask makes of a fallback looks like any other value.
    """
    plain = {name: kind for name, kind in columns.compared.items() if name not in columns.masked}
    told = [~is_fallback(before_value(name, kind), kind) for name, kind in plain.items()]
    whole = F.array_contains(F.array(*told), True) if told else F.lit(False)
    is_update = F.col("op") == names.OP_UPDATE
    return F.col("before").isNotNull() & (is_update | ((F.col("op") == names.OP_DELETE) & whole))


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


def hashed(values: list[Column]) -> Column:
    """A hash that tells null from absent: Spark's own passes nulls over."""
    return F.xxhash64(*values, *[value.isNull() for value in values]) if values else F.lit(0).cast("bigint")


def key_struct(columns: Columns) -> Column:
    """The key of a history or latest row, as changes have it."""
    return F.struct(*[F.col(quoted(name)).alias(name) for name in columns.keys]).alias("key")


def timeline(versions: DataFrame, latest: DataFrame, changes: DataFrame, reads: DataFrame | None) -> DataFrame:
    """Put the rows of each key beside each other, its versions in time.

    Needs: rows as `version_rows`, `latest_rows`, `change_rows` and `read_rows` give them (no READs: None).
    Gives: the columns of `in_time`.
    Rows: 1:1.
    """
    united = versions.unionByName(latest, allowMissingColumns=True).unionByName(changes, allowMissingColumns=True)
    if reads is None:
        united = united.withColumn("read", F.lit(None).cast(READ_SCHEMA))
    else:
        united = united.unionByName(reads, allowMissingColumns=True)
    # Sorting by a number first is what Spark does fast; keys are compared only where their hashes are the same.
    hashed_keys = F.xxhash64(*[F.col("key")[name] for name in struct_type(united.schema, "key").names])
    return united.select(hashed_keys.alias("key_hash"), "key", *KINDS).transform(in_time)


def no_text() -> Column:
    """No text at all."""
    return F.lit(None).cast("string")


def so_far(order: WindowSpec) -> WindowSpec:
    """From the key's first row to the current one."""
    return order.rowsBetween(Window.unboundedPreceding, Window.currentRow)


def in_time(rows: DataFrame) -> DataFrame:
    """Chain the versions of a key in time, after everything else that the key has.

    Needs: key, version, latest, change, read.
    Gives: the same, then earlier (the bounds of the version before; of versions only), place (where the row stands
        among the key's changes), is_last (true on one row a key), versions, opened, changes, latest_count, latest_row
        (how many the key has, the row itself; of use on the last row).
    Rows: 1:1. A version without a position of its own stands where the version before it does.
    """
    is_version = F.col("version").isNotNull()
    order = Window.partitionBy("key_hash", "key").orderBy(is_version, *version_order())
    running = so_far(order)
    bounds = F.struct("version.valid_from", "version.valid_to", "version.position", is_version.alias("is_version"))
    reached = F.coalesce(F.max("version.position").over(running), F.lit(""))
    return rows.select(
        *rows.columns,
        F.when(is_version, F.lag(bounds).over(order)).alias("earlier"),
        F.when(is_version, reached).otherwise(F.col("change.position")).alias("place"),
        F.lead(F.lit(True)).over(order).isNull().alias("is_last"),
        F.count("version").over(running).alias("versions"),
        F.count_if(is_version & F.col("version.valid_to").isNull()).over(running).alias("opened"),
        F.count("change").over(running).alias("changes"),
        F.count("latest").over(running).alias("latest_count"),
        F.last("latest", ignorenulls=True).over(running).alias("latest_row"),
    )


def version_order() -> list[Column]:
    """The order of a key's versions, those that lasted no time among them.

    How far the log was read never steps back. A row that gives its key up goes before the one that takes it, wherever
    the log has them: it stands there, with a position of its own that is farther.
    """
    return [
        F.col("version.valid_from").asc_nulls_first(),
        F.col("version.valid_to").asc_nulls_last(),
        F.col("version.last_position").asc_nulls_first(),
        F.coalesce(F.col("version.position") <= F.col("version.last_position"), F.lit(True)),
        F.col("version.position").asc_nulls_first(),
    ]


def in_order(rows: DataFrame) -> DataFrame:
    """Tell each change the state it met: a version that begins at its own position is what it left behind.

    Changes at one position stand as the fold has them: halves that give their key up, then by their order inside the
    transaction, by the first offset of each, or in the chain of their ops and images (`engine.ordering.tie_breaking`). Only the
    first of them met a version; what the next ones met is what that one left, and no version says it.

    Needs: key_hash, key, version, change, read, place.
    Gives: the same, then state (the last version before; null where that is not what was met), changes_before,
        committed (the greatest commit time of streamed changes and versions before), previous and following (the rows
        beside it), read_from and read_low_ts (since when READs vouch for the key).
    Rows: 1:1.
    """
    place = [F.col(name) for name in ("key_hash", "key", "place")]
    is_streamed = F.col("change.position").isNotNull()
    tied = Tied(
        is_tied=is_streamed & F.col("change.tx_order").isNull() & F.col("change.offset").isNull(),
        op=F.col("change.op"),
        content=F.col("change.content_hash"),
        starts=F.col("change.starts"),
        ends=F.col("change.ends"),
    )
    copies = Window.partitionBy(*place, *[F.col(f"change.{name}") for name in ("op", "content_hash", "tx_order")])
    first_offset = F.min("change.offset").over(copies)
    ordered = with_turns(rows, [*place, F.col("change.gives_key")], tied).withColumn("first_offset", first_offset)
    at_place = [
        F.col("version").isNotNull(),
        F.col("change.gives_key").desc_nulls_last(),
        F.col("change.tx_order").asc_nulls_last(),
        F.col("first_offset").asc_nulls_last(),
        F.col("turn").asc_nulls_last(),
        F.col("change.content_hash").asc_nulls_first(),
        *version_order(),
    ]
    order = Window.partitionBy("key_hash", "key").orderBy(F.col("place").asc_nulls_first(), *at_place)
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    # The rows lie in this order already: no other sort.
    first = F.first(same_change()).over(so_far(Window.partitionBy("key_hash", "key", "place").orderBy(*at_place)))
    beside = F.struct(
        F.coalesce("change.position", "version.position").alias("position"),
        F.coalesce("change.op", "version.op").alias("op"),
        "change.content_hash",
        F.col("change").isNotNull().alias("is_change"),
    )
    streamed_ts = F.coalesce(
        "change.commit_ts", F.when(F.col("version.op") != names.OP_READ, F.col("version.valid_from"))
    )
    return ordered.select(
        *rows.columns,
        F.when(first.eqNullSafe(same_change()), F.last("version", ignorenulls=True).over(before)).alias("state"),
        F.count("change").over(before).alias("changes_before"),
        F.max(streamed_ts).over(before).alias("committed"),
        F.lag(beside).over(order).alias("previous"),
        F.lead(beside).over(order).alias("following"),
        F.min("read.position").over(so_far(order)).alias("read_from"),
        F.min("read.low_ts").over(so_far(order)).alias("read_low_ts"),
    )


def same_change() -> Column:
    """What copies of a change at one position have in common."""
    return F.struct("change.op", "change.content_hash", "change.tx_order")


def traders(rows: DataFrame, swaps: bool) -> DataFrame:
    """Name the transactions in which a key changed hands; without `swaps` none did.

    Needs: key, change. Gives: the same columns, then given (transactions whose row gave the key up), taken (those whose
    row was inserted under it). Rows: 1:1.
    """
    if not swaps:
        none = F.lit(None).cast("array<string>")
        return rows.select("*", none.alias("given"), none.alias("taken"))
    whole = Window.partitionBy("key_hash", "key")
    is_insert = F.col("change.op") == names.OP_INSERT
    return rows.select(
        *rows.columns,
        F.collect_set(F.when(F.col("change.gives_key"), F.col("change.tx_id"))).over(whole).alias("given"),
        F.collect_set(F.when(is_insert, F.col("change.tx_id"))).over(whole).alias("taken"),
    )

"""The versions, the latest row and the changes of each key in one order: all checks of a key share one shuffle.

The first pass has hashes of images, so that its rows are narrow. The second pass, over few keys, has the images.
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
    """The columns of one table: its keys, the other columns that all its tables share, the compared columns.

    `masked`: the columns whose images have masked values. `image`: all columns of an image, keys included.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    compared: dict[str, T.DataType]
    keyless: bool = False
    masked: frozenset[str] = frozenset()
    image: tuple[str, ...] = ()

    @classmethod
    def of(cls, changes: T.StructType, history: T.StructType, latest: T.StructType) -> "Columns":
        """The columns that the three tables share. Each is compared by its type; a column that is text in
        changes and typed in history is compared by the type in history.

        A table without a key identifies a row by all its columns and its number among equal rows.
        """
        keys, row = struct_type(changes, "key"), struct_type(changes, "row")
        shared = set(row.names) & set(history.names) & set(latest.names) - set(keys.names)
        values = tuple(name for name in row.names if name in shared)
        keyless = names.COPY in history.names
        identifiers = (*keys.names, names.COPY) if keyless else tuple(keys.names)
        kinds = {name: typed(row[name].dataType, history[name].dataType) for name in values}
        return cls(identifiers, values, kinds, keyless, image=tuple(row.names))

    def comparing(self, compared: frozenset[str], masked: frozenset[str] = frozenset()) -> "Columns":
        """The same columns, with images compared on these only, and some of them masked."""
        kinds = {name: kind for name, kind in self.compared.items() if name in compared}
        return replace(self, compared=kinds, masked=masked)


@dataclass(frozen=True)
class TimelineOptions:
    """The options of a timeline.

    `has_images`: rows have the images, not only their hashes. `trusts_deletes`: the before images of deletes are
    complete. `has_key_swaps`: some rows give their key to another row. `skew`: by how much clocks may differ.
    """

    columns: Columns
    has_images: bool = False
    trusts_deletes: bool = True
    has_key_swaps: bool = True
    skew: timedelta = timedelta(seconds=5)


def struct_type(schema: T.StructType, name: str) -> T.StructType:
    """The type of a struct column."""
    kind = schema[name].dataType
    if not isinstance(kind, T.StructType):
        raise TypeError(f"Cannot read the changes: column {name} is no struct ({kind.simpleString()}).")
    return kind


def typed(one: T.DataType, other: T.DataType) -> T.DataType:
    """The type by which values of two columns are compared: the first, or the other if the first is text."""
    return other if isinstance(one, T.StringType) else one


def before_value(name: str, kind: T.DataType) -> Column:
    """A column's value in the before image, cast to the type by which it is compared; null if the cast fails."""
    return F.col("before")[name].try_cast(kind)


def version_rows(history: DataFrame, options: TimelineOptions) -> DataFrame:
    """History rows as rows of the timeline.

    Needs: history rows. Gives: key, version. Rows: 1:1.
    """
    compared = options.columns.compared
    image = {name: F.col(quoted(name)).cast(kind) for name, kind in compared.items()}
    images = [
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
        hashed([F.col(quoted(name)) for name in options.columns.values]).alias("row_hash"),
        hashed(list(image.values())).alias("image_hash"),
        *(images if options.has_images else []),
    )
    return history.select(key_struct(options.columns), version.alias("version"))


def latest_rows(latest: DataFrame, options: TimelineOptions) -> DataFrame:
    """Rows of the latest table as rows of the timeline.

    Needs: latest rows. Gives: key, latest. Rows: 1:1.
    """
    row = F.struct(
        F.col(names.VALID_FROM).alias("valid_from"),
        F.col(names.POSITION).alias("position"),
        hashed([F.col(quoted(name)) for name in options.columns.values]).alias("row_hash"),
    )
    return latest.select(key_struct(options.columns), row.alias("latest"))


def change_facts(columns: Columns) -> list[Column]:
    """The facts of a change that the checks need. A complete before image is reduced to a hash."""
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
    """Changes with their images, for the second pass.

    Needs: the change schema. Gives: key, origin, the columns of `change_facts`, before, present, rescued. Rows: 1:1.
    """
    image = F.struct(*[before_value(name, kind).alias(name) for name, kind in columns.compared.items()])
    return changes.select("key", "origin", *change_facts(columns), image.alias("before"), "present", "rescued")


def change_rows(changes: DataFrame, options: TimelineOptions) -> DataFrame:
    """Streamed changes of single keys as rows of the timeline.

    Needs: the digest; with `has_images`, what `with_images` gives.
    Gives: key, change. Rows: filters out READs and truncates.
    """
    is_complete = F.lit(options.trusts_deletes) | (F.col("op") != names.OP_DELETE)
    change = F.struct(
        *("position", "op", "commit_ts", "ingest_ts", "content_hash", "tx_order", "offset", "starts", "ends"),
        F.when(is_complete, F.col("before_hash")).alias("before_hash"),
        (F.col("tx_id") if options.has_key_swaps or options.has_images else no_text()).alias("tx_id"),
        *("takes_key", "gives_key"),
        *(("before", "present", "rescued") if options.has_images else ()),
    )
    return changes.where(is_streamed() & F.col("key").isNotNull()).select("key", change.alias("change"))


def read_rows(reads: DataFrame) -> DataFrame:
    """Snapshot READs as rows of the timeline: the position and time from which they prove that their key existed.

    Needs: key, position, and low_ts, low_position, close as `attach_windows` gives them.
    Gives: key, read. Rows: 1:1.
    """
    since = F.coalesce(F.least("low_position", "close"), F.lit(""))
    return reads.select("key", F.struct(since.alias("position"), "low_ts").cast(READ_SCHEMA).alias("read"))


def is_streamed() -> Column:
    """True for streamed changes: all but snapshot READs."""
    return (F.col("origin") != names.ORIGIN_SNAPSHOT) & (F.col("op") != names.OP_READ)


def gives_key() -> Column:
    """True for the delete half of a key change."""
    return (F.col("op") == names.OP_DELETE) & F.col("new_key").isNotNull()


def has_before(columns: Columns) -> Column:
    """True when there is a before image."""
    return F.col("before").isNotNull() if columns.keys else F.lit(False)


def carries_before(columns: Columns) -> Column:
    """True when the before image is the complete row. A before image with fallback values only has nothing but the key.

    Masked columns are not considered: a masked fallback value looks like any other value.
    """
    plain = {name: kind for name, kind in columns.compared.items() if name not in columns.masked}
    has_values = [~is_fallback(before_value(name, kind), kind) for name, kind in plain.items()]
    whole = F.array_contains(F.array(*has_values), True) if has_values else F.lit(False)
    is_update = F.col("op") == names.OP_UPDATE
    return F.col("before").isNotNull() & (is_update | ((F.col("op") == names.OP_DELETE) & whole))


def is_fallback(value: Column, kind: T.DataType) -> Column:
    """True for null and for the values that a connector writes into a NOT NULL column whose value it does not know."""
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
    """A hash that includes which values are null: Spark's xxhash64 skips nulls."""
    return F.xxhash64(*values, *[value.isNull() for value in values]) if values else F.lit(0).cast("bigint")


def key_struct(columns: Columns) -> Column:
    """The key of a history or latest row, as a struct like the key of a change."""
    return F.struct(*[F.col(quoted(name)).alias(name) for name in columns.keys]).alias("key")


def timeline(versions: DataFrame, latest: DataFrame, changes: DataFrame, reads: DataFrame | None) -> DataFrame:
    """Union the rows of each key, with its versions in order of time.

    Needs: rows as `version_rows`, `latest_rows`, `change_rows` and `read_rows` give them (`reads`: None if there are no
        READs).
    Gives: the columns of `in_time`.
    Rows: 1:1.
    """
    united = versions.unionByName(latest, allowMissingColumns=True).unionByName(changes, allowMissingColumns=True)
    if reads is None:
        united = united.withColumn("read", F.lit(None).cast(READ_SCHEMA))
    else:
        united = united.unionByName(reads, allowMissingColumns=True)
    # Spark sorts fastest by a number first. It compares keys only where their hashes are equal.
    hashed_keys = F.xxhash64(*[F.col("key")[name] for name in struct_type(united.schema, "key").names])
    return united.select(hashed_keys.alias("key_hash"), "key", *KINDS).transform(in_time)


def no_text() -> Column:
    """A null string."""
    return F.lit(None).cast("string")


def so_far(order: WindowSpec) -> WindowSpec:
    """The frame from the key's first row to the current row."""
    return order.rowsBetween(Window.unboundedPreceding, Window.currentRow)


def in_time(rows: DataFrame) -> DataFrame:
    """Link the versions of a key in order of time, after all its other rows.

    Needs: key, version, latest, change, read.
    Gives: the same, then earlier (the bounds of the previous version; only for versions), place (the position by which
        the row is ordered among the key's changes), is_last (true on one row per key), versions, opened, changes,
        latest_count (running counts), latest_row. The counts and latest_row are complete on the last row.
    Rows: 1:1. A version without a position of its own has the place of the version before it.
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
    """The order of a key's versions, including those of zero duration.

    `last_position` never decreases. A row that gives up its key comes before the row that takes the key, whatever
    their positions are: such a version has a `position` greater than its `last_position`.
    """
    return [
        F.col("version.valid_from").asc_nulls_first(),
        F.col("version.valid_to").asc_nulls_last(),
        F.col("version.last_position").asc_nulls_first(),
        F.coalesce(F.col("version.position") <= F.col("version.last_position"), F.lit(True)),
        F.col("version.position").asc_nulls_first(),
    ]


def in_order(rows: DataFrame) -> DataFrame:
    """Add to each change the version that it was applied to. A version at the change's own position is its result.

    Changes at one position are in the order of the fold: first those that give up their key, then by their order in the
    transaction, by the first offset of each, or by the chain of their ops and images
    (`engine.ordering.tie_breaking`). Only the first of them was applied to a version. The others were applied to the
    result of the one before, and no version records that result.

    Needs: key_hash, key, version, change, read, place.
    Gives: the same, then state (the version that the change was applied to; null if no version records it),
        changes_before, committed (the greatest commit time of earlier streamed changes and versions), previous and
        following (the neighbouring rows), read_from and read_low_ts (from where READs prove that the key existed).
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
    # The rows are already in this order: Spark does not sort a second time.
    first = F.first(same_change()).over(so_far(Window.partitionBy("key_hash", "key", "place").orderBy(*at_place)))
    neighbour = F.struct(
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
        F.lag(neighbour).over(order).alias("previous"),
        F.lead(neighbour).over(order).alias("following"),
        F.min("read.position").over(so_far(order)).alias("read_from"),
        F.min("read.low_ts").over(so_far(order)).alias("read_low_ts"),
    )


def same_change() -> Column:
    """The values that copies of one change at one position have in common."""
    return F.struct("change.op", "change.content_hash", "change.tx_order")


def with_key_swaps(rows: DataFrame, has_key_swaps: bool) -> DataFrame:
    """Add the transactions in which a key moved from one row to another. Without `has_key_swaps` there are none.

    Needs: key, change. Gives: the same columns, then given (the transactions in which a row gave up the key), taken
    (those in which a row was inserted with it). Rows: 1:1.
    """
    if not has_key_swaps:
        none = F.lit(None).cast("array<string>")
        return rows.select("*", none.alias("given"), none.alias("taken"))
    whole = Window.partitionBy("key_hash", "key")
    is_insert = F.col("change.op") == names.OP_INSERT
    return rows.select(
        *rows.columns,
        F.collect_set(F.when(F.col("change.gives_key"), F.col("change.tx_id"))).over(whole).alias("given"),
        F.collect_set(F.when(is_insert, F.col("change.tx_id"))).over(whole).alias("taken"),
    )

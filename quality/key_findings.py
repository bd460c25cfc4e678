"""The checks of single keys, from a timeline: broken chains, orphans, double inserts, versions and latest rows."""

import json
from collections.abc import Collection
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.quality import catalogue
from siltstone.quality.check_timeline import TimelineOptions, in_order, with_key_swaps

SINGLE_PRECISION = 1e-5
# A timestamp as text: up to the second, the fraction of the second, the zone.
MOMENT: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
)


OF_CHANGES: Final = frozenset(
    {catalogue.CHAIN_BREAK, catalogue.ORPHAN, catalogue.DOUBLE_INSERT, catalogue.TIME_AGAINST_ORDER}
)


def key_findings(rows: DataFrame, options: TimelineOptions, checks: Collection[str]) -> DataFrame:
    """The findings of each key. Without images a broken chain is only suspected, and has no names of columns.

    Needs: the columns of `timeline`.
    Gives: check, position_from, position_to, message, tx_id, columns (those in which images differ), key.
    Rows: 1:n; most rows have no finding.
    """
    before, own = F.col("state.position"), F.col("change.position")
    version = F.col("version.position")
    texts = {
        catalogue.VERSIONS_TILE_TIME: (F.col("untiled"), F.col("earlier_position"), version),
        catalogue.LATEST_EQUALS_OPEN_VERSIONS: (
            F.col("unlike_latest"),
            version,
            F.coalesce(version, "latest_position"),
        ),
    }
    rows = rows.transform(with_table_faults)
    if OF_CHANGES & set(checks):
        texts |= {
            catalogue.CHAIN_BREAK: (chain_break(), before, own),
            catalogue.ORPHAN: (orphan(), own, own),
            catalogue.DOUBLE_INSERT: (double_insert(), before, own),
            catalogue.TIME_AGAINST_ORDER: (against_time(options), F.col("previous.position"), own),
        }
        rows = rows.transform(in_order).transform(with_key_swaps, options.has_key_swaps)
        rows = rows.withColumn("differing", differing_columns(options))
    else:
        rows = rows.withColumn("differing", F.lit(None).cast("array<string>"))
    texts = {check: parts for check, parts in texts.items() if check in checks}
    checked = rows.select("key", *[finding(check, *parts).alias(check) for check, parts in texts.items()])
    wrong = checked.where(F.coalesce(*[F.col(f"{check}.message") for check in texts]).isNotNull())
    found = wrong.select("key", F.explode(F.array(*texts)).alias("found")).where(F.col("found.message").isNotNull())
    details = ("check", "position_from", "position_to", "message", "tx_id", "columns")
    return found.select(*[F.col(f"found.{name}") for name in details], "key")


def with_table_faults(rows: DataFrame) -> DataFrame:
    """Add the faults of versions and latest rows, and drop the columns that only these two checks need.

    Needs: the columns of `timeline`.
    Gives: key_hash, key, version, change, read, place, untiled and unlike_latest (the fault, or null),
        earlier_position, latest_position (the positions of the fault).
    Rows: filters out latest rows without a fault.
    """
    checked = rows.select(
        *("key_hash", "key", "version", "change", "read", "place", "latest"),
        untiled().alias("untiled"),
        unlike_latest().alias("unlike_latest"),
        F.col("earlier.position").alias("earlier_position"),
        F.col("latest_row.position").alias("latest_position"),
    )
    is_faulty = F.col("untiled").isNotNull() | F.col("unlike_latest").isNotNull()
    return checked.where(F.col("latest").isNull() | is_faulty).select(
        *("key_hash", "key", "version", "change", "read", "place", "untiled", "unlike_latest"),
        F.when(is_faulty, F.col("earlier_position")).alias("earlier_position"),
        F.when(is_faulty, F.col("latest_position")).alias("latest_position"),
    )


def finding(check: str, message: Column, position_from: Column, position_to: Column) -> Column:
    """The finding of one check on a row; with a null message there is none."""
    return F.struct(
        F.lit(check).alias("check"),
        position_from.alias("position_from"),
        position_to.alias("position_to"),
        message.alias("message"),
        F.col("change.tx_id").alias("tx_id"),
        F.when(F.lit(check == catalogue.CHAIN_BREAK), F.col("differing")).alias("columns"),
    )


def is_last_copy() -> Column:
    """True for a change; if it was delivered more than once, only for the last copy, which precedes its version."""
    return F.col("change").isNotNull() & ~is_copied_by("following")


def is_copied_by(neighbour: str) -> Column:
    """True if the previous or the following row is a copy of the same change."""
    same = (
        (F.col(f"{neighbour}.position") == F.col("change.position"))
        & (F.col(f"{neighbour}.op") == F.col("change.op"))
        & F.col(f"{neighbour}.is_change")
        & F.col(f"{neighbour}.content_hash").eqNullSafe(F.col("change.content_hash"))
    )
    return F.coalesce(same, F.lit(False))


def in_transaction(transactions: str) -> Column:
    """True if the change's transaction is one of these."""
    return F.coalesce(F.array_contains(transactions, F.col("change.tx_id")), F.lit(False))


def is_in_earlier_read() -> Column:
    """True if an earlier READ already has the result of the change: no version begins with the change."""
    opens = (F.col("following.position") == F.col("change.position")) & (F.col("following.op") != names.OP_READ)
    return (F.col("state.op") == names.OP_READ) & ~F.coalesce(opens, F.lit(False))


def chain_break() -> Column:
    """A before image that differs from the previous version, on the columns that both have.

    Deletes of rows that pass on their key within one transaction are skipped: the fold assigns them, not their order.
    """
    fits = F.col("change.before_hash").isNotNull() & F.col("state").isNotNull()
    is_swap = F.col("change.gives_key") & in_transaction("taken")
    text = F.when(
        F.col("state.op") == names.OP_DELETE,
        F.concat(F.lit("the "), F.col("change.op"), F.lit(" changes a row that was deleted before it")),
    ).when(
        F.size("differing") > 0,
        F.concat(
            F.lit("the before image of the "),
            F.col("change.op"),
            F.lit(" differs from the version before it in "),
            F.array_join("differing", ", "),
        ),
    )
    return F.when(is_last_copy() & fits & ~is_swap & ~is_in_earlier_read(), text)


def differing_columns(options: TimelineOptions) -> Column:
    """The columns in which a before image and the previous version differ; one empty name if there are only hashes."""
    unlike = F.col("change.before_hash") != F.col("state.image_hash")
    differing = [F.when(differs(name, kind), F.lit(name)) for name, kind in options.columns.compared.items()]
    return F.when(unlike, F.array_compact(F.array(*differing)) if options.has_images else F.array(F.lit("")))


def differs(name: str, kind: T.DataType) -> Column:
    """True if a column that both the before image and the version have differs."""
    old, new = F.col("state.image")[name], F.col("change.before")[name]
    in_state = ~F.coalesce(F.array_contains("state.unknown", name), F.lit(False))
    in_change = F.col("change.present").isNull() | F.array_contains("change.present", name)
    kept = ~(is_rescued("state.rescued", name) | is_rescued("change.rescued", name))
    return ~old.eqNullSafe(new) & in_state & in_change & kept & ~F.coalesce(same_value(old, new, kind), F.lit(False))


def is_rescued(rescued: str, name: str) -> Column:
    """True if the column's value is in the rescue column: the column itself does not have the source's value."""
    return F.coalesce(F.col(rescued).contains(json.dumps(name, ensure_ascii=False) + ":"), F.lit(False))


def same_value(old: Column, new: Column, kind: T.DataType) -> Column:
    """True for two notations of one value: a snapshot query and the log round single floats, format JSON text and write
    fractions of a second differently."""
    if isinstance(kind, T.FloatType | T.DoubleType):
        near = F.abs(old - new) <= SINGLE_PRECISION * F.greatest(F.abs(old), F.abs(new))
        return near if isinstance(kind, T.FloatType) else near & (F.col("state.op") == names.OP_READ)
    if isinstance(kind, T.StringType):
        is_json = old.rlike(r"^\s*[\[{]") & new.rlike(r"^\s*[\[{]")
        return (is_json & (F.to_json(F.try_parse_json(old)) == F.to_json(F.try_parse_json(new)))) | same_moment(
            old, new
        )
    return F.lit(False)


def same_moment(old: Column, new: Column) -> Column:
    """True for two texts of one moment: 23Z and 23.000Z, or in two zones. Texts with and without a zone differ."""

    def digits(text: Column) -> Column:
        return F.rtrim(F.regexp_extract(text, MOMENT, 2), F.lit("0"))

    def second(text: Column, kind: str) -> Column:
        return F.regexp_replace(text, MOMENT, "$1$3").try_cast(kind)

    are_moments = old.rlike(MOMENT) & new.rlike(MOMENT) & (digits(old) == digits(new))
    is_zoned, is_zoned_too = (F.regexp_extract(text, MOMENT, 3) != "" for text in (old, new))
    zoned = is_zoned & (second(old, "timestamp") == second(new, "timestamp"))
    local = ~is_zoned & (second(old, "timestamp_ntz") == second(new, "timestamp_ntz"))
    return are_moments & (is_zoned == is_zoned_too) & (zoned | local)


def orphan() -> Column:
    """A change of a row without a beginning: a key's first change without an earlier READ, or one of a deleted row."""
    unseen = F.col("state").isNull() & (F.col("changes_before") == 0)
    is_proven = (F.col("change.position") >= F.col("read_from")) | (F.col("change.commit_ts") >= F.col("read_low_ts"))
    begins = F.col("change.op").isin(names.OP_UPDATE, names.OP_DELETE)
    first = begins & unseen & ~F.coalesce(is_proven, F.lit(False))
    bare = F.col("change.before_hash").isNull()  # with a before image, chain_break reports it
    revived = (F.col("change.op") == names.OP_UPDATE) & (F.col("state.op") == names.OP_DELETE) & bare
    text = F.when(first, F.concat(F.lit("the first change of the key is of kind "), F.col("change.op"))).when(
        revived, F.lit("the update changes a row that was deleted before it")
    )
    is_first = F.col("change").isNotNull() & ~is_copied_by("previous")  # later copies are not first
    # A row that takes the key of another row begins there, even if the source calls the change an update.
    return F.when(is_first & ~F.coalesce(F.col("change.takes_key"), F.lit(False)), text)


def double_insert() -> Column:
    """An insert for a live row, unless that row gives up its key in the same transaction."""
    live = F.col("state").isNotNull() & (F.col("state.op") != names.OP_DELETE)
    is_swap = F.col("change.takes_key") & in_transaction("given")
    is_double = (F.col("change.op") == names.OP_INSERT) & live & ~is_swap
    return F.when(
        is_last_copy() & is_double & ~is_in_earlier_read(), F.lit("the insert is for a row that is live already")
    )


def against_time(options: TimelineOptions) -> Column:
    """A change whose commit time is before that of an earlier change, or after the connector read the change, by more
    than `skew`. Without the connector's time, the commit time is compared with the current time.
    """
    skew = F.make_dt_interval(secs=F.lit(options.skew.total_seconds()))
    own, before = F.col("change.commit_ts"), F.col("committed")
    ahead = seconds_between(F.col("change.ingest_ts"), own)
    has_no_ingest_ts = F.col("change.ingest_ts").isNull()
    return (
        F.when(
            is_last_copy() & (own > F.col("change.ingest_ts") + skew),
            F.concat(F.lit("the commit time is "), ahead, F.lit(" s after the connector read the change")),
        )
        .when(
            is_last_copy() & has_no_ingest_ts & (own > F.current_timestamp() + skew),
            F.concat(F.lit("the commit time, "), own.cast("string"), F.lit(", is in the future")),
        )
        .when(
            is_last_copy() & (own + skew < before),
            F.concat(
                F.lit("the commit time is "), seconds_between(own, before), F.lit(" s before that of an earlier change")
            ),
        )
    )


def seconds_between(one: Column, other: Column) -> Column:
    """The seconds from the first moment to the second, as text."""
    return F.format_number((F.unix_micros(other) - F.unix_micros(one)) / 1_000_000, 3)


def untiled() -> Column:
    """The fault of a version: a gap, an overlap, an end before the start, not one open version, a wrong _is_current."""
    is_version, version = F.col("version").isNotNull(), F.col("version")
    is_last = F.col("is_last")
    is_current = version["valid_to"].isNull() & (version["op"] != names.OP_DELETE)
    opened, ended = F.col("opened"), F.col("earlier.valid_to")
    stays_open = F.col("earlier.is_version") & ended.isNull()
    return (
        F.when(is_last & (F.col("versions") == 0) & (F.col("changes") > 0), F.lit("the key has changes but no version"))
        .when(is_version & is_last & (opened == 0), F.lit("no version of the key is open"))
        .when(is_version & is_last & (opened > 1), F.concat(opened.cast("string"), F.lit(" versions are open")))
        .when(is_version & version["valid_from"].isNull(), F.lit("a version has no start time"))
        .when(is_version & (version["valid_to"] < version["valid_from"]), F.lit("a version ends before it starts"))
        .when(is_version & (ended > version["valid_from"]), F.lit("two versions overlap"))
        .when(is_version & (ended < version["valid_from"]), F.lit("there is a gap before a version"))
        .when(is_version & stays_open, F.lit("an open version is not the last one"))
        .when(is_version & ~version["is_current"].eqNullSafe(is_current), F.lit("_is_current is wrong"))
    )


def unlike_latest() -> Column:
    """A live open version that latest lacks or has with other values, or a latest row without such a version."""
    live = F.col("version.valid_to").isNull() & (F.col("version.op") != names.OP_DELETE)
    ends, is_live = F.col("is_last"), F.col("version").isNotNull() & live
    rows = F.col("latest_count")
    compared = ("row_hash", "valid_from", "position")
    other = ~F.struct(*[F.col(f"version.{name}") for name in compared]).eqNullSafe(
        F.struct(*[F.col(f"latest_row.{name}") for name in compared])
    )
    return (
        F.when(ends & ~is_live & (rows > 0), F.lit("the latest table has a row that is not live"))
        .when(ends & is_live & (rows == 0), F.lit("the latest table lacks a live row"))
        .when(
            ends & is_live & (rows > 1), F.concat(rows.cast("string"), F.lit(" rows of the latest table have one key"))
        )
        .when(ends & is_live & other, F.lit("the latest table's row differs from the open version"))
    )

"""The checks of single keys, read off a timeline: broken chains, orphans, double inserts, versions and latest rows."""

import json
from collections.abc import Collection
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.quality import catalogue
from siltstone.quality.check_timeline import Look, in_order, traders

SINGLE_PRECISION = 1e-5
# A moment as text: to the second, digits of the second, zone.
MOMENT: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
)


OF_CHANGES: Final = frozenset(
    {catalogue.CHAIN_BREAK, catalogue.ORPHAN, catalogue.DOUBLE_INSERT, catalogue.TIME_AGAINST_ORDER}
)


def key_findings(rows: DataFrame, look: Look, checks: Collection[str]) -> DataFrame:
    """What is wrong with each key. Without images a broken chain is a suspicion: only a closer look can name columns.

    Needs: the columns of `timeline`.
    Gives: check, position_from, position_to, key, message, tx_id, columns (those in which images differ).
    Rows: 1:n; most rows have no finding.
    """
    met, own = F.col("state.position"), F.col("change.position")
    version = F.col("version.position")
    texts = {
        catalogue.VERSIONS_TILE_TIME: (F.col("untiled"), F.col("earlier_position"), version),
        catalogue.LATEST_EQUALS_OPEN_VERSIONS: (
            F.col("unlike_latest"),
            version,
            F.coalesce(version, "latest_position"),
        ),
    }
    rows = rows.transform(judged_versions)
    if OF_CHANGES & set(checks):
        texts |= {
            catalogue.CHAIN_BREAK: (chain_break(), met, own),
            catalogue.ORPHAN: (orphan(), own, own),
            catalogue.DOUBLE_INSERT: (double_insert(), met, own),
            catalogue.TIME_AGAINST_ORDER: (against_time(look), F.col("previous.position"), own),
        }
        rows = rows.transform(in_order).transform(traders, look.swaps)
        rows = rows.withColumn("differing", differing_columns(look))
    else:
        rows = rows.withColumn("differing", F.lit(None).cast("array<string>"))
    texts = {check: parts for check, parts in texts.items() if check in checks}
    told = rows.select("key", *[finding(check, *parts).alias(check) for check, parts in texts.items()])
    wrong = told.where(F.coalesce(*[F.col(f"{check}.message") for check in texts]).isNotNull())
    found = wrong.select("key", F.explode(F.array(*texts)).alias("found")).where(F.col("found.message").isNotNull())
    told_of = ("check", "position_from", "position_to", "message", "tx_id", "columns")
    return found.select(*[F.col(f"found.{name}") for name in told_of], "key")


def judged_versions(rows: DataFrame) -> DataFrame:
    """Say of versions and latest rows what is wrong with them; what was told for that is not carried on.

    Needs: the columns of `timeline`.
    Gives: key_hash, key, version, change, read, place, untiled and unlike_latest (what is wrong, or null),
        earlier_position, latest_position (where to look for it).
    Rows: filters out latest rows that nothing is said of.
    """
    told = rows.select(
        *("key_hash", "key", "version", "change", "read", "place", "latest"),
        untiled().alias("untiled"),
        unlike_latest().alias("unlike_latest"),
        F.col("earlier.position").alias("earlier_position"),
        F.col("latest_row.position").alias("latest_position"),
    )
    is_told = F.col("untiled").isNotNull() | F.col("unlike_latest").isNotNull()
    return told.where(F.col("latest").isNull() | is_told).select(
        *("key_hash", "key", "version", "change", "read", "place", "untiled", "unlike_latest"),
        F.when(is_told, F.col("earlier_position")).alias("earlier_position"),
        F.when(is_told, F.col("latest_position")).alias("latest_position"),
    )


def finding(check: str, message: Column, position_from: Column, position_to: Column) -> Column:
    """What one check says of a row; a null message: nothing."""
    return F.struct(
        F.lit(check).alias("check"),
        position_from.alias("position_from"),
        position_to.alias("position_to"),
        message.alias("message"),
        F.col("change.tx_id").alias("tx_id"),
        F.when(F.lit(check == catalogue.CHAIN_BREAK), F.col("differing")).alias("columns"),
    )


def is_judged() -> Column:
    """True for one of the copies of a change that was delivered more than once: the last, beside what it opened."""
    return F.col("change").isNotNull() & ~is_copied_by("following")


def is_copied_by(beside: str) -> Column:
    """Whether the row before or after is the same change, delivered once more."""
    same = (
        (F.col(f"{beside}.position") == F.col("change.position"))
        & (F.col(f"{beside}.op") == F.col("change.op"))
        & F.col(f"{beside}.is_change")
        & F.col(f"{beside}.content_hash").eqNullSafe(F.col("change.content_hash"))
    )
    return F.coalesce(same, F.lit(False))


def in_transaction(transactions: str) -> Column:
    """True when the change's transaction is among these."""
    return F.coalesce(F.array_contains(transactions, F.col("change.tx_id")), F.lit(False))


def seen_early() -> Column:
    """True when a READ before the change already saw what the change did: no version begins with the change."""
    opens = (F.col("following.position") == F.col("change.position")) & (F.col("following.op") != names.OP_READ)
    return (F.col("state.op") == names.OP_READ) & ~F.coalesce(opens, F.lit(False))


def chain_break() -> Column:
    """A before image that differs from the version before it, on the columns both know.

    Rows that hand their keys on inside one transaction are told apart by the fold, not by their order.
    """
    fits = F.col("change.before_hash").isNotNull() & F.col("state").isNotNull()
    traded = F.col("change.gives_key") & in_transaction("taken")
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
    return F.when(is_judged() & fits & ~traded & ~seen_early(), text)


def differing_columns(look: Look) -> Column:
    """The names of the columns in which a before image and the version before it differ; a blank from afar."""
    unlike = F.col("change.before_hash") != F.col("state.image_hash")
    told = [F.when(differs(name, kind), F.lit(name)) for name, kind in look.columns.compared.items()]
    return F.when(unlike, F.array_compact(F.array(*told)) if look.closely else F.array(F.lit("")))


def differs(name: str, kind: T.DataType) -> Column:
    """True when a column that both the before image and the version know has another value."""
    old, new = F.col("state.image")[name], F.col("change.before")[name]
    in_state = ~F.coalesce(F.array_contains("state.unknown", name), F.lit(False))
    in_change = F.col("change.present").isNull() | F.array_contains("change.present", name)
    kept = ~(is_rescued("state.rescued", name) | is_rescued("change.rescued", name))
    return ~old.eqNullSafe(new) & in_state & in_change & kept & ~F.coalesce(same_value(old, new, kind), F.lit(False))


def is_rescued(rescued: str, name: str) -> Column:
    """True when the column's value could not be kept as a column: what stands there is not what the source said."""
    return F.coalesce(F.col(rescued).contains(json.dumps(name, ensure_ascii=False) + ":"), F.lit(False))


def same_value(old: Column, new: Column, kind: T.DataType) -> Column:
    """Two writings of one value: a query rounds single floats, lays out JSON text and writes the fraction of a moment
    differently than the log does."""
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
    """Two texts that write one moment: 23Z and 23.000Z, or in two zones. One without a zone is none of a zone."""

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
    """A change of a row that never began: a key's first change without a READ before it, an update of a deleted row."""
    unseen = F.col("state").isNull() & (F.col("changes_before") == 0)
    vouched = (F.col("change.position") >= F.col("read_from")) | (F.col("change.commit_ts") >= F.col("read_low_ts"))
    begins = F.col("change.op").isin(names.OP_UPDATE, names.OP_DELETE)
    first = begins & unseen & ~F.coalesce(vouched, F.lit(False))
    bare = F.col("change.before_hash").isNull()  # otherwise the chain is broken, and that check says so
    revived = (F.col("change.op") == names.OP_UPDATE) & (F.col("state.op") == names.OP_DELETE) & bare
    text = F.when(first, F.concat(F.lit("the first change of the key is of kind "), F.col("change.op"))).when(
        revived, F.lit("the update changes a row that was deleted before it")
    )
    is_first = F.col("change").isNotNull() & ~is_copied_by("previous")  # a second copy has a change before it
    # What takes the key of another row begins there, even where the source calls it an update.
    return F.when(is_first & ~F.coalesce(F.col("change.takes_key"), F.lit(False)), text)


def double_insert() -> Column:
    """An insert over a live row, unless that row gives up its key in the same transaction."""
    live = F.col("state").isNotNull() & (F.col("state.op") != names.OP_DELETE)
    traded = F.col("change.takes_key") & in_transaction("given")
    meets = (F.col("change.op") == names.OP_INSERT) & live & ~traded
    return F.when(is_judged() & meets & ~seen_early(), F.lit("the insert meets a row that is live"))


def against_time(look: Look) -> Column:
    """A change committed before what stands before it in the log, or after the connector took it. Clocks may differ.

    Where nobody says when the change was taken, one that lies ahead of this very moment lies ahead of that, too.
    """
    skew = F.make_dt_interval(secs=F.lit(look.skew.total_seconds()))
    own, before = F.col("change.commit_ts"), F.col("committed")
    ahead = seconds_between(F.col("change.ingest_ts"), own)
    is_untaken = F.col("change.ingest_ts").isNull()
    return (
        F.when(
            is_judged() & (own > F.col("change.ingest_ts") + skew),
            F.concat(F.lit("the commit time is "), ahead, F.lit(" s after the connector took the change")),
        )
        .when(
            is_judged() & is_untaken & (own > F.current_timestamp() + skew),
            F.concat(F.lit("the commit time, "), own.cast("string"), F.lit(", lies in the future")),
        )
        .when(
            is_judged() & (own + skew < before),
            F.concat(
                F.lit("the commit time is "), seconds_between(own, before), F.lit(" s before that of an earlier change")
            ),
        )
    )


def seconds_between(one: Column, other: Column) -> Column:
    """How long after the first moment the second one is, as text."""
    return F.format_number((F.unix_micros(other) - F.unix_micros(one)) / 1_000_000, 3)


def untiled() -> Column:
    """Versions that leave a gap, overlap, run backwards, are not open exactly once, or mark the wrong one current."""
    is_version, version = F.col("version").isNotNull(), F.col("version")
    is_last = F.col("is_last")
    is_current = version["valid_to"].isNull() & (version["op"] != names.OP_DELETE)
    opened, ended = F.col("opened"), F.col("earlier.valid_to")
    stays_open = F.col("earlier.is_version") & ended.isNull()
    return (
        F.when(is_last & (F.col("versions") == 0) & (F.col("changes") > 0), F.lit("the key has changes but no version"))
        .when(is_version & is_last & (opened == 0), F.lit("no version of the key is open"))
        .when(is_version & is_last & (opened > 1), F.concat(opened.cast("string"), F.lit(" versions are open")))
        .when(is_version & version["valid_from"].isNull(), F.lit("a version has no beginning"))
        .when(is_version & (version["valid_to"] < version["valid_from"]), F.lit("a version ends before it begins"))
        .when(is_version & (ended > version["valid_from"]), F.lit("two versions overlap"))
        .when(is_version & (ended < version["valid_from"]), F.lit("a gap is before a version"))
        .when(is_version & stays_open, F.lit("an open version is not the last one"))
        .when(is_version & ~version["is_current"].eqNullSafe(is_current), F.lit("_is_current is wrong"))
    )


def unlike_latest() -> Column:
    """A live open version that the latest table lacks or has otherwise, or a latest row without such a version."""
    live = F.col("version.valid_to").isNull() & (F.col("version.op") != names.OP_DELETE)
    ends, is_live = F.col("is_last"), F.col("version").isNotNull() & live
    rows = F.col("latest_count")
    told = ("row_hash", "valid_from", "position")
    other = ~F.struct(*[F.col(f"version.{name}") for name in told]).eqNullSafe(
        F.struct(*[F.col(f"latest_row.{name}") for name in told])
    )
    return (
        F.when(ends & ~is_live & (rows > 0), F.lit("the latest table holds a row that is not live"))
        .when(ends & is_live & (rows == 0), F.lit("the latest table lacks a live row"))
        .when(
            ends & is_live & (rows > 1), F.concat(rows.cast("string"), F.lit(" rows of the latest table have one key"))
        )
        .when(ends & is_live & other, F.lit("the latest table's row differs from the open version"))
    )

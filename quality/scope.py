"""What is judged: the run's changes, what is known of them at once, and which checks they can carry."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.ordering.windows import WINDOW_OPEN
from quality import catalogue
from quality.timeline import Columns, carries_before, gives_key, is_streamed

# A change that changed nothing can lie a little beyond the end of the version it confirmed.
SLACK = timedelta(hours=1)

UPSERTS = ("rows:",)  # how the sources of changes begin that do not tell inserts from updates
UNORDERED = ("rows:", "datastream-")  # and of those whose files are not in the order of a log


@dataclass(frozen=True)
class Tables:
    """What is looked at: all changes of the table, its history and latest, the control rows (None: no ledger yet)."""

    changes: DataFrame
    history: DataFrame
    latest: DataFrame
    control: DataFrame | None

    @property
    def columns(self) -> Columns:
        """The columns the three tables share."""
        return Columns.of(self.changes.schema, self.history.schema, self.latest.schema)


@dataclass(frozen=True)
class Scope:
    """The judged changes in numbers.

    `befores`: whether whole before images are carried; `trusts_deletes`: a source whose updates carry none writes only
    the key into that of a delete. `placed`: streamed changes with a position and a place of delivery. `whole`: every
    key is looked at, as nothing came before or a truncate touched them all.
    """

    since: int
    columns: Columns
    streamed: int
    swaps: int
    reads: int
    placed: int
    earliest: datetime | None
    befores: bool
    trusts_deletes: bool
    markers: bool
    sources: tuple[str, ...]
    has_older: bool
    whole: bool


def judged(changes: DataFrame, since: int) -> DataFrame:
    """The changes of batches after `since`, without those that came too late to be folded. Rows: filters."""
    return changes.where((F.col("batch") > since) & ~F.coalesce("too_late", F.lit(False)))


def scope_of(tables: Tables, since: int) -> Scope:
    """Look at the judged changes once, without their images."""
    columns, changes = tables.columns, judged(tables.changes, since)
    streamed = is_streamed() & (F.col("op") != names.OP_TRUNCATE)
    of_update, of_delete = F.col("op") == names.OP_UPDATE, F.col("op") == names.OP_DELETE
    # A before image has the key: reading that much of it tells whether there is one.
    has_before = F.col("before")[columns.keys[0]].isNotNull() if columns.keys else F.lit(False)
    delivered = F.col("position").isNotNull() & F.coalesce("line", "kafka_offset").isNotNull()
    counted = changes.agg(
        F.count_if(streamed).alias("streamed"),
        F.count_if(streamed & of_update & has_before).alias("updates"),
        F.count_if(streamed & of_update & ~has_before).alias("bare_updates"),
        F.count_if(streamed & of_delete & has_before).alias("deletes"),
        F.count_if(gives_key()).alias("swaps"),
        F.count_if(~is_streamed()).alias("reads"),
        F.count_if(streamed & delivered).alias("placed"),
        F.count_if(F.col("op") == names.OP_TRUNCATE).alias("truncates"),
        F.min(F.least("commit_ts", "ingest_ts")).alias("earliest"),
        F.sort_array(F.collect_set("source")).alias("sources"),
    )
    facts = counted.collect()[0]
    trusts_deletes = facts["bare_updates"] == 0
    only_deletes = trusts_deletes and facts["deletes"] > 0 and facts["updates"] == 0
    has_older = since > 0 and not tables.changes.where(F.col("batch") <= since).isEmpty()
    return Scope(
        since=since,
        columns=columns,
        befores=facts["updates"] > 0 or (only_deletes and not changes.where(carries_before(columns)).isEmpty()),
        trusts_deletes=trusts_deletes,
        markers=has_markers(tables.control, tuple(facts["sources"])),
        sources=tuple(facts["sources"]),
        has_older=has_older,
        whole=not has_older or facts["truncates"] > 0,
        **{name: facts[name] for name in ("streamed", "swaps", "reads", "placed", "earliest")},
    )


def has_markers(control: DataFrame | None, sources: tuple[str, ...]) -> bool:
    """Whether the sources tell when their snapshot windows open."""
    if control is None or not sources:
        return False
    return not control.where((F.col("kind") == WINDOW_OPEN) & F.col("source").isin(*sources)).isEmpty()


def unavailable(scope: Scope) -> Iterator[tuple[str, str]]:
    """The checks that the judged changes cannot carry, each with its reason."""
    of_changes = (catalogue.CHAIN_BREAK, catalogue.ORPHAN, catalogue.DOUBLE_INSERT)
    if scope.columns.keyless:
        yield from ((check, "the table has no key") for check in of_changes)
    elif not scope.streamed:
        yield from ((check, "no streamed change to look at") for check in of_changes)
    elif not scope.befores:
        yield catalogue.CHAIN_BREAK, "no change carries a whole before image"
    if come_from(scope, UPSERTS):
        of_inserts = (catalogue.ORPHAN, catalogue.DOUBLE_INSERT)
        yield from ((check, "rows do not say whether they are new") for check in of_inserts)
    if not scope.placed:
        yield catalogue.POSITIONS_BACKWARDS, "no streamed change with a position and a place of delivery"
    elif come_from(scope, UNORDERED):
        yield catalogue.POSITIONS_BACKWARDS, "the source delivers in no order"
    if not scope.markers:
        yield catalogue.OPEN_WINDOW, "no markers of snapshot windows among the control records"


def come_from(scope: Scope, beginnings: tuple[str, ...]) -> bool:
    """Whether all judged changes come from such sources."""
    return bool(scope.sources) and all(source.startswith(beginnings) for source in scope.sources)

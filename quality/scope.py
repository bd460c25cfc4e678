"""The scope of the checks: the changes to check, facts about them, and which checks they support."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.names import EVERY_BATCH
from siltstone.engine.timestamps import collectable
from siltstone.quality import catalogue
from siltstone.quality.capabilities import unavailable_checks
from siltstone.quality.check_timeline import Columns, has_before, is_streamed
from siltstone.quality.source_clocks import Moments, known_at
from siltstone.quality.source_evidence import NO_EVIDENCE, Evidence, evidence_of

# A change without effect can be committed shortly after the end of the version that it confirms.
SLACK = timedelta(hours=1)
BROADCAST_KEYS: Final = 2_000_000  # the same limit as in the fold of a batch
LATE_BY: Final = (("minute", 60), ("hour", 3600), ("day", 86400))


@dataclass(frozen=True)
class Tables:
    """The tables to check: all changes of the table, its history and latest, the control rows (None: no ledger yet).

    `since`, `control_since`: earlier runs checked the changes up to the first batch and the control rows up to the
    second. A pass over other batches checks all control rows, and so does one without these numbers. `rejects`: the
    rejected records (None: there are none). `reached`: the greatest commit time of earlier batches. `sources`: the
    sources of the folded changes. `of_all_keys`: the changes of all keys if these tables have only some keys, else
    None. `has_unfolded`: there are newer batches of changes, which are not folded and not checked. `trimmed_to`: older
    changes can have been removed (None: none were).
    """

    changes: DataFrame
    history: DataFrame
    latest: DataFrame
    control: DataFrame | None
    since: int | None = None
    control_since: int | None = None
    rejects: DataFrame | None = None
    reached: datetime | None = None
    sources: tuple[str, ...] = ()
    of_all_keys: DataFrame | None = None
    has_unfolded: bool = False
    trimmed_to: datetime | None = None

    @property
    def columns(self) -> Columns:
        """The columns that the three tables share."""
        return Columns.of(self.changes.schema, self.history.schema, self.latest.schema)

    def can_lack_changes_of(self, moment: datetime | None) -> bool:
        """Whether changes of this time can have been removed (`retain_changes`). None: a time that is not known."""
        return self.trimmed_to is not None and (moment is None or moment < self.trimmed_to)

    def control_before(self, since: int) -> int:
        """The last control batch that was checked with the changes up to `since`; -1 (EVERY_BATCH): none was."""
        known = self.control_since is not None and self.since == since
        return self.control_since if known and self.control_since is not None else EVERY_BATCH


@dataclass(frozen=True)
class Late:
    """Changes older than those of earlier batches: how many, by how many seconds; and how many were too late."""

    changes: int = 0
    by: tuple[tuple[str, int], ...] = ()
    half: float = 0.0
    most: float = 0.0
    longest: float = 0.0
    too_late: int = 0


@dataclass(frozen=True)
class Scope:
    """Counts of the checked changes.

    `updates` and `deletes` have a before image, `bare_updates` have none; `wholes`: before images that are complete.
    `placed`: streamed changes with a position and an offset or line. `early`: changes that can precede older changes in
    the log. `truncate`: the position of the first truncate. `whole`: every key is checked, because there are no earlier
    batches or because of a truncate.
    """

    since: int
    columns: Columns
    changes: int
    streamed: int
    updates: int
    bare_updates: int
    deletes: int
    wholes: int
    swaps: int
    reads: int
    placed: int
    early: int
    truncate: str | None
    earliest: datetime | None
    sources: tuple[str, ...]
    has_older: bool
    whole: bool
    late: Late = Late()
    evidence: Evidence = NO_EVIDENCE

    @property
    def trusts_deletes(self) -> bool:
        """Whether before images of deletes are complete. If updates have none, those of deletes have only the key."""
        return self.bare_updates == 0

    @property
    def befores(self) -> bool:
        """Whether changes have complete before images."""
        return self.updates > 0 or self.only_deletes

    @property
    def only_deletes(self) -> bool:
        """Whether only deletes have complete before images, and no update confirms that the source writes them."""
        return self.trusts_deletes and self.deletes > 0 and self.updates == 0 and self.wholes > 0

    def with_older(self, older: DataFrame) -> "Scope":
        """The scope with these changes of earlier batches added. `older`: their digest."""
        found = older.agg(*[F.count_if(condition).alias(name) for name, condition in carried().items()]).collect()[0]
        return replace(self, **{name: getattr(self, name) + found[name] for name in carried()})


def checked_changes(changes: DataFrame, since: int) -> DataFrame:
    """The changes of batches after `since`, without those that are too late to be folded. Rows: filters."""
    return changes.where((F.col("batch") > since) & ~F.coalesce("too_late", F.lit(False)))


def scope_of(tables: Tables, since: int, digest: DataFrame) -> Scope:
    """Count the changes of batches after `since` and the control rows of the table's sources.

    Needs: the digest of those changes.

    Sources without a change in these batches are included: their silence can be the finding.
    """
    facts = digest.agg(*counts(tables.reached)).collect()[0]
    has_older = since > 0 and not tables.changes.where(F.col("batch") <= since).isEmpty()
    sources = tuple(sorted({*tables.sources, *facts["sources"]}))
    control_since = tables.control_before(since)
    counted = ("changes", *carried(), "reads", "placed", "early", "truncate")
    newest = newest_of(digest, facts)
    return Scope(
        since=since,
        columns=tables.columns,
        sources=sources,
        has_older=has_older,
        whole=not has_older or facts["truncates"] > 0,
        late=late_of(facts, tables.reached),
        evidence=evidence_of(tables.control, sources, control_since, newest, facts["newest_taken"]),
        earliest=bound(facts["earliest"]),
        **{name: facts[name] for name in counted},
    )


def with_bare_updates(scope: Scope, tables: Tables) -> Scope:
    """The scope, corrected if only deletes have before images here and other updates of the table have none.

    The content of before images depends on the source, not on the batch or the keys that are checked.
    """
    is_part = scope.has_older or tables.of_all_keys is not None
    if not scope.only_deletes or not is_part or scope.columns.keyless:
        return scope
    changes = tables.changes if tables.of_all_keys is None else tables.of_all_keys
    is_bare = is_streamed() & (F.col("op") == names.OP_UPDATE) & ~has_before(scope.columns)
    return scope if changes.where(is_bare).isEmpty() else replace(scope, bare_updates=1)


def newest_of(digest: DataFrame, facts: Any) -> Moments:
    """The greatest commit time of each source among the checked changes."""
    if len(facts["sources"]) <= 1:
        return dict.fromkeys(facts["sources"], facts["newest"])
    in_time = digest.where(~F.col("too_late")).groupBy("source")
    return {row["source"]: row["at"] for row in in_time.agg(collectable(F.max(known_at())).alias("at")).collect()}


def bound(earliest: datetime | None) -> datetime | None:
    """The earliest commit time of the checked changes; None if unknown: changes without a time can have the year 1."""
    return None if earliest is None or earliest.year == 1 else earliest


def carried() -> dict[str, Column]:
    """The counts of changes that decide which checks they support."""
    streamed, has_before = is_streamed() & (F.col("op") != names.OP_TRUNCATE), F.col("has_before")
    of_update, of_delete = F.col("op") == names.OP_UPDATE, F.col("op") == names.OP_DELETE
    return {
        "streamed": streamed,
        "updates": streamed & of_update & has_before,
        "bare_updates": streamed & of_update & ~has_before,
        "deletes": streamed & of_delete & has_before,
        "wholes": F.col("before_hash").isNotNull(),
        "swaps": F.col("gives_key"),
    }


def counts(reached: datetime | None) -> list[Column]:
    """All counts of the digest, in one pass. Changes that are too late only have their number."""
    too_late, is_truncate = F.col("too_late"), F.col("op") == names.OP_TRUNCATE
    delivered = F.col("position").isNotNull() & F.col("at").isNotNull()
    conditions = {
        "changes": F.lit(True),
        **carried(),
        "reads": ~is_streamed(),
        "placed": carried()["streamed"] & delivered,
        "early": F.lit(True) if reached is None else ~F.coalesce(known_at() > F.lit(reached), F.lit(False)),
        "truncates": is_truncate,
    }

    def in_time(value: Column) -> Column:
        return F.when(~too_late, value)

    return [
        *[F.count_if(~too_late & condition).alias(name) for name, condition in conditions.items()],
        F.min(in_time(F.when(is_truncate, F.col("position")))).alias("truncate"),
        collectable(F.min(in_time(known_at()))).alias("earliest"),
        collectable(F.max(in_time(known_at()))).alias("newest"),
        collectable(F.max(in_time(F.col("ingest_ts")))).alias("newest_taken"),
        F.sort_array(F.collect_set(in_time(F.col("source")))).alias("sources"),
        F.count_if(too_late).alias("too_late"),
        *late_counts(in_time(is_before(reached)), reached),
    ]


def is_before(reached: datetime | None) -> Column:
    """True for streamed changes that are older than the changes of earlier batches."""
    return F.lit(False) if reached is None else is_streamed() & (F.col("commit_ts") < F.lit(reached))


def late_counts(is_late: Column, reached: datetime | None) -> list[Column]:
    """The number of late changes, and by how many seconds they are late."""
    if reached is None:
        return [F.lit(0).alias("late")]
    by = F.when(is_late, (F.unix_micros(F.lit(reached)) - F.unix_micros("commit_ts")) / 1_000_000)
    return [
        F.count_if(is_late).alias("late"),
        *[F.count_if(is_late & (by <= seconds)).alias(name) for name, seconds in LATE_BY],
        F.percentile_approx(by, F.array(F.lit(0.5), F.lit(0.95), F.lit(1.0)), F.lit(1000)).alias("late_by"),
    ]


def late_of(facts: Any, reached: datetime | None) -> Late:
    """The result of `late_counts` as a value."""
    if reached is None or not facts["late"]:
        return Late(too_late=facts["too_late"])
    within = [(name, facts[name]) for name, _ in LATE_BY] + [("more", facts["late"])]
    by = [(name, number - before) for (name, number), (_, before) in zip(within, [("", 0), *within], strict=False)]
    half, most, longest = facts["late_by"]
    return Late(facts["late"], tuple(by), half, most, longest, facts["too_late"])


def unavailable(scope: Scope) -> Iterator[tuple[str, str]]:
    """The checks that the changes do not support, each with a reason. If a check has several, the first one counts."""
    yield from unavailable_checks(scope.sources)
    of_changes = (catalogue.CHAIN_BREAK, catalogue.ORPHAN, catalogue.DOUBLE_INSERT, catalogue.TIME_AGAINST_ORDER)
    if scope.columns.keyless:
        of_keys = (*of_changes, catalogue.GHOST_ROW, catalogue.SHORT_SNAPSHOT)
        yield from ((check, "the table has no key") for check in of_keys)
    elif not scope.streamed:
        yield from ((check, "there is no streamed change") for check in of_changes)
    elif not scope.befores:
        yield catalogue.CHAIN_BREAK, "no change has a complete before image"
    if not scope.placed:
        yield catalogue.POSITIONS_BACKWARDS, "no streamed change has a position and a Kafka offset or line"
    yield from scope.evidence.unavailable()

"""From `changes` to `history` to `latest`: what is not folded yet, each table in one published step."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.frames import checkpointed, temporary_view
from siltstone.engine.history.diff import DELETE, INSERT, UPDATE, open_diff
from siltstone.engine.history.links import owed_keys
from siltstone.engine.history.reconcile import reconcile
from siltstone.engine.history.rules import Folded, FoldRules
from siltstone.engine.history.tile import KEEP, OPEN
from siltstone.engine.history.timeline import key_of, truncate_rows
from siltstone.engine.names import quoted
from siltstone.engine.run.effort import tasks_for_rows
from siltstone.engine.run.folding import Folding, refuse_moved, same_keys
from siltstone.engine.run.keyless import fold_images
from siltstone.engine.run.links import keys_in_two_batches, linked
from siltstone.engine.run.marker import SUMMARY_GENERATION, marker_of
from siltstone.engine.run.refold import keys_to_refold, refold, tally_changes, tally_truncates, tally_withdrawn
from siltstone.engine.run.sources import refuse_shared_keys
from siltstone.engine.run.survey import keys_with_news, known_windows, survey
from siltstone.engine.schema.history import history_schema, latest_schema
from siltstone.engine.spec import fold_fingerprint
from siltstone.engine.table.catalog import exists
from siltstone.engine.table.changes import with_unknown
from siltstone.engine.table.commit import Branch, drop_stale_branches
from siltstone.engine.table.merge import CLOSED_ROWS, OPEN_ROWS, history_merge, latest_merge

BROADCAST_CHANGES = 2_000_000


@dataclass(frozen=True)
class Difference:
    """What a fold asks of `history`. `changes`: what `rows` holds, by (change, was_open).

    `refolded` are those of the rows that belong to keys folded again from all their changes; None when there are none.
    """

    rows: DataFrame
    changes: Counter[tuple[str, bool]]
    refolded: DataFrame | None = None


def fold_history(work: Folding) -> Branch | None:
    """Fold what is new into a branch of `history`; None when nothing is new. The caller publishes."""
    difference = fold_difference(work)
    if difference is None:
        return None
    drop_stale_branches(work.spark, work.catalog, work.spec.target.history)
    with work.phase("history"):
        return write_history(work, difference)


def fold_difference(work: Folding) -> Difference | None:
    """Fold what is new, without writing; None when nothing is new.

    Keys whose changes are in order are folded over their open versions: no closed version and no older change is
    read for them. The others are folded again from all their changes.
    """
    everything = work.changes_up_to_target()
    news = keys_with_news(work, everything)
    if work.target.batch == work.folded.batch and news is None:
        return None
    windows = known_windows(work)
    with work.phase("survey"):
        placed, rules = survey(work, everything.where(F.col("batch") > work.folded.batch), windows)
        tally_withdrawn(work)
        refuse_shared_keys(work, placed, everything)
    if work.keyless:
        with work.phase("refold"):
            images = fold_images(work, everything, placed, news, windows, rules)
        work.check_sum()
        return Difference(images, tally_changes(work, images), images)
    with work.phase("fold"):
        judged = fold_new(work, placed, rules)
        found = Found.of(judged)
        # Which source an open version is from only its changes say, and a truncate ends the rows of its own.
        of_sources = judged.select("key") if rules.truncates and work.has_sources_apart else None
        apart = keys_in_two_batches(work, everything) if rules.apart and rules.followed else None
        asked = [keys for keys in (news, of_sources, apart) if keys is not None]
        seed = out_of_order(judged, found, placed, asked, rules)
        if seed is None:
            tally_truncates(work, placed, judged, rules.truncates)
    difference = Difference(open_diff(judged, work.target.batch), found.changes)
    if seed is not None:
        with work.phase("refold"):
            whole = linked(work, everything)
            keys = keys_to_refold(seed, whole, rules)
            refolded, anew = refold(work, whole, keys, windows, rules)
            in_order = judged.join(F.broadcast(keys), on="key", how="left_anti")
            told = [rows.select("is_copy", "outcome", "position") for rows in (in_order, anew)]
            tally_truncates(work, placed, told[0].unionByName(told[1]), rules.truncates)
            found = Found.of(in_order)
            rows = open_diff(in_order, work.target.batch).unionByName(refolded)
            difference = Difference(rows, found.changes + tally_changes(work, refolded), refolded)
    for outcome, number in found.outcomes.items():
        work.count(outcome, number)
    work.check_sum()
    return difference


def fold_new(work: Folding, placed: DataFrame, rules: FoldRules) -> DataFrame:
    """The new changes folded over the open versions of their keys.

    Needs: timeline rows. Gives: what `reconcile` gives. Computed.
    """
    timeline = placed.where(F.col("op") != names.OP_TRUNCATE)
    existing = open_versions(work, timeline, first_truncate(placed) if rules.truncates else None)
    if rules.truncates:
        keys = timeline.select("key").unionByName(existing.select(key_of(rules).alias("key"))).distinct()
        timeline = timeline.unionByName(truncate_rows(placed.where(F.col("op") == names.OP_TRUNCATE), keys))
    # Asked for late keys, counted and written.
    return reconcile(existing, timeline, rules, work.folded).transform(checkpointed)


@dataclass(frozen=True)
class Found:
    """What a fold found, counted: is any key late, the outcomes of changes, the changes of versions."""

    late: bool
    outcomes: Counter[str]
    changes: Counter[tuple[str, bool]]

    @classmethod
    def of(cls, judged: DataFrame) -> "Found":
        """Count what `reconcile` gave, in one pass. `changes`: by (change, was_open), as `open_diff` gives them."""
        outcomes: Counter[str] = Counter()
        changes: Counter[tuple[str, bool]] = Counter()
        late = False
        is_change = (~F.col("is_base") & ~F.col("is_copy")).alias("is_change")
        for row in judged.groupBy("is_late", is_change, "outcome", "action").count().collect():
            late = late or row["is_late"]
            if row["is_change"]:
                outcomes[row["outcome"]] += row["count"]
            if row["action"] not in (None, KEEP):
                changes[(INSERT, False) if row["action"] == OPEN else (UPDATE, True)] += row["count"]
        return cls(late, outcomes, changes)


def out_of_order(
    judged: DataFrame, found: Found, placed: DataFrame, asked: Sequence[DataFrame], rules: FoldRules
) -> DataFrame | None:
    """The keys that cannot be folded over their open versions; `asked` are some anyhow. None when there are none.

    Gives: key. Computed. Rows: one a key.
    """
    seeds = [*asked]
    if found.late:
        seeds.append(judged.where("is_late").select("key"))
    if rules.owing and rules.followed:
        seeds.append(owed_keys(placed, judged, rules))
    if not seeds:
        return None
    keys = reduce(DataFrame.unionByName, seeds).distinct().transform(checkpointed)
    return None if keys.isEmpty() else keys


def first_truncate(placed: DataFrame) -> str | None:
    """The position of the first truncate among the changes."""
    found = placed.where(F.col("op") == names.OP_TRUNCATE).agg(F.min("position").alias("position")).first()
    return None if found is None else found["position"]


def open_versions(work: Folding, timeline: DataFrame, truncate: str | None) -> DataFrame:
    """The open versions of the keys that changed; with a truncate, those of all keys that it can concern too.

    A truncate ends the live keys. One that comes late can have ended an earlier life of a key that is gone by now.

    Rows: at most one a key.
    """
    history = with_unknown(work.rows.history.where(F.col(names.VALID_TO).isNull()), work.rows.since)
    flat = timeline.select(*[F.col("key")[name].alias(name) for name in work.keys]).distinct()
    if work.changes <= BROADCAST_CHANGES:
        flat = F.broadcast(flat)
    same = same_keys(work, history, flat)
    touched = history.join(flat, on=same, how="left_semi")
    if truncate is None:
        return touched
    concerned = F.col(names.IS_CURRENT) | (F.col(names.LAST_POSITION) >= truncate)
    return touched.unionByName(history.where(concerned).join(flat, on=same, how="left_anti"))


def history_branch(work: Folding, sole_writer: bool = False) -> Branch:
    """A branch of `history` whose commits say what it becomes a fold of. `sole_writer`: as `Branch.start` takes it."""
    table, marker = work.spec.target.history, history_marker(work)
    return Branch.start(work.spark, work.catalog, table, marker, work.layout, sole_writer)


def continued(work: Folding) -> Branch:
    """The same, of a history that is still what it was when this fold began.

    Raises: CommitConflictError: it is not.
    """
    branch = history_branch(work, sole_writer=not work.keeps_foreign)
    refuse_moved(branch, marker_of(work.spark, work.catalog, work.spec.target.history)[0] == work.folded)
    return branch


def history_marker(work: Folding) -> dict[str, str]:
    """What the commits to `history` say."""
    return latest_marker(work, work.target) | {names.SUMMARY_FINGERPRINT: fold_fingerprint(work.spec)}


def latest_marker(work: Folding, reached: Folded) -> dict[str, str]:
    """What the commits to `latest` say."""
    marker = {names.SUMMARY_BATCH: str(reached.batch), names.SUMMARY_FOLDED: reached.to_json()}
    marker |= {names.SUMMARY_REREAD: work.reread} if work.reread else {}
    marker |= {names.SUMMARY_FOREIGN: "true"} if work.keeps_foreign else {}
    return marker | ({SUMMARY_GENERATION: work.generation} if work.generation else {})


def write_history(work: Folding, difference: Difference) -> Branch:
    """Write the difference to a branch: versions in place first, then the new ones.

    Raises: CommitConflictError: another run has folded in between.
    """
    diff, changes = difference.rows, difference.changes
    columns = history_schema(work.stored).names
    branch = continued(work)
    for rows, was_open in ((OPEN_ROWS, True), (CLOSED_ROWS, False)):
        if any(change != INSERT and there == was_open for change, there in changes):
            source = diff.where((F.col(names.CHANGE) != INSERT) & (F.col(names.WAS_OPEN) == was_open))
            view = temporary_view(source)
            branch.execute(
                history_merge(branch.identifier, view, work.identity, columns, rows, work.has_null_keys, branch.layout)
            )
            work.spark.catalog.dropTempView(view)
    is_added = F.col(names.CHANGE) != DELETE if branch.layout.recorded else F.col(names.CHANGE) == INSERT
    added = diff.where(is_added).select(*[F.col(quoted(name)) for name in columns])
    branch.append(added.coalesce(tasks_for_rows(sum(changes.values()))))
    if changes[(DELETE, True)]:
        work.taken_away = diff.where((F.col(names.CHANGE) == DELETE) & F.col(names.WAS_OPEN))
    work.versions = {
        "opened": sum(n for (change, _), n in changes.items() if change == INSERT),
        "updated": sum(n for (change, _), n in changes.items() if change == UPDATE),
        "removed": sum(n for (change, _), n in changes.items() if change not in (INSERT, UPDATE)),
    }
    return branch


def has_followed(work: Folding) -> bool:
    """Whether `latest` has followed `history`; if not, the next run lets it."""
    return latest_reached(work) == (work.folded, work.generation)


def latest_reached(work: Folding) -> tuple[Folded, str]:
    """What `latest` is a fold of, and its generation."""
    is_there = exists(work.spark, work.catalog, work.spec.target.latest)
    return marker_of(work.spark, work.catalog, work.spec.target.latest) if is_there else (Folded(), "")


def follow_latest(work: Folding, history: Branch | None) -> Branch | None:
    """Write to a branch of `latest` what `history` has written since: a key's open live version, or its end.

    `history`: its branch while it is not published, None to follow the published table. None when nothing is missing.
    Every fold stamps the rows it writes with its batch, so what is missing are the open rows stamped since. A fold can
    write without moving the batch (a window became known): a `latest` that missed one looks at its own batch again.
    A `latest` of another generation missed a rebuild, and is replaced.
    """
    found, generation = marker_of(work.spark, work.catalog, work.spec.target.latest)
    in_step, same_generation = found == work.folded, generation == work.generation
    if in_step and same_generation and history is None:
        return None
    drop_stale_branches(work.spark, work.catalog, work.spec.target.latest)
    rows = work.rows.history if history is None else history.read()
    reached = work.folded if history is None else work.target
    marker = latest_marker(work, reached)
    branch = Branch.start(work.spark, work.catalog, work.spec.target.latest, marker, sole_writer=same_generation)
    if not same_generation:
        branch.replace(latest_rows(work, rows))
        return branch
    since = min(found.batch + 1, work.target.batch) if in_step else found.batch
    opened = rows.where(F.col(names.VALID_TO).isNull())
    columns = latest_schema(work.stored).names
    moved = opened.where(F.col(names.BATCH) >= since)
    moved = moved.select(*[F.col(quoted(name)) for name in [*columns, names.IS_CURRENT]])
    # After a fold that this table missed, nobody knows any more which keys it left without a version.
    asked = work.taken_away if in_step else branch.read()
    if asked is not None:
        moved = moved.unionByName(keys_without_version(work, asked, opened), allowMissingColumns=True)
    # Cut from the table that it is read from: a statement that rewrites files looks at its source twice, and Spark
    # cannot plan the second look at a view over a branch.
    view = temporary_view(moved.transform(checkpointed))
    branch.execute(latest_merge(branch.identifier, view, work.identity, columns, work.has_null_keys))
    work.spark.catalog.dropTempView(view)
    return branch


def keys_without_version(work: Folding, asked: DataFrame, opened: DataFrame) -> DataFrame:
    """The keys that no version is left of: a READ was all there was, and a truncate in its window came late.

    Needs: asked, opened: the columns that a row is known by; opened: the open versions.
    Gives: these columns, and _is_current: false.
    Rows: filters `asked`.
    """
    keys = [F.col(quoted(name)) for name in work.identity]
    left = opened.select(*[key.alias(f"_open_{index}") for index, key in enumerate(keys)])
    same = [key.eqNullSafe(F.col(f"_open_{index}")) for index, key in enumerate(keys)]
    return asked.select(*keys).join(left, on=same, how="left_anti").select("*", F.lit(False).alias(names.IS_CURRENT))


def latest_rows(work: Folding, history: DataFrame) -> DataFrame:
    """The rows of `latest` that a history gives: the open versions of live keys."""
    columns = [F.col(quoted(name)) for name in latest_schema(work.stored).names]
    return history.where(F.col(names.VALID_TO).isNull() & F.col(names.IS_CURRENT)).select(*columns)

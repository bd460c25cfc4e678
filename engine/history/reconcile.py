"""The heart: what the changes of each key make of it. Read this file first.

A table's history is a fold of its changes, key by key, in the order of the source's positions:

1. `interleave`        the key's open version, then its new changes, in one timeline
   `place_reads`       READs that carry only a time find their place in it
   `look_back`         each row sees the first of its key and the one before it
2. `mark_late`         changes that reach behind what is folded: their keys are folded again from all their changes
3. `mark_redeliveries` the same change delivered twice counts once
4. `supersede_reads`   a streamed change supersedes every snapshot READ of its key in whose window it falls
5. `carry_state`       what is known of the row after each change; partial rows take the rest from before
6. `judge`             does the change open a version, update the open one in place, or change nothing?
7. `build_versions`              versions as half-open intervals that follow each other without gap or overlap

Of a table without a key, `number_copies` tells equal rows apart first; the number is part of the key from then on.

Nothing here reads or writes a table: the run does, before and after. `reconcile` over the open versions and a batch
gives the same rows as `reconcile` over nothing and all changes ever, as long as no key is late.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.history.classify import judge
from siltstone.engine.history.duplicate_rows import number_copies
from siltstone.engine.history.fold_settings import Folded, FoldRules
from siltstone.engine.history.intervals import build_versions
from siltstone.engine.history.key_timeline import first_row, interleave, mark_late, place_reads, undo_key_swaps
from siltstone.engine.history.row_states import carry_state, row_before, supersede_reads
from siltstone.engine.ordering.chronology import TIED, look_back, mark_redeliveries
from siltstone.engine.ordering.redeliveries import with_common_values


def reconcile(
    existing: DataFrame | None, changes: DataFrame, rules: FoldRules, folded: Folded | None = None
) -> DataFrame:
    """Fold changes over open versions, or over nothing.

    Needs: existing: open history rows, one a key, or None; changes: as `change_rows` gives them; folded: the marker
        of `existing`, None when there is no `existing`.
    Gives: what `build_versions` gives: one row a change with its outcome, and at the last row of each version the version.
    Rows: existing and changes, 1:1.
    """
    if rules.keyless:
        changes = number_copies(changes, rules)
    rows = undo_key_swaps(changes, rules) if rules.swaps and not rules.keyless else changes
    timeline = interleave(existing, rows, rules)
    if folded is None and not rules.keyless:  # or keys with ties are folded again so; `number_copies` has done it
        timeline = with_common_values(timeline)
    if rules.guarded and not rules.keyless:  # `number_copies` has placed them, among all equal rows
        timeline = place_reads(timeline, rules)
    first, tied = ((), ()) if folded is None else (first_row(rules), TIED)
    seeing = look_back(timeline, first, (*row_before(rules), *tied))
    marked = seeing.withColumn("reaches_back", F.lit(False)) if folded is None else mark_late(seeing, folded, rules)
    return (
        marked.transform(mark_redeliveries)
        .transform(supersede_reads, rules)
        .transform(carry_state, rules)
        .transform(judge, rules)
        .transform(build_versions, rules)
    )

"""Turn the changes of each key into the versions of its history. Read this file first.

The history of a table is a fold of its changes: key by key, in the order of the source's positions. Example:

    change of key 7            outcome      history of key 7 afterwards
    12:00  insert a=1          opened       a=1 [12:00, )
    12:05  update a=2          opened       a=1 [12:00, 12:05)   a=2 [12:05, )
    12:05  the same update     redelivered  (as before)
    12:09  update a=2          absorbed     (as before: a is 2 already)
    12:30  delete              opened       a=1 [12:00, 12:05)   a=2 [12:05, 12:30)   deleted [12:30, )

`reconcile` runs these steps. Each is a function from DataFrame to DataFrame.

1. `interleave`         puts the key's open version and its new changes in one timeline
   `place_reads`        finds the place of READs that have a time but no position
   `look_back`          shows each row the first row of its key and the row before it
2. `mark_late`          marks changes that come before something already folded; the run recomputes their keys
3. `mark_redeliveries`  marks the second copy of a change, so that it counts once
4. `supersede_reads`    marks snapshot READs that a streamed change inside their window supersedes
5. `carry_state`        computes the known row after each change; a partial row takes its other columns from before
6. `classify`           decides: does the change open a version, update the open version in place, or change nothing?
7. `build_versions`     gives the versions half-open intervals without gap or overlap

In a table without a key, the whole row is the key. `number_duplicate_rows` first numbers equal rows, and the number
becomes part of the key.

Nothing here reads or writes a table. The run reads before and writes after. As long as no key is late, `reconcile` of
the open versions and a batch gives the same rows as `reconcile` of all changes from the beginning.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.history.classify import classify
from siltstone.engine.history.duplicate_rows import number_duplicate_rows
from siltstone.engine.history.fold_settings import Folded, FoldRules
from siltstone.engine.history.intervals import build_versions
from siltstone.engine.history.key_timeline import first_row, interleave, mark_late, place_reads, undo_key_swaps
from siltstone.engine.history.row_states import carry_state, row_before, supersede_reads
from siltstone.engine.ordering.chronology import TIED, look_back, mark_redeliveries
from siltstone.engine.ordering.redeliveries import with_common_values


def reconcile(
    existing: DataFrame | None, changes: DataFrame, rules: FoldRules, folded: Folded | None = None
) -> DataFrame:
    """Fold changes over the open versions of their keys, or from the beginning.

    Needs: existing: open history rows, one per key, or None; changes: as `change_rows` gives them; folded: the marker
        of `existing`, None if there is no `existing`.
    Gives: the columns of `build_versions`: each change with its outcome, and the version on the last row of each
        version.
    Rows: existing and changes, 1:1.
    """
    if rules.keyless:
        changes = number_duplicate_rows(changes, rules)
    rows = undo_key_swaps(changes, rules) if rules.swaps and not rules.keyless else changes
    timeline = interleave(existing, rows, rules)
    # `number_duplicate_rows` has done the next two steps for keyless tables.
    if folded is None and not rules.keyless:  # over open versions, `mark_late` sends keys with ties to a recomputation
        timeline = with_common_values(timeline)
    if rules.guarded and not rules.keyless:
        timeline = place_reads(timeline, rules)
    first, tied = ((), ()) if folded is None else (first_row(rules), TIED)
    linked = look_back(timeline, first, (*row_before(rules), *tied))
    marked = linked.withColumn("reaches_back", F.lit(False)) if folded is None else mark_late(linked, folded, rules)
    return (
        marked.transform(mark_redeliveries)
        .transform(supersede_reads, rules)
        .transform(carry_state, rules)
        .transform(classify, rules)
        .transform(build_versions, rules)
    )

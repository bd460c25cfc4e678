"""Positions as people read them, of tables that are read without a JVM."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from engine.decode.notation import shown
from engine.errors import SpecError
from engine.look.reading import Reader, load_table, table_names
from engine.names import LAST_POSITION, MARKER_TAG, POSITION, SUMMARY_FOLDED
from engine.schema.gap import Gap
from engine.spec import load_specs
from engine.spec.model import ProjectSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyiceberg.table import Table


def sources_of(history: "Table") -> tuple[str, ...]:
    """The sources of a table's changes, as its newest marker says; none where nothing is folded."""
    snapshot = history.snapshot_by_name(MARKER_TAG) or history.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    return tuple(json.loads(summary.get(SUMMARY_FOLDED, "{}")).get("sources", ()))


def sources_by_table(catalog: Reader, project: ProjectSpec, tables: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The sources of the changes of some tables; none of one that is not there."""
    try:
        specs = load_specs(None, project) if tables else ()
    except SpecError:  # names that no spec gives are the usual ones
        specs = ()
    histories = {table: table_names(table, project, specs).history for table in tables}
    return {
        table: sources_of(load_table(catalog, history)) if catalog.table_exists(history) else ()
        for table, history in histories.items()
    }


def with_notation(found: "pa.Table", sources: "Sequence[str]", prefix: str = "") -> "pa.Table":
    """The rows with their positions as the source writes them: in place of them, or beside them under another name,
    which `prefix` begins."""
    import pyarrow as pa

    for name in (POSITION, LAST_POSITION):
        if name in found.column_names:
            texts = pa.array([shown(position, sources) for position in found[name].to_pylist()], pa.string())
            at = found.column_names.index(name)
            found = found.add_column(at + 1, prefix + name, texts) if prefix else found.set_column(at, name, texts)
    return found


def shown_span(gap: Gap, sources: "Sequence[str]") -> dict[str, str | None]:
    """The positions of a gap as its source writes them."""
    return {"shown_from": shown(gap.position_from, sources), "shown_to": shown(gap.position_to, sources)}

"""Positions in readable form, for tables that are read without a JVM."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from siltstone.engine.decode.position_notation import LogFile, Notation, has_log_files
from siltstone.engine.errors import SpecError
from siltstone.engine.names import CONTROL, LAST_POSITION, MARKER_TAG, POSITION, SUMMARY_FOLDED
from siltstone.engine.reader.table_reader import Reader, load_table, table_names
from siltstone.engine.schema.control_kinds import LOG_FILE
from siltstone.engine.schema.gap_record import Gap
from siltstone.engine.spec import load_specs
from siltstone.engine.spec.model import ProjectSpec

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table


def sources_of(history: "Table") -> tuple[str, ...]:
    """The sources of a table's changes, from its newest marker; none if nothing is folded."""
    snapshot = history.snapshot_by_name(MARKER_TAG) or history.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    return tuple(json.loads(summary.get(SUMMARY_FOLDED, "{}")).get("sources", ()))


def notation_of(catalog: Reader, history: str, control: str) -> Notation:
    """The notation for the positions of a table. `control`: the name of the table of control events."""
    sources = sources_of(load_table(catalog, history)) if catalog.table_exists(history) else ()
    return Notation.of(sources, log_files(catalog, control) if has_log_files(sources) else ())


def log_files(catalog: Reader, control: str) -> list[LogFile]:
    """The log files that control events name."""
    from pyiceberg.expressions import EqualTo

    if not catalog.table_exists(control):
        return []
    columns = ("source", "position", "payload")
    rows = load_table(catalog, control).scan(EqualTo("kind", LOG_FILE), columns).to_arrow().to_pylist()
    return [(row["source"], row["position"], row["payload"]) for row in rows]


def notations_of(catalog: Reader, project: ProjectSpec, gaps: Iterable[Gap]) -> defaultdict[str, Notation]:
    """The notations for the positions of gaps, by the gap's table. A gap of a source has no table and no notation."""
    tables = {gap.table for gap in gaps if gap.position_from is not None or gap.position_to is not None}
    try:
        specs = load_specs(None, project) if tables else ()
    except SpecError:  # without specs, tables have the default names
        specs = ()
    control = f"{project.namespace}.{CONTROL}"
    found = {table: notation_of(catalog, table_names(table, project, specs).history, control) for table in tables}
    return defaultdict(Notation, found)


def with_notation(found: "pa.Table", notation: Notation, prefix: str = "") -> "pa.Table":
    """The rows with their positions as the source writes them.

    They replace the stored positions. With `prefix`, they are additional columns, whose names begin with it.
    """
    import pyarrow as pa

    for name in (POSITION, LAST_POSITION):
        if name in found.column_names:
            texts = pa.array(list(map(notation.shown, found[name].to_pylist())), pa.string())
            at = found.column_names.index(name)
            found = found.add_column(at + 1, prefix + name, texts) if prefix else found.set_column(at, name, texts)
    return found


def shown_span(gap: Gap, notation: Notation) -> dict[str, str | None]:
    """The positions of a gap as its source writes them."""
    return {"shown_from": notation.shown(gap.position_from), "shown_to": notation.shown(gap.position_to)}

"""Read history: the versions of a key, the table as of a time, and both as they were recorded at an earlier time."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from siltstone.engine.errors import SpecError
from siltstone.engine.names import (
    OP,
    OP_DELETE,
    POSITION,
    PROPERTY_NAMES,
    RECORDED_FROM,
    RECORDED_TO,
    VALID_FROM,
    VALID_TO,
)
from siltstone.engine.reader.table_reader import first_rows, in_order

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table


def stored_names(history: "Table") -> dict[str, str]:
    """The names of the columns that are renamed in this history table, from its properties."""
    return dict(json.loads(history.properties.get(PROPERTY_NAMES, "{}")))


def timeline(history: "Table", condition: "BooleanExpression", recorded_at: datetime | None = None) -> "pa.Table":
    """The versions that match, oldest first; versions of the same time in the order of their positions.

    `recorded_at`: as the table had them at that time.

    Raises: SpecError: the table does not keep earlier rows.
    """
    called = stored_names(history)
    order = (called.get(VALID_FROM, VALID_FROM), called.get(VALID_TO, VALID_TO), POSITION)
    return _scanned(history, [condition], recorded_at, order)


def first_versions(
    history: "Table", order: Iterable[str], limit: int | None, recorded_at: datetime | None
) -> "pa.Table":
    """The first versions in the order of these columns; for a large table, some versions."""
    from pyiceberg.expressions import AlwaysTrue

    if recorded_at is None and RECORDED_TO not in history.schema().column_names:
        return first_rows(history, order, limit)
    return _scanned(history, [AlwaysTrue()], recorded_at, order).slice(0, limit)


def as_of(
    history: "Table",
    moment: datetime,
    condition: "BooleanExpression",
    order: Iterable[str],
    recorded_at: datetime | None = None,
) -> "pa.Table":
    """The rows that were valid at a time: they start at or before it, end after it, and are not deleted.

    `recorded_at`: as the table had them at that time.
    """
    from pyiceberg.expressions import And, GreaterThan, IsNull, LessThanOrEqual, NotEqualTo

    called, then = stored_names(history), moment.isoformat()
    valid_from, valid_to = called.get(VALID_FROM, VALID_FROM), called.get(VALID_TO, VALID_TO)
    alive = And(LessThanOrEqual(valid_from, then), NotEqualTo(OP, OP_DELETE), condition)
    return _scanned(
        history, [And(IsNull(valid_to), alive), And(GreaterThan(valid_to, then), alive)], recorded_at, order
    )


def _scanned(
    history: "Table", conditions: "list[BooleanExpression]", recorded_at: datetime | None, order: Iterable[str]
) -> "pa.Table":
    """The rows that meet one of several exclusive conditions, as the table had them at `recorded_at`.

    It scans one snapshot several times: PyIceberg fails on `x > t OR x IS NULL` over files whose partition of x is
    null.
    """
    import pyarrow as pa
    from pyiceberg.expressions import And

    parts = [
        history.scan(And(one, other)).to_arrow() for one in conditions for other in _recorded_at(history, recorded_at)
    ]
    found = [part for part in parts if part.num_rows] or parts[:1]
    return in_order(pa.concat_tables(found, promote_options="permissive"), order)


def _recorded_at(history: "Table", recorded_at: datetime | None) -> "list[BooleanExpression]":
    """Conditions of which exactly one holds for each row that the table had at a time (None: now)."""
    from pyiceberg.expressions import AlwaysTrue, And, GreaterThan, IsNull, LessThanOrEqual

    if RECORDED_TO not in history.schema().column_names:
        if recorded_at is not None:
            raise SpecError(
                f"Cannot show {'.'.join(history.name())} as it was recorded at another time: it does not keep earlier"
                " rows.",
                hint="history.recorded: true keeps them, from the first run on.",
            )
        return [AlwaysTrue()]
    if recorded_at is None:
        return [IsNull(RECORDED_TO)]
    already_recorded = LessThanOrEqual(RECORDED_FROM, recorded_at.isoformat())
    return [
        And(already_recorded, IsNull(RECORDED_TO)),
        And(already_recorded, GreaterThan(RECORDED_TO, recorded_at.isoformat())),
    ]

"""Reading history: the versions of a key, the table as of a time, and what the table said of either at another time."""

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
    """The columns of history that are called otherwise in this table, and how: the table tells it itself."""
    return dict(json.loads(history.properties.get(PROPERTY_NAMES, "{}")))


def timeline(history: "Table", condition: "BooleanExpression", said: datetime | None = None) -> "pa.Table":
    """The versions that match, oldest first; versions of one instant in the order of their positions.

    `said`: as the table had them at that time.

    Raises: SpecError: the table does not tell what it said before.
    """
    called = stored_names(history)
    order = (called.get(VALID_FROM, VALID_FROM), called.get(VALID_TO, VALID_TO), POSITION)
    return _scanned(history, [condition], said, order)


def first_versions(history: "Table", order: Iterable[str], limit: int | None, said: datetime | None) -> "pa.Table":
    """The first versions in the order of these columns; for a large table, some versions."""
    from pyiceberg.expressions import AlwaysTrue

    if said is None and RECORDED_TO not in history.schema().column_names:
        return first_rows(history, order, limit)
    return _scanned(history, [AlwaysTrue()], said, order).slice(0, limit)


def as_of(
    history: "Table",
    moment: datetime,
    condition: "BooleanExpression",
    order: Iterable[str],
    said: datetime | None = None,
) -> "pa.Table":
    """The rows that were true at a moment: valid from then or before, valid still, and not deleted.

    `said`: as the table had them at that time.
    """
    from pyiceberg.expressions import And, GreaterThan, IsNull, LessThanOrEqual, NotEqualTo

    called, then = stored_names(history), moment.isoformat()
    valid_from, valid_to = called.get(VALID_FROM, VALID_FROM), called.get(VALID_TO, VALID_TO)
    alive = And(LessThanOrEqual(valid_from, then), NotEqualTo(OP, OP_DELETE), condition)
    return _scanned(history, [And(IsNull(valid_to), alive), And(GreaterThan(valid_to, then), alive)], said, order)


def _scanned(
    history: "Table", conditions: "list[BooleanExpression]", said: datetime | None, order: Iterable[str]
) -> "pa.Table":
    """The rows that meet one of the conditions, which exclude each other, and that the table said.

    Several scans of one snapshot: PyIceberg fails on `x > t OR x IS NULL` over files whose partition of x is null.
    """
    import pyarrow as pa
    from pyiceberg.expressions import And

    parts = [history.scan(And(one, other)).to_arrow() for one in conditions for other in _said_at(history, said)]
    found = [part for part in parts if part.num_rows] or parts[:1]
    return in_order(pa.concat_tables(found, promote_options="permissive"), order)


def _said_at(history: "Table", said: datetime | None) -> "list[BooleanExpression]":
    """The conditions of which the rows that the table said at a time (None: now) meet one."""
    from pyiceberg.expressions import AlwaysTrue, And, GreaterThan, IsNull, LessThanOrEqual

    if RECORDED_TO not in history.schema().column_names:
        if said is not None:
            raise SpecError(
                f"Cannot tell what {'.'.join(history.name())} said at another time: it does not keep it.",
                hint="history.recorded: true keeps it, from the first run on.",
            )
        return [AlwaysTrue()]
    if said is None:
        return [IsNull(RECORDED_TO)]
    already_recorded = LessThanOrEqual(RECORDED_FROM, said.isoformat())
    return [
        And(already_recorded, IsNull(RECORDED_TO)),
        And(already_recorded, GreaterThan(RECORDED_TO, said.isoformat())),
    ]

"""Updates that give a row another key, where only the spec names that key.

Debezium splits an update in two only where the key of its messages changes. Such an update becomes the same two
changes, as Debezium would have written them.

    op      key  old key       op      key  old_key, new_key
    update  B    A             delete  A    new_key B         only the key, where the row before is not whole
                               insert  B    old_key A
    update  B    B             update  B                      written in another way: 1 and "1"
    update  B    none          update  B                      unavailable, or null: whose row it was is not known
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from siltstone.engine import names
from siltstone.engine.decode.row_shape import TableShape


def split_updates(
    changes: pa.RecordBatch, updates: Sequence[int], old_keys: pa.StructArray, shape: TableShape
) -> tuple[pa.RecordBatch, list[int]]:
    """The changes, of which some updates become a delete and an insert; and from which change each one is.

    `updates`: which they are; `old_keys`: the key before each of them.
    """
    split = changes.take(pa.array(updates, pa.int64()))
    parts = pa.concat_batches([changes, _deletes(split, old_keys, shape), _inserts(split, old_keys)])
    first = {at: changes.num_rows + number for number, at in enumerate(updates)}
    order, origins = [], []
    for at in range(changes.num_rows):
        halves = [first[at], first[at] + len(updates)] if at in first else [at]
        order += halves
        origins += [at] * len(halves)
    return parts.take(pa.array(order, pa.int64())), origins


def _deletes(updates: pa.RecordBatch, old_keys: pa.StructArray, shape: TableShape) -> pa.RecordBatch:
    """What the updates take away."""
    before, row_type = updates.column("before"), updates.schema.field("row").type
    values = dict(zip(before.type.names, before.flatten(), strict=True))
    values |= dict(zip(old_keys.type.names, old_keys.flatten(), strict=True))
    only_key = list(shape.keys)
    return _with(
        updates,
        op=pa.array([names.OP_DELETE] * updates.num_rows),
        key=old_keys,
        row=pa.StructArray.from_arrays([values[field.name] for field in row_type], fields=list(row_type)),
        present=pa.array(
            [None if is_whole else only_key for is_whole in before.is_valid().to_pylist()],
            updates.schema.field("present").type,
        ),
        old_key=pa.nulls(updates.num_rows, old_keys.type),
        new_key=updates.column("key"),
        rescued=pa.nulls(updates.num_rows, pa.string()),
        is_half=pa.array([True] * updates.num_rows),
    )


def _inserts(updates: pa.RecordBatch, old_keys: pa.StructArray) -> pa.RecordBatch:
    """What the updates bring."""
    return _with(
        updates,
        op=pa.array([names.OP_INSERT] * updates.num_rows),
        before=pa.nulls(updates.num_rows, updates.schema.field("before").type),
        old_key=old_keys,
        is_half=pa.array([True] * updates.num_rows),
    )


def _with(changes: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """The changes with other columns in place of some."""
    schema = changes.schema
    return pa.RecordBatch.from_arrays([columns.get(name, changes.column(name)) for name in schema.names], schema=schema)

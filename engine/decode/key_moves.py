"""Updates that change a row's key, where only the spec declares that key.

Debezium splits an update only if the key of its messages changes. Here the other key changes are split into the same
two changes that Debezium would write.

    op      key  old key       op      key  old_key, new_key
    update  B    A             delete  A    new_key B         has only the key if the before image is incomplete
                               insert  B    old_key A
    update  B    B             update  B                      different spelling: 1 and "1"
    update  B    none          update  B                      unavailable or null: the old key is unknown
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from siltstone.engine import names
from siltstone.engine.decode.row_shape import TableShape


def split_updates(
    changes: pa.RecordBatch, updates: Sequence[int], old_keys: pa.StructArray, shape: TableShape
) -> tuple[pa.RecordBatch, list[int]]:
    """The changes with some updates split into a delete and an insert; and the original change of each result.

    `updates`: the places of these updates. `old_keys`: the key before each of them.
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
    """The inserts of the new rows."""
    return _with(
        updates,
        op=pa.array([names.OP_INSERT] * updates.num_rows),
        before=pa.nulls(updates.num_rows, updates.schema.field("before").type),
        old_key=old_keys,
        is_half=pa.array([True] * updates.num_rows),
    )


def _with(changes: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """The changes with some columns replaced."""
    schema = changes.schema
    return pa.RecordBatch.from_arrays([columns.get(name, changes.column(name)) for name in schema.names], schema=schema)

"""Decodes events with equal encodings to the columns of their changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from siltstone.engine import names
from siltstone.engine.decode.image_columns import (
    ImageColumns,
    Object,
    Readers,
    object_or_none,
    parsed_images,
    read_images,
)
from siltstone.engine.decode.row_details import LossReasons, RowDetails
from siltstone.engine.decode.row_reasons import BROKEN, RowReasons
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.decode.types.column_reader import UNAVAILABLE

_NO_LOSSES: Final[LossReasons] = {}


@dataclass(frozen=True)
class TableRules:
    """How the events of a table become rows. `row_type`, `key_type`: the types of the values. `schema`: of the changes.

    `has_other_halves`: `old_key` or `new_key` of a key change is the row of its other half. `omits_columns`: a column
    that an image lacks is unknown. `splits_keys`: an update of a key that only the spec declares is split.
    """

    shape: TableShape
    details: RowDetails
    reasons: RowReasons
    row_type: pa.StructType
    key_type: pa.StructType
    schema: pa.Schema
    has_other_halves: bool
    omits_columns: bool
    splits_keys: bool


class RowBatch:
    """Some events of a table, decoded. `readers`: the readers of the columns, for the encodings of these events."""

    def __init__(self, rules: TableRules, readers: Readers, events: pa.RecordBatch) -> None:
        self._rules, self._readers, self._events = rules, readers, events
        self._ops: list[str] = events.column("op").to_pylist()
        befores, afters = self._texts("before_json"), self._texts("after_json")
        images = [
            before if op == names.OP_DELETE else after
            for op, before, after in zip(self._ops, befores, afters, strict=True)
        ]
        self._images = images
        self._rows = read_images(images, readers, rules.shape, rules.row_type)
        olds = [before if op == names.OP_UPDATE else None for op, before in zip(self._ops, befores, strict=True)]
        is_needed = rules.shape.has_before_images and any(olds)
        self._olds = read_images(olds, readers, rules.shape, rules.row_type) if is_needed else None
        self._losses = {at: self._losses_of(at, lost) for at, lost in self._rows.lost.items()}
        self._full = self._are_full(self._rows)
        self._separate_keys = self._fill_keys()
        self._reasons = self._all_reasons()

    def changes(self) -> pa.RecordBatch:
        """One change for each event, with the columns of the rules' schema."""
        schema, number = self._rules.schema, len(self._ops)
        row, key = self._row_and_key()
        made = {
            "row": row,
            "key": key,
            "before": self._before(),
            "present": self._present(),
            "old_key": self._keys(self._old_keys()),
            "new_key": self._keys(self._texts("new_key_json")),
            "rescued": self._rescued(),
            "reason": pa.array(self._reasons, pa.string()),
            "is_half": pa.array([False] * number, pa.bool_()),
        }
        columns = [made[f.name] if f.name in made else self._events.column(f.name).cast(f.type) for f in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def moves(self) -> tuple[list[int], pa.StructArray | None]:
        """The updates that change a key which their message does not have, and their old keys."""
        keys, olds = self._rules.shape.keys, self._olds
        if olds is None or not self._rules.splits_keys:
            return [], None
        key_texts = self._texts("key_json")
        found = [at for at in range(len(self._ops)) if self._differs(at, keys) and not self._has_fields(key_texts[at])]
        places = pa.array(found, pa.int64())
        arrays = [olds.arrays[key].take(places) for key in keys]
        return found, pa.StructArray.from_arrays(arrays, fields=list(self._rules.key_type))

    def _has_fields(self, key: bytes | None) -> bool:
        """Whether the key of a message has all key columns."""
        (found,), _ = parsed_images([key], self._rules.shape)
        return found is not None and all(name in found for name in self._rules.shape.keys)

    def _differs(self, at: int, keys: Sequence[str]) -> bool:
        """Whether both images of an update are known and have different keys."""
        rows, olds = self._rows, self._olds
        if olds is None or olds.objects[at] is None or rows.objects[at] is None or self._reasons[at] is not None:
            return False
        old, new = ([stored[key][at] for key in keys] for stored in (olds.stored, rows.stored))
        return old != new and None not in old

    # --- the parts of events ----------------------------------------------------------------------------------------

    def _texts(self, name: str) -> list[bytes | None]:
        column = self._events.column(name)
        if column.null_count == len(column):
            return [None] * len(column)
        return column.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]

    def _losses_of(self, at: int, lost: Iterable[str]) -> LossReasons:
        image = self._rows.objects[at] or {}
        return {name: self._readers[name].loss_reason(image[name]) for name in lost}

    def _fill_keys(self) -> dict[int, Object]:
        """Take keys that an image lacks from the separate key of its event. Gives the separate keys, by event."""
        rows, keys = self._rows, self._rules.shape.keys
        lacking = {at for key in keys for at in self._where_null(key) if _lacks(rows.objects[at], key)}
        if not lacking:
            return {}
        texts = self._texts("key_json")
        wanted = [text if at in lacking else None for at, text in enumerate(texts)]
        objects, _ = parsed_images(wanted, self._rules.shape)
        separate = {at: found for at, found in enumerate(objects) if found is not None}
        for name in keys:
            stored, reader = rows.stored[name], self._readers[name]
            for at, key in separate.items():
                if stored[at] is None and key.get(name) is not None:
                    stored[at] = reader.convert(key[name])
            rows.arrays[name] = pa.array(stored, self._rules.row_type.field(name).type)
        return separate

    def _where_null(self, key: str) -> list[int]:
        """The events without a stored value of a key column, except truncates."""
        if not self._rows.arrays[key].null_count:
            return []
        both = enumerate(zip(self._rows.stored[key], self._ops, strict=True))
        return [at for at, (value, op) in both if value is None and op != names.OP_TRUNCATE]

    def _old_keys(self) -> list[bytes | None]:
        texts = self._texts("old_key_json")
        if not self._rules.splits_keys:
            return texts
        return [None if op == names.OP_UPDATE else text for op, text in zip(self._ops, texts, strict=True)]

    # --- the columns of changes -------------------------------------------------------------------------------------

    def _row_and_key(self) -> tuple[pa.Array, pa.Array]:
        """The rows and their keys. Null for a truncate."""
        is_truncate = None
        if names.OP_TRUNCATE in self._ops:
            is_truncate = pa.array([op == names.OP_TRUNCATE for op in self._ops])
        row, key = (
            pa.StructArray.from_arrays([self._rows.arrays[f.name] for f in kind], fields=list(kind), mask=is_truncate)
            for kind in (self._rules.row_type, self._rules.key_type)
        )
        return row, key

    def _before(self) -> pa.Array:
        """The before images that are complete."""
        kind, is_whole = self._rules.row_type, self._are_whole_before()
        if not any(is_whole):
            return pa.nulls(len(self._ops), kind)
        rows, olds = self._rows.arrays, self._olds.arrays if self._olds else self._rows.arrays
        is_delete = pa.array([op == names.OP_DELETE for op in self._ops])
        columns = [pc.if_else(is_delete, rows[field.name], olds[field.name]) for field in kind]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=pc.invert(pa.array(is_whole)))

    def _are_whole_before(self) -> list[bool]:
        """For each event, whether its before image is complete."""
        if not self._rules.shape.has_before_images:
            return [False] * len(self._ops)
        olds = self._are_full(self._olds) if self._olds else [False] * len(self._ops)
        by_op = zip(self._ops, self._full, olds, strict=True)
        is_whole = [
            full if op == names.OP_DELETE else old_full if op == names.OP_UPDATE else False
            for op, full, old_full in by_op
        ]
        for at, losses in self._losses.items():
            if self._ops[at] == names.OP_DELETE and UNAVAILABLE in losses.values():
                is_whole[at] = False
        for at, lost in (self._olds.lost if self._olds else {}).items():
            is_whole[at] = is_whole[at] and self._is_harmless(at, lost)
        if self._rules.omits_columns:
            self._keep_complete(is_whole)
        return is_whole

    def _keep_complete(self, is_whole: list[bool]) -> None:
        """Mark before images that lack a column as incomplete."""
        columns = self._readers.keys()
        for at, op in enumerate(self._ops):
            images = self._rows if op == names.OP_DELETE else self._olds
            if is_whole[at] and images is not None and at in images.irregular:
                is_whole[at] = columns <= (images.objects[at] or {}).keys()

    def _is_harmless(self, at: int, lost: Iterable[str]) -> bool:
        """Whether the before image of an update lacks only values outside of the calendar."""
        image = (self._olds.objects[at] if self._olds else None) or {}
        return all(self._readers[name].is_unrepresentable_time(image[name]) for name in lost)

    def _are_full(self, images: ImageColumns) -> list[bool]:
        """For each event, whether its image has more than keys."""
        details = self._rules.details
        if not details.others:
            return [image is not None for image in images.objects]
        stored = (images.arrays[name].is_valid() for name in details.others)
        found: list[bool] = reduce(pc.or_, stored).to_pylist()
        for at in images.lost:
            found[at] = details.is_full(images.objects[at])
        return found

    def _present(self) -> pa.Array:
        details, objects = self._rules.details, self._rows.objects
        found: list[list[str] | None] = [None] * len(self._ops)
        only_keys = {at for at, op in enumerate(self._ops) if op == names.OP_DELETE and not self._full[at]}
        is_whole = self._events.column("is_whole").to_pylist()
        for at in self._unusual() | only_keys:
            losses = self._losses.get(at, _NO_LOSSES)
            found[at] = details.present(self._ops[at], objects[at], losses, at in only_keys, is_whole[at])
        return pa.array(found, pa.list_(pa.field("element", pa.string())))

    def _rescued(self) -> pa.Array:
        found: list[str | None] = [None] * len(self._ops)
        for at in self._unusual():
            losses = self._losses.get(at, _NO_LOSSES)
            found[at] = self._rules.details.rescued(self._rows.objects[at], losses, self._old_fields(at, losses))
        return pa.array(found, pa.string())

    def _old_fields(self, at: int, losses: LossReasons) -> Collection[str]:
        """The original field names of an image, if a rescued value can have an old name."""
        text = self._images[at] if losses and self._rules.shape.has_old_names else None
        return (object_or_none(text) or {}) if text is not None else ()

    def _unusual(self) -> set[int]:
        return self._rows.irregular | self._losses.keys()

    def _keys(self, texts: Sequence[bytes | None]) -> pa.Array:
        """The keys from their JSON texts. A value that does not fit is null."""
        kind = self._rules.key_type
        if not any(texts):
            return pa.nulls(len(texts), kind)
        objects, _ = parsed_images(texts, self._rules.shape)
        columns = [self._key_column(objects, field) for field in kind]
        return pa.StructArray.from_arrays(
            columns, fields=list(kind), mask=pa.array([found is None for found in objects])
        )

    def _key_column(self, objects: Sequence[Object | None], field: pa.Field) -> pa.Array:
        values = [None if found is None else found.get(field.name) for found in objects]
        return pa.array(self._readers[field.name].convert_all(values), field.type)

    # --- reject reasons ---------------------------------------------------------------------------------------------

    def _all_reasons(self) -> list[str | None]:
        reasons: list[str | None] = [None] * len(self._ops)
        lacking: dict[int, list[str]] = {}
        for key in self._rules.shape.keys:
            for at in self._where_null(key):
                lacking.setdefault(at, []).append(key)
        for at in self._losses.keys() | lacking.keys() | self._rows.broken:
            if self._ops[at] != names.OP_TRUNCATE:
                reasons[at] = self._reason(at, lacking.get(at, ()))
        if self._rules.has_other_halves:
            self._add_other_halves(reasons)
        return reasons

    def _reason(self, at: int, lacking: Sequence[str]) -> str | None:
        if at in self._rows.broken:
            return BROKEN
        image, key = self._rows.objects[at], self._separate_keys.get(at)
        return self._rules.reasons.of_row(image, key, lacking, self._losses.get(at, _NO_LOSSES), self._readers)

    def _add_other_halves(self, reasons: list[Any]) -> None:
        """Add the reasons of the other halves of key changes, where the own half is valid."""
        both = zip(self._texts("new_key_json"), self._texts("old_key_json"), strict=True)
        texts = [None if reasons[at] is not None else new or old for at, (new, old) in enumerate(both)]
        halves, _ = parsed_images(texts, self._rules.shape)
        for at, text in enumerate(texts):
            if text is not None:
                reasons[at] = self._rules.reasons.of_other_half(halves[at], self._readers)


def _lacks(image: Object | None, key: str) -> bool:
    return image is None or image.get(key) is None

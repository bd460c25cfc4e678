"""The shape of one table's rows: the stored columns, and their encodings in the events of a batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from pyspark.sql import types as T

from siltstone.engine.spec.model import Mask

EncodingKind = Literal[
    "boolean",
    "integer",
    "unsigned",
    "floating",
    "decimal_base64",
    "decimal_text",
    "decimal_any",
    "decimal_either",
    "decimal_number",
    "text",
    "any_text",
    "base64",
    "base64_url",
    "hex",
    "bits",
    "days",
    "millis",
    "micros",
    "nanos",
    "moment",
    "instant",
    "date",
    "zoned_text",
    "local_text",
    "time_millis",
    "time_micros",
    "time_nanos",
    "time",
    "time_either",
    "time_text",
    "array",
    "written_text",
    "written_integer",
    "written_floating",
    "written_boolean",
    "written_bits",
    "written_any_bits",
    "written_bytes",
    "written_moment",
    "written_time",
    "written_enum",
    "written_set",
    "marked",
    "unsure",
]


SINGLE: Final = 32  # bits


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a value in an event. `labels`: the labels of an enum or a set, in their order.

    `size`: scale of a decimal, number of bits, digits of a second, length of bytes that lost zeros (None: unknown).
    """

    kind: EncodingKind
    size: int | None = None
    items: Encoding | None = None
    labels: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether values, or the items of an array, are 32-bit floats."""
        floating = self.kind in ("floating", "written_floating") and self.size == SINGLE
        return floating or (self.items is not None and self.items.is_single)

    @classmethod
    def of(cls, kind: T.DataType, encoding: EncodingKind) -> Encoding:
        """The encoding of a source's type. A 32-bit float stays one, also in a column with a wider type."""
        return cls(encoding, SINGLE if isinstance(kind, T.FloatType) else None)


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """One stored column.

    `encodings` pairs schema hashes with encodings. The hash None is for events without their own schema, and for every
    hash that is not listed. `value_type` is the type before the mask. `is_guessed`: the type is inferred from the
    values of the first batch, because the spec does not declare it and some events have no schema. `spellings`: the
    other names of the column in events. They differ only in upper and lower case, and no event has two of them; or they
    are earlier names in the source. `first_name`: its first name in the source, which hashes use.
    """

    name: str
    value_type: T.DataType
    encodings: tuple[tuple[int | None, Encoding], ...]
    mask: Mask | None = None
    salt: str = field(default="", repr=False)
    is_guessed: bool = False
    spellings: frozenset[str] = frozenset()
    first_name: str = ""

    @property
    def hash_name(self) -> str:
        """The name of the column in hashes."""
        return self.first_name or self.name

    @property
    def type(self) -> T.DataType:
        """The stored type. A hash is text, whatever the type of the value."""
        return T.StringType() if self.mask == "sha256" else self.value_type


@dataclass(frozen=True, slots=True)
class TableShape:
    """The key columns (none: a keyless table) and all columns of a table.

    `dropped`: columns whose values must not be stored anywhere. `is_closed`: the events of the batch have no other
    fields, so that the decoder does not search for them. `silent_nulls`: columns in which null means no value was sent.
    `has_before_images`: the image of a delete is the row before it. `has_old_names`: some columns had other names in
    the source.
    """

    keys: tuple[str, ...]
    columns: tuple[ColumnShape, ...]
    dropped: frozenset[str] = frozenset()
    is_closed: bool = False
    silent_nulls: frozenset[str] = frozenset()
    has_before_images: bool = True
    has_old_names: bool = False

    @property
    def other_spellings(self) -> dict[str, str]:
        """The columns by their other names in events, which differ in upper and lower case or are old."""
        return {name: column.name for column in self.columns for name in column.spellings if name != column.name}

    @property
    def row_type(self) -> T.StructType:
        """The type of `row` and `before`."""
        return T.StructType([T.StructField(column.name, column.type) for column in self.columns])

    @property
    def key_columns(self) -> tuple[ColumnShape, ...]:
        """The columns of `key`, in the order of the keys. All columns for a keyless table."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.keys) if self.keys else self.columns

    @property
    def key_type(self) -> T.StructType:
        """The type of `key`, `old_key` and `new_key`."""
        return T.StructType([T.StructField(column.name, column.type) for column in self.key_columns])

"""What one table's rows look like: the stored columns, and how the events at hand carry each of them."""

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
    """How an event carries a value. `labels`: of an enum or a set, in their order.

    `size`: scale of a decimal, number of bits, digits of a second, length of bytes that lost zeros (None: not said).
    """

    kind: EncodingKind
    size: int | None = None
    items: Encoding | None = None
    labels: tuple[str, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether values, or those of an array, are floats."""
        floating = self.kind in ("floating", "written_floating") and self.size == SINGLE
        return floating or (self.items is not None and self.items.is_single)

    @classmethod
    def of(cls, kind: T.DataType, encoding: EncodingKind) -> Encoding:
        """How values of a source's type are carried: what was a float stays one, also in a column that became wider."""
        return cls(encoding, SINGLE if isinstance(kind, T.FloatType) else None)


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """One stored column.

    `encodings` pairs schema hashes with encodings; the hash None stands for events without a schema of their own, and
    for every hash that is not listed. `value_type` is the type before the mask. `guessed` says that neither the spec
    nor all events tell the type: the values of the first batch did. `spellings`: the other names under which events
    carry the column: they differ only in upper and lower case, and no event has two of them, or the source called the
    column so before. `first_name`: what it called it first; hashes know the column by it.
    """

    name: str
    value_type: T.DataType
    encodings: tuple[tuple[int | None, Encoding], ...]
    mask: Mask | None = None
    salt: str = field(default="", repr=False)
    guessed: bool = False
    spellings: frozenset[str] = frozenset()
    first_name: str = ""

    @property
    def hash_name(self) -> str:
        """The name by which hashes know the column."""
        return self.first_name or self.name

    @property
    def type(self) -> T.DataType:
        """The stored type: a hash is text, whatever it is a hash of."""
        return T.StringType() if self.mask == "sha256" else self.value_type


@dataclass(frozen=True, slots=True)
class TableShape:
    """The key columns (none: a keyless table) and all columns of a table.

    `dropped` names columns whose values must not be stored anywhere. `closed` says that the events at hand carry no
    field beyond these, so that nobody needs to look for one. `silent_nulls` names columns in which a null says nothing.
    `images` says that a delete's image is what the row was before. `has_old_names`: the source called some
    columns otherwise before.
    """

    keys: tuple[str, ...]
    columns: tuple[ColumnShape, ...]
    dropped: frozenset[str] = frozenset()
    closed: bool = False
    silent_nulls: frozenset[str] = frozenset()
    images: bool = True
    has_old_names: bool = False

    @property
    def other_spellings(self) -> dict[str, str]:
        """The columns by the other names that events have for them: upper and lower case differ, or they are old."""
        return {name: column.name for column in self.columns for name in column.spellings if name != column.name}

    @property
    def row_type(self) -> T.StructType:
        """The type of `row` and `before`."""
        return T.StructType([T.StructField(column.name, column.type) for column in self.columns])

    @property
    def key_columns(self) -> tuple[ColumnShape, ...]:
        """The columns of `key`, in the order of the keys; all columns for a keyless table."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.keys) if self.keys else self.columns

    @property
    def key_type(self) -> T.StructType:
        """The type of `key`, `old_key` and `new_key`."""
        return T.StructType([T.StructField(column.name, column.type) for column in self.key_columns])

"""The columns of a table, by its changes: their types, and the form of their values."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.columns_seen import ColumnsSeen, Seen
from siltstone.engine.decode.event import Event
from siltstone.engine.decode.event_schemas import KNOWN_FROM_VALUES, row_columns
from siltstone.engine.decode.json_kinds import LONG, VOID, WHOLE, kind_of, type_of_kinds
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object
from siltstone.engine.decode.table_shape import distinct
from siltstone.engine.init.guessed_types import Evidence, Guess
from siltstone.engine.names import OP_INSERT, OP_READ, TAKEN_NAMES
from siltstone.engine.schema.evolve import promotes, widest

DECIMAL_DIGITS: Final = 38
LONGS: Final = range(-(2**63), 2**63)
UNSIGNED: Final = range(2**63, 2**64)
DIGITS_OF_LONGS: Final = (19, 20)  # of the numbers that only fit an unsigned bigint
YEARS: Final = (946_684_800, 4_102_444_800)  # 2000 to 2100, in seconds since 1970
UNITS: Final = {3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}
LONGEST_COUNT: Final = 19  # digits of nanoseconds since 1970
_SPANS: Final = tuple((places, YEARS[0] * 10**places, YEARS[1] * 10**places) for places in (0, *UNITS))
_UNIT_NAMES: Final = {0: "seconds", **UNITS}
ROUTER_COLUMN: Final = "__dbz__physicalTableIdentifier"
"""The column that Debezium's ByLogicalTableRouter adds to keys; no row has it."""
_INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:[\d.]+(Z|[+-]\d{2}(:?\d{2})?)?")
_NANOS: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}\.\d{6}0*[1-9]")
_TIMES: Final = frozenset({"instant", "local", "date"})
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass
class Values:
    """Facts about the values of one column, over all records."""

    kinds: set[str] = field(default_factory=set)
    present: int = 0
    nulls: int = 0
    inserted: set[Any] = field(default_factory=set)
    repeats: bool = False
    digits: set[int] = field(default_factory=set)
    shapes: set[str] = field(default_factory=set)
    units: set[str | None] = field(default_factory=set)
    unsigned: bool = False  # a text is a number that only fits an unsigned bigint
    nanos: bool = False  # a text is a time with more digits than microseconds
    evidence: Evidence = field(default_factory=Evidence)

    def add(self, value: Any, inserted: bool) -> None:
        """Add one value."""
        self.present += 1
        self.kinds.add(kind_of(value))
        if value is None:
            self.nulls += 1
            return
        self.evidence.add(value)
        if inserted and not isinstance(value, dict | list) and not self.repeats:
            self.repeats = value in self.inserted
            self.inserted.add(value)
        places = None
        if isinstance(value, int):
            places = _places(value)
            self.digits.add(places or 0)
        elif isinstance(value, str):
            if value.isascii() and value.isdigit() and len(value) <= LONGEST_COUNT:
                places = _places(int(value))
            self.shapes.add(_shape(value))
            self.unsigned = self.unsigned or _is_unsigned(value)
            self.nanos = self.nanos or bool(_NANOS.match(value))
        self.units.add(None if places is None else _UNIT_NAMES[places])

    def merge(self, other: Values) -> None:
        """Add the values of another object."""
        self.unsigned, self.nanos = self.unsigned or other.unsigned, self.nanos or other.nanos
        self.repeats = self.repeats or other.repeats or bool(self.inserted & other.inserted)
        self.present, self.nulls = self.present + other.present, self.nulls + other.nulls
        self.kinds |= other.kinds
        self.inserted |= other.inserted
        self.digits |= other.digits
        self.shapes |= other.shapes
        self.units |= other.units
        self.evidence.merge(other.evidence)

    def unit(self) -> str | None:
        """The unit that the values can count since 1970, as numbers or as texts of numbers."""
        return next(iter(self.units)) if len(self.units) == 1 else None

    def may_be_time(self) -> bool:
        """Whether the values are times, or numbers that can count a time."""
        return self.unit() is not None or (bool(self.shapes) and self.shapes <= _TIMES)

    def type(self) -> T.DataType:
        """The type that a run infers from these values."""
        return type_of_kinds(self.kinds)[0]

    def is_null(self) -> bool:
        """Whether all values are null."""
        return self.kinds <= {VOID}

    def is_written_otherwise(self) -> bool:
        """Whether all texts look like numbers or times."""
        return bool(self.shapes) and "text" not in self.shapes and isinstance(self.type(), T.StringType)

    def may_be(self) -> str | None:
        """A question about the meaning of the values, with a type; None if there is none."""
        if len(self.digits) == 1 and (places := next(iter(self.digits))) in UNITS:
            return f"{UNITS[places]} since 1970? then timestamp({places}), or timestamp_ntz({places})"
        if self.shapes and self.shapes <= _TIMES:
            zoned = {"instant": "timestamp", "local": "timestamp_ntz", "date": "date"}
            several = "times? then timestamp, with the source's time_zone for those without a zone"
            return f"times? then {zoned[next(iter(self.shapes))]}" if len(self.shapes) == 1 else several
        if not self.shapes or not self.shapes <= {"integer", "wide", "decimal"}:
            return None
        by_shape = {"decimal": "decimal(p,s)", "wide": "decimal(38,0)", "integer": "bigint"}
        return "numbers? then " + next(kind for shape, kind in by_shape.items() if shape in self.shapes)

    def is_unique(self) -> bool:
        """Whether no value is null, and no two new rows have the same value."""
        return not self.nulls and bool(self.inserted) and not self.repeats

    def can_order(self) -> bool:
        """Whether the values are numbers or times, and none is null."""
        if self.nulls:
            return False
        if self.kinds and self.kinds <= {WHOLE, LONG}:
            return True
        return bool(self.shapes) and self.shapes <= _TIMES | {"integer", "wide", "endless"}


def _is_unsigned(text: str) -> bool:
    return len(text) in DIGITS_OF_LONGS and text.isascii() and text.isdigit() and int(text) in UNSIGNED


def _shape(text: str) -> str:
    """The form of a text. Whole numbers that exceed a bigint are `wide`, those that exceed a decimal are `endless`."""
    if match := _INSTANT.fullmatch(text):
        return "instant" if match[1] else "local"
    if _DATE.fullmatch(text):
        return "date"
    bare = text.lstrip("-")
    if bare.isascii() and bare.isdigit() and (bare == "0" or not bare.startswith("0")):
        return "endless" if len(bare) > DECIMAL_DIGITS else "integer" if int(bare) in LONGS else "wide"
    return "decimal" if re.fullmatch(r"\d+\.\d+", bare) else "text"


def _places(number: int) -> int | None:
    """The digits of a second, if a number can count a time since 1970; None if that time is not in 2000 to 2100."""
    for places, first, end in _SPANS:
        if first <= number < end:
            return places
    return None


class Columns:
    """The columns of one table: the facts that changes carry (`found`), and the form of values."""

    def __init__(self) -> None:
        self.values: dict[str, Values] = {}
        self._summary = ColumnsSeen()
        self._found: Seen | None = None
        self._kinds: dict[str, set[T.DataType]] = {}
        self._schemas: set[str] = set()
        self._is_roomy = False

    def add(self, change: Event) -> None:
        """Add one change."""
        self._found = None
        self._summary.add([change])
        self._add_schema(change.row_schema)
        image = change.before if change.after is None else change.after
        try:
            fields = parse_object(image or b"{}")
        except PARSE_ERRORS:
            return
        is_new = change.op in (OP_INSERT, OP_READ) and change.old_key is None
        for name, value in fields.items():
            self.values.setdefault(name, Values()).add(value, is_new)

    def _add_schema(self, schema: str | None) -> None:
        """Keep each type that a schema gives a column, also if values complete the schema."""
        if schema is None or schema in self._schemas:
            return
        self._schemas.add(schema)
        self._is_roomy = self._is_roomy or schema.startswith(KNOWN_FROM_VALUES)
        for name, (kind, _) in row_columns(schema).items():
            if not isinstance(kind, T.NullType):
                self._kinds.setdefault(name, set()).add(kind)

    def merge(self, other: Columns) -> None:
        """Add the changes of another table."""
        self._found = None
        self._summary.merge(other._summary.state)
        self._schemas |= other._schemas
        self._is_roomy = self._is_roomy or other._is_roomy
        for name, kinds in other._kinds.items():
            self._kinds.setdefault(name, set()).update(kinds)
        for name, values in other.values.items():
            self.values.setdefault(name, Values()).merge(values)

    @property
    def found(self) -> Seen:
        """The facts about columns that the changes carry."""
        if self._found is None:
            self._found = self._summary.seen()
        return self._found

    @property
    def has_own_types(self) -> bool:
        """Whether every row has a schema."""
        return bool(self.found.schemas) and not self.found.inferred

    def keys(self) -> list[tuple[str, ...]]:
        """Every key of the changes. Keys are equal if they differ only in order or in upper and lower case."""
        fields = self.found.fields
        found: dict[frozenset[str], tuple[str, ...]] = {}
        for key in self.found.keys:
            own = tuple(name for name in key if name != ROUTER_COLUMN or name in fields)
            found.setdefault(frozenset(name.casefold() for name in own), own)
        return list(found.values())

    def names(self) -> list[str]:
        """The columns: those of rows, then keys that rows lack. The spelling of a key wins."""
        keys = [name for key in self.keys() for name in key]
        spelled = {name.casefold(): name for name in reversed(keys)}
        fields = distinct(self.found.fields)
        return distinct([*(spelled.get(name.casefold(), name) for name in fields), *keys])

    def second_spellings(self) -> list[str]:
        """Fields that differ from a column only in upper and lower case, if one change has both: they are rescued."""
        columns, variants = set(self.names()), self.found.variants
        return [name for name in self.found.fields if name not in columns and name.casefold() in variants]

    def types(self) -> dict[str, T.DataType | None]:
        """The type of every column; None if the types of two schemas have no common type."""
        return {name: self._type(name) for name in self.names()}

    def _type(self, name: str) -> T.DataType | None:
        typed = [typed for _, typed in self.found.typed(name) if not isinstance(typed[0], T.NullType)]
        sure = [kind for kind, encoding in typed if encoding.kind != "unsure"]
        if sure:
            return widest(sure)
        inferred = self.found.of_column(name, self.found.inferred)
        return inferred[0] if inferred is not None and not typed else T.StringType()

    def unstable(self, keys: Collection[str]) -> dict[str, str]:
        """The columns whose types the spec must declare, with a type that holds all values.

        Either a run that sees some of the changes can store a type that cannot become the type of all changes. Or the
        type of the events does not hold all values (for `keys`: not all of their digits). If the digits of a type come
        from the values, the declared type has room for more digits.
        """
        wide = self.types()
        differ = [name for name, kinds in self._kinds.items() if not all(_becomes(k, wide.get(name)) for k in kinds)]
        unsigned = [name for name, seen in self.values.items() if seen.unsigned and wide.get(name) == T.LongType()]
        times = [name for name in keys if isinstance(wide.get(name), T.TimestampType | T.TimestampNTZType)]
        nanos = [name for name in times if name in self.values and self.values[name].nanos]
        declared = {name: declared_type(wide.get(name), self._is_roomy) for name in differ if name in wide}
        return declared | dict.fromkeys(unsigned, "bigint unsigned") | dict.fromkeys(nanos, "string")

    def declarable(self) -> dict[str, str]:
        """The columns that a spec can declare, with their types in its notation: text if schemas differ."""
        named = {name: kind for name, kind in self.types().items() if name.casefold() not in TAKEN_NAMES}
        return {name: declared_type(kind) for name, kind in named.items()}

    def guesses(self) -> dict[str, Guess]:
        """The probable meaning of the values of columns without a declared type, if a connector wrote the values."""
        keys = {name for key in self.keys() for name in key}
        guesses = {
            name: values.evidence.guess(name, name in keys)
            for name, values in self.values.items()
            if not self.found.typed(name)
        }
        return {name: guess for name, guess in guesses.items() if guess is not None}

    def key_candidates(self) -> list[str]:
        """Columns that are never null and have different values in all new rows."""
        whole = max((values.present for values in self.values.values()), default=0)
        binary = {name for name, kind in self.types().items() if isinstance(kind, T.BinaryType)}
        named = [
            name
            for name, values in self.values.items()
            if values.present == whole and values.is_unique() and name not in binary
        ]
        return sorted(named, key=lambda name: (not re.search(r"(?i)(^|_)(id|key|no|number|code)$", name), name != "id"))

    def order_candidates(self) -> list[str]:
        """Columns whose values, numbers or times, can order changes, and whose names suggest it; best names first."""
        named = [name for name, values in self.values.items() if values.can_order()]
        word = re.compile(r"(?i)updat|modif|chang|seq|version|time|_at$|_ts$|^ts$|lsn|scn|offset|commit")
        return sorted((name for name in named if word.search(name)), key=lambda name: not word.match(name))


def declared_type(kind: T.DataType | None, is_roomy: bool = False) -> str:
    """A type in the notation of specs; text if there is none. `is_roomy`: a decimal gets the maximum of digits."""
    if is_roomy and isinstance(kind, T.DecimalType):
        kind = T.DecimalType(DECIMAL_DIGITS, kind.scale)
    return kind.simpleString() if kind else "string"


def _becomes(kind: T.DataType, wide: T.DataType | None) -> bool:
    return wide is not None and promotes(kind, wide)

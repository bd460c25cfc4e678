"""Columns of a table from what its records say: the types they carry, or those their values suggest."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import types as T

from engine.decode.avro import array_of_scalars, scalar, stands_for, type_of
from engine.decode.avro_names import Named, with_full_names
from engine.decode.look import EXACT_IN_DOUBLES, LONG_NUMBER, typed_of_kinds
from engine.decode.schemas import TOLD_BY_VALUES, row_columns
from engine.names import TAKEN_NAMES
from engine.recognise.sample import Fraction
from engine.schema.evolve import promotes, widened

DECIMAL_DIGITS: Final = 38
LONGS: Final = range(-(2**63), 2**63)
UNSIGNED: Final = range(2**63, 2**64)
DIGITS_OF_LONGS: Final = (19, 20)  # of the numbers that only an unsigned one holds
YEARS: Final = (946_684_800, 4_102_444_800)  # 2000 to 2100, in seconds since 1970
UNITS: Final = {3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}
LONGEST_COUNT: Final = 19  # digits of nanoseconds since 1970
_INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:[\d.]+(Z|[+-]\d{2}(:?\d{2})?)?")
_NANOS: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}\.\d{6}0*[1-9]")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_FROM_ARROW: Final[tuple[tuple[str, T.DataType], ...]] = (
    ("is_null", T.NullType()),
    ("is_duration", T.LongType()),
    ("is_uint8", T.ShortType()),
    ("is_uint16", T.IntegerType()),
    ("is_uint32", T.LongType()),
    ("is_uint64", T.DecimalType(20, 0)),
)
_ARRAYS_OF: Final = (T.BooleanType, T.IntegerType, T.LongType, T.DoubleType, T.StringType)


@dataclass
class Values:
    """What the values of one column are like, over all records."""

    kinds: set[str] = field(default_factory=set)
    present: int = 0
    nulls: int = 0
    inserted: set[Any] = field(default_factory=set)
    repeats: bool = False
    digits: set[int] = field(default_factory=set)
    shapes: set[str] = field(default_factory=set)
    units: set[str | None] = field(default_factory=set)
    unsigned: bool = False  # a text of a number that only a bigint without a sign holds
    nanos: bool = False  # a text of a time with digits behind its microseconds

    def add(self, value: Any, inserted: bool) -> None:
        """Take one value into account."""
        self.present += 1
        self.kinds.add(kind_of(value))
        if value is None:
            self.nulls += 1
            return
        if inserted and isinstance(value, str | int | float) and not self.repeats:
            self.repeats = value in self.inserted
            self.inserted.add(value)
        if isinstance(value, int):
            self.digits |= {places for places in UNITS if YEARS[0] <= value // 10**places < YEARS[1]} or {0}
        elif isinstance(value, str):
            self.shapes.add(_shape(value))
            self.unsigned = self.unsigned or _is_unsigned(value)
            self.nanos = self.nanos or bool(_NANOS.match(value))
        self.units.add(_unit(value))

    def unit(self) -> str | None:
        """What the values may count since 1970, be they numbers or texts of them."""
        return next(iter(self.units)) if len(self.units) == 1 else None

    def type(self) -> T.DataType:
        """The type that the engine would infer from these values."""
        return typed_of_kinds(self.kinds)[0]

    def is_written_otherwise(self) -> bool:
        """Whether all texts look like numbers or times."""
        return bool(self.shapes) and "text" not in self.shapes and isinstance(self.type(), T.StringType)

    def may_be(self) -> str | None:
        """What the values may mean beyond their type."""
        if len(self.digits) == 1 and (places := next(iter(self.digits))) in UNITS:
            return f"{UNITS[places]} since 1970? then timestamp({places}), or timestamp_ntz({places})"
        if self.shapes and self.shapes <= {"instant", "local", "date"}:
            zoned = {"instant": "timestamp", "local": "timestamp_ntz", "date": "date"}
            several = "times? then timestamp, with the source's time_zone for those without a zone"
            return f"times? then {zoned[next(iter(self.shapes))]}" if len(self.shapes) == 1 else several
        if not self.shapes or not self.shapes <= {"integer", "wide", "decimal"}:
            return None
        by_shape = {"decimal": "decimal(p,s)", "wide": "decimal(38,0)", "integer": "bigint"}
        return "numbers? then " + next(kind for shape, kind in by_shape.items() if shape in self.shapes)


def kind_of(value: Any) -> str:
    """The type of a JSON value, in the words of Spark's variant; of a number that none of its types holds, text."""
    if value is None:
        return "VOID"
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        digits = len(str(abs(value)))
        if value in LONGS:
            return "BIGINT" if abs(value) <= EXACT_IN_DOUBLES else LONG_NUMBER
        return f"DECIMAL({digits},0)" if digits <= DECIMAL_DIGITS else "STRING"
    if isinstance(value, Fraction):
        whole, _, places = value.lstrip("-").partition(".")
        if "e" in value.lower():
            return "DOUBLE" if math.isfinite(float(value)) else "STRING"
        digits = max(len((whole + places).lstrip("0")), len(places), 1)
        return f"DECIMAL({digits},{len(places)})" if digits <= DECIMAL_DIGITS else "STRING"
    if isinstance(value, float):
        return "DOUBLE"
    return "STRING" if isinstance(value, str) else "ARRAY" if isinstance(value, list | tuple) else "OBJECT"


def _is_unsigned(text: str) -> bool:
    return len(text) in DIGITS_OF_LONGS and text.isascii() and text.isdigit() and int(text) in UNSIGNED


def _shape(text: str) -> str:
    """What a text looks like. Of whole numbers a bigint holds no `wide` ones, and a decimal no `endless` ones."""
    if match := _INSTANT.fullmatch(text):
        return "instant" if match[1] else "local"
    if _DATE.fullmatch(text):
        return "date"
    bare = text.lstrip("-")
    if bare.isascii() and bare.isdigit() and (bare == "0" or not bare.startswith("0")):
        return "endless" if len(bare) > DECIMAL_DIGITS else "integer" if int(bare) in LONGS else "wide"
    return "decimal" if re.fullmatch(r"\d+\.\d+", bare) else "text"


def _unit(value: Any) -> str | None:
    """What a whole number may count since 1970; None where it is none, or of a time far from ours."""
    text = str(value) if isinstance(value, str | int) else ""
    if not text.isascii() or not text.isdigit() or len(text) > LONGEST_COUNT:
        return None
    units = {0: "seconds", **UNITS}
    return next((unit for places, unit in units.items() if YEARS[0] <= int(text) // 10**places < YEARS[1]), None)


@dataclass
class Columns:
    """The columns of one table: `said` by the records' own schemas, and `values` of those without. `kinds`: each type
    that a schema said; `by_values`: schemas that say all of a column only together, by what is equal in them.
    """

    said: dict[str, T.DataType | None] = field(default_factory=dict)
    kinds: dict[str, set[T.DataType]] = field(default_factory=dict)
    by_values: dict[str, set[str]] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    schemas: set[str] = field(default_factory=set)
    carried: int = 0
    bare: int = 0

    def add(self, schema: Mapping[str, Any] | None, row: Mapping[str, Any] | None, inserted: bool) -> None:
        """Take one row into account."""
        if schema is not None:
            self.carried += 1
            text = json.dumps(schema, sort_keys=False)
            if text not in self.schemas:
                self.schemas.add(text)
                if text.startswith(TOLD_BY_VALUES):
                    self.by_values.setdefault(json.dumps([schema["dts"], schema["fields"]]), set()).add(text)
                else:
                    self.tell({name: kind for name, (kind, _) in row_columns(text).items()})
        else:
            self.bare += row is not None
        for name, value in (row or {}).items():
            self.values.setdefault(name, Values()).add(value, inserted)

    def tell(self, types: Mapping[str, T.DataType | None]) -> None:
        """Types that a schema says; None where two schemas cannot agree."""
        _join(self.said, types)
        for name, kind in types.items():
            if kind is not None and not isinstance(kind, T.NullType):
                self.kinds.setdefault(name, set()).add(kind)

    @property
    def told(self) -> dict[str, T.DataType | None]:
        """The types that all schemas together say."""
        if not self.by_values:
            return self.said
        told, seen = dict(self.said), dict(self.said)
        for schemas in self.by_values.values():
            typed = row_columns(next(iter(schemas)), schemas)
            _join(told, {name: kind for name, (kind, encoding) in typed.items() if encoding.kind != "unsure"})
            for name, (kind, _) in typed.items():
                seen.setdefault(name, kind)  # text that may be bytes, until another record says which
        return seen | told

    def types(self) -> dict[str, T.DataType | None]:
        """Every column's type: as told, else as inferred."""
        told = self.told
        inferred = {name: values.type() for name, values in self.values.items() if name not in told}
        found = {**told, **(inferred if self.bare or not told else {})}
        return {name: T.StringType() if isinstance(kind, T.NullType) else kind for name, kind in found.items()}

    def unsettled(self, keys: Collection[str]) -> dict[str, str]:
        """The columns of which a run that sees some of the records may store a type that cannot become that of all, or
        whose type holds not all values (of `keys`, not all their digits), with one that does. Where values tell their
        digits, it has room for more."""
        kinds = {name: set(seen) for name, seen in self.kinds.items()}
        for text in (text for schemas in self.by_values.values() for text in schemas):
            for name, (kind, _) in row_columns(text).items():
                kinds.setdefault(name, set()).add(kind)
        wide = self.told
        differ = [name for name, seen in kinds.items() if not all(_becomes(kind, wide.get(name)) for kind in seen)]
        unsigned = [name for name, seen in self.values.items() if seen.unsigned and wide.get(name) == T.LongType()]
        times = [name for name in keys if isinstance(wide.get(name), T.TimestampType | T.TimestampNTZType)]
        nanos = [name for name in times if name in self.values and self.values[name].nanos]
        declared = {name: _declared(wide.get(name), bool(self.by_values)) for name in differ}
        return declared | dict.fromkeys(unsigned, "bigint unsigned") | dict.fromkeys(nanos, "string")

    def declarable(self) -> dict[str, str]:
        """The columns that a spec can declare, with their types as it writes them: text where schemas differ."""
        named = {name: kind for name, kind in self.types().items() if name.casefold() not in TAKEN_NAMES}
        return {name: _declared(kind) for name, kind in named.items()}

    def key_candidates(self) -> list[str]:
        """Columns that are never null, and of which no two new rows have the same value."""
        whole = max((values.present for values in self.values.values()), default=0)
        named = [
            name
            for name, values in self.values.items()
            if values.present == whole and not values.nulls and values.inserted and not values.repeats
        ]
        return sorted(named, key=lambda name: (not re.search(r"(?i)(^|_)(id|key|no|number|code)$", name), name != "id"))

    def order_candidates(self) -> list[str]:
        """Columns whose values may order changes: times and numbers whose names say so first."""
        named = [name for name, values in self.values.items() if not values.nulls and _orders(values)]
        word = re.compile(r"(?i)updat|modif|chang|seq|version|time|_at$|_ts$|^ts$|lsn|scn|offset|commit")
        return sorted((name for name in named if word.search(name)), key=lambda name: not word.match(name))


def _join(known: dict[str, T.DataType | None], types: Mapping[str, T.DataType | None]) -> None:
    for name, kind in types.items():
        before = known.get(name, kind)
        if isinstance(before, T.NullType) or isinstance(kind, T.NullType):  # of nothing but nulls: the other one says
            known[name] = kind if isinstance(before, T.NullType) else before
        else:
            known[name] = None if before is None or kind is None else widened(before, kind)


def _declared(kind: T.DataType | None, roomy: bool = False) -> str:
    """A type as a spec writes it: text where there is none; `roomy`: a decimal with all the digits there can be."""
    if roomy and isinstance(kind, T.DecimalType):
        kind = T.DecimalType(DECIMAL_DIGITS, kind.scale)
    return kind.simpleString() if kind else "string"


def _becomes(kind: T.DataType, wide: T.DataType | None) -> bool:
    return wide is not None and promotes(kind, wide)


def _orders(values: Values) -> bool:
    numeric = values.kinds <= {"BIGINT", LONG_NUMBER} and bool(values.kinds)
    return numeric or (
        bool(values.shapes) and values.shapes <= {"instant", "local", "date", "integer", "wide", "endless"}
    )


def avro_types(schema: Any, part: Callable[[Any], Any] = lambda schema: schema) -> dict[str, T.DataType]:
    """The columns of an Avro record, a part of the schema, as the engine stores them."""
    full, named = with_full_names(schema)
    return {field["name"]: _avro_type(field["type"], named) for field in type_of(part(full), named)["fields"]}


def _avro_type(written: Any, named: Named) -> T.DataType:
    """A type of Avro's as the engine stores it; its logical type counts inside the type only."""
    kind = type_of(written, named)
    found = scalar(kind) or array_of_scalars(kind)
    if found is not None:
        return found[0]
    name = stands_for(kind)
    if name is not None:
        return _avro_type({field["name"]: field["type"] for field in kind["fields"]}[name], named)
    return _of_union(kind if isinstance(kind, list) else [kind])


def _of_union(parts: Iterable[Any]) -> T.DataType:
    """Several types at once, as Spark reads them."""
    kinds = {part for part in parts if isinstance(part, str)}
    if kinds == {"int", "long"}:
        return T.LongType()
    return T.DoubleType() if kinds == {"float", "double"} else T.StringType()


def arrow_types(schema: Any) -> dict[str, T.DataType]:
    """The columns of a Parquet file as the engine stores them."""
    return {column.name: _stored(_arrow_type(column.type)) for column in schema}


def _arrow_type(kind: Any) -> T.DataType:
    """A type of Arrow's as Spark reads it from a file, which knows less than Arrow's own header says."""
    from pyarrow import types as arrow
    from pyspark.sql.pandas.types import from_arrow_type

    if arrow.is_time(kind):
        return T.StringType()
    if arrow.is_list(kind) and (arrow.is_time(kind.value_type) or _is_nanos(kind.value_type)):
        return T.ArrayType(T.IntegerType() if arrow.is_time32(kind.value_type) else T.LongType())
    found: T.DataType | None = next((told for fits, told in _FROM_ARROW if getattr(arrow, fits)(kind)), None)
    if found is not None:
        return found
    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)
    except Exception:  # noqa: BLE001  # a type that Spark has no name for, in any of its errors
        return T.StringType()


def _is_nanos(kind: Any) -> bool:
    from pyarrow import types as arrow

    return bool(arrow.is_timestamp(kind)) and kind.unit == "ns"


def _stored(kind: T.DataType) -> T.DataType:
    """A type of Spark's as the engine stores it."""
    if isinstance(kind, T.ByteType | T.ShortType):
        return T.IntegerType()
    if isinstance(kind, T.ArrayType):
        return kind if isinstance(kind.elementType, _ARRAYS_OF) else T.StringType()
    return T.StringType() if isinstance(kind, T.StructType | T.MapType) else kind

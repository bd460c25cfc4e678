"""Records of Avro and Parquet files as messages: JSON text, with the types of the columns as a row schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import types as T

from engine.decode.avro_names import Named, with_full_names
from engine.decode.avro_types import EVENT_TIMES, array_of_scalars, clock_unit, only_type, scalar, stands_for, type_of
from engine.decode.carried import carried_schema
from engine.decode.event import Message
from engine.decode.shape import Encoding
from engine.inputs.avro import without_logical_types

Types = Mapping[str, T.DataType]

ARROW_BATCH: Final = 1_000
_TEXT: Final = Encoding("text")
_VALUES: Final = ("value_avro", "value")
_COORDINATES: Final = frozenset({"topic", "destination", "partition", "offset"})
_OF_A_TOPIC: Final = _COORDINATES | {"value_avro", "key", "headers"}
_PAYLOAD: Final = "payload"
_FROM_ARROW: Final[tuple[tuple[str, T.DataType], ...]] = (
    ("is_null", T.NullType()),
    ("is_duration", T.LongType()),
    ("is_uint8", T.ShortType()),
    ("is_uint16", T.IntegerType()),
    ("is_uint32", T.LongType()),
    ("is_uint64", T.DecimalType(20, 0)),
)
_ARRAYS_OF: Final = (T.BooleanType, T.IntegerType, T.LongType, T.DoubleType, T.StringType)


@dataclass(frozen=True)
class TypedRecords:
    """The first records of a file that describes its columns.

    `types`: of the columns; `payload_types`: of those of the rows in events. `binary`: the columns that can hold
    messages of bytes. `event_units`: what the times of events count.
    """

    records: tuple[dict[str, Any], ...]
    types: Types
    is_whole: bool
    payload_types: Types | None = None
    binary: frozenset[str] = frozenset()
    event_units: Mapping[str, str] | None = None

    def rows(self, file: str) -> tuple[Message, ...]:
        """The records as plain rows."""
        return _messages(file, self.records, _schema(self.types))

    def events(self, file: str) -> tuple[Message, ...]:
        """The records as events of Datastream; none where they have no payload."""
        if self.payload_types is None:
            return ()
        units = self.event_units or {}
        records = (record | _times_in_millis(record, units) for record in self.records)
        return _messages(file, records, _schema(self.payload_types))

    def topic_messages(self, file: str) -> tuple[Message, ...]:
        """The records as messages of bytes; none where no column holds such."""
        value = self._value_column()
        if value is None:
            return ()
        return _messages(file, (record | {"value": record[value]} for record in self.records))

    def _value_column(self) -> str | None:
        """The column of messages: it has the name that a topic's records give it, or it is the only one of bytes."""
        names = self.types.keys()
        if len(names) > 1 and not _OF_A_TOPIC & names:
            return None
        named = [name for name in _VALUES if name in names]
        if named:
            return named[0] if isinstance(self.types[named[0]], T.BinaryType | T.StringType) else None
        return next(iter(self.binary)) if len(self.binary) == 1 else None


def row_schema_of_texts(names: Iterable[str]) -> str:
    """The row schema of columns that are all text."""
    return _schema(dict.fromkeys(names, T.StringType()))


def _schema(types: Types) -> str:
    """How values are carried does not matter here: only their types do."""
    return carried_schema({name: (kind, _TEXT) for name, kind in types.items()})


def _messages(file: str, records: Iterable[Mapping[str, Any]], schema: str | None = None) -> tuple[Message, ...]:
    return tuple(
        Message(file, number, msgspec.json.encode(record, enc_hook=str), row_schema=schema)
        for number, record in enumerate(records, 1)
    )


# --- Avro -----------------------------------------------------------------------------------------------------------


def avro_records(path: Path, most: int) -> TypedRecords:
    """The first records of an Avro file. Values are as they are encoded: Python's dates and times are fewer than those
    of files.

    Raises: ValueError and others: the file is damaged.
    """
    import fastavro
    from fastavro.schema import SchemaParseException, UnknownType

    with path.open("rb") as file:
        try:
            blocks: Any = fastavro.block_reader(file)
            encoded = fastavro.parse_schema(without_logical_types(blocks.writer_schema))
        except (SchemaParseException, UnknownType) as error:
            raise ValueError(f"its schema is no Avro schema ({error})") from error
        bodies = (block.bytes_ for block in blocks for _ in range(block.num_records))
        read = (fastavro.schemaless_reader(body, encoded, None) for body in bodies)
        records: tuple[Any, ...] = tuple(islice(read, most))
        schema = blocks.writer_schema
    types = avro_types(schema)
    fields = {field["name"]: field["type"] for field in schema["fields"]}
    return TypedRecords(
        records,
        types,
        len(records) < most,
        avro_types(schema, lambda full: _field_type(full, _PAYLOAD)) if _PAYLOAD in fields else None,
        frozenset(name for name, kind in types.items() if isinstance(kind, T.BinaryType)),
        {name: clock_unit(only_type(fields[name])) for name in EVENT_TIMES if name in fields},
    )


def _field_type(schema: Any, name: str) -> Any:
    return next(field["type"] for field in schema["fields"] if field["name"] == name)


def _times_in_millis(record: Mapping[str, Any], units: Mapping[str, str]) -> dict[str, Any]:
    times = {name: record[name] for name, unit in units.items() if unit == "micros"}
    return {name: time // 1_000 if isinstance(time, int) else time for name, time in times.items()}


def avro_types(schema: Any, part: Callable[[Any], Any] = lambda schema: schema) -> dict[str, T.DataType]:
    """The columns of an Avro record, a part of the schema, as they are stored."""
    full, named = with_full_names(schema)
    record = type_of(part(full), named)
    fields = record["fields"] if isinstance(record, Mapping) else ()
    return {field["name"]: _avro_type(field["type"], named) for field in fields}


def _avro_type(written: Any, named: Named) -> T.DataType:
    """A type of Avro's as it is stored; its logical type counts inside the type only."""
    kind = type_of(written, named)
    found = scalar(kind) or array_of_scalars(kind)
    if found is not None:
        return found[0]
    name = stands_for(kind)
    if name is not None:
        return _avro_type({field["name"]: field["type"] for field in kind["fields"]}[name], named)
    return _of_union(kind if isinstance(kind, list) else [kind])


def _of_union(parts: Iterable[Any]) -> T.DataType:
    """Several types at once."""
    kinds = {part for part in parts if isinstance(part, str)}
    if kinds == {"int", "long"}:
        return T.LongType()
    return T.DoubleType() if kinds == {"float", "double"} else T.StringType()


# --- Parquet --------------------------------------------------------------------------------------------------------


def parquet_records(path: Path) -> TypedRecords:
    """The first records of a Parquet file.

    Raises: ValueError: Arrow cannot read it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from engine.render import records

    try:
        file = pq.ParquetFile(path)
        batch = next(file.iter_batches(ARROW_BATCH), None)
        found = () if batch is None else tuple(records(_in_utc(batch)))
        types = arrow_types(_columns(file))
        number = file.metadata.num_rows
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    binary = frozenset(name for name, kind in types.items() if isinstance(kind, T.BinaryType))
    return TypedRecords(found, types, len(found) == number, binary=binary)


def _in_utc(batch: Any) -> Any:
    """The records with instants as times in UTC: at the ends of the calendar no other zone has a clock."""
    import pyarrow as pa

    for number, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            plain = batch.column(number).cast(pa.timestamp(column.type.unit))
            batch = batch.set_column(number, column.name, plain)
    return batch


def _columns(file: Any) -> Any:
    """The columns as Arrow has them; times of 96 bits, which Hive and Spark write, are instants."""
    import pyarrow as pa

    schema = file.schema_arrow
    for number in range(len(file.schema)):
        column = file.schema.column(number)
        if column.physical_type == "INT96" and column.path in schema.names:
            schema = schema.set(schema.get_field_index(column.path), pa.field(column.path, pa.timestamp("ns", "UTC")))
    return schema


def arrow_types(schema: Any) -> dict[str, T.DataType]:
    """The columns of a Parquet file as they are stored."""
    return {column.name: _stored(_arrow_type(column.type)) for column in schema}


def _arrow_type(kind: Any) -> T.DataType:
    """A type of Arrow's as a run reads it, which knows less than Arrow's own header says."""
    from pyarrow import types as arrow
    from pyspark.sql.pandas.types import from_arrow_type

    if arrow.is_time(kind):
        return T.StringType()
    if arrow.is_list(kind) and (arrow.is_time(kind.value_type) or _is_nanos(kind.value_type)):
        return T.ArrayType(T.IntegerType() if arrow.is_time32(kind.value_type) else T.LongType())
    found: T.DataType | None = next((stored for name, stored in _FROM_ARROW if getattr(arrow, name)(kind)), None)
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
    """A type of Spark's as it is stored."""
    if isinstance(kind, T.ByteType | T.ShortType):
        return T.IntegerType()
    if isinstance(kind, T.ArrayType):
        return kind if isinstance(kind.elementType, _ARRAYS_OF) else T.StringType()
    return T.StringType() if isinstance(kind, T.StructType | T.MapType) else kind

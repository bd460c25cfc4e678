"""Read the tables without a JVM: PyIceberg reads the same catalog that Spark writes."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Protocol

from siltstone.engine.errors import SpecError
from siltstone.engine.layout_version import refuse_newer_layout
from siltstone.engine.names import LEDGER_TABLES, PROPERTY_LAYOUT
from siltstone.engine.reader.database_catalog import is_of_server, needs_extra, server_catalog
from siltstone.engine.reader.embedded_catalog import EmbeddedCatalog, NothingWrittenError
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from siltstone.engine.sqlite_catalog import refuse_lost_catalog, sqlite_file
from siltstone.engine.timestamps import in_utc

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table
    from pyiceberg.typedef import Identifier
    from pyiceberg.types import IcebergType

PYICEBERG_TYPES: Final = ("rest", "glue", "hive")
"""The types of catalogs that PyIceberg supports by itself."""
MOVED_HINT: Final = (
    "tables hold the absolute paths of their files: if the project or its warehouse was moved, put it back, or make a"
    " link to it where it was; if the warehouse was removed, restore it"
)
SORTED_UP_TO = 100_000
"""Tables with at most this many rows are shown in the order of their keys, larger ones in the order of their files."""


class Reader(Protocol):
    """The operations of a catalog that reading needs. PyIceberg's catalogs have them too."""

    @property
    def name(self) -> str: ...
    def load_table(self, identifier: str) -> "Table": ...
    def table_exists(self, identifier: str) -> bool: ...
    def list_namespaces(self) -> "list[Identifier]": ...
    def list_tables(self, namespace: "Identifier") -> "list[Identifier]": ...


@dataclass(frozen=True)
class TableNames:
    """The tables that a word on the command line names. `keys`: known if a spec names them."""

    latest: str
    history: str
    changes: str
    keys: tuple[str, ...] = ()


def table_names(word: str, project: ProjectSpec, specs: Iterable[TableSpec]) -> TableNames:
    """The tables of a word: a latest, history or source name, the name of a spec file, or any table of the catalog."""
    spec = find_spec(word, specs)
    if spec is not None:
        return TableNames(spec.target.latest, spec.target.history, spec.target.changes, spec.keys or ())
    if word in LEDGER_TABLES:
        return TableNames(f"{project.namespace}.{word}", "", "")
    base = word.removesuffix("_history")
    return TableNames(base, f"{base}_history", f"{project.namespace}.{base.replace('.', '_')}_changes")


def find_spec(word: str, specs: Iterable[TableSpec]) -> TableSpec | None:
    """The spec of a word: a latest, history or source name, or the name of a spec file. None if no spec matches.

    Raises: SpecError: several specs match.
    """
    known = list(specs)
    for names_of in (_targets, _source_names, _short_names):
        found = [spec for spec in known if word in names_of(spec)]
        if len(found) == 1:
            return found[0]
        if found:
            raise SpecError(
                f"Cannot find the table {word}: several specs match.",
                hint=f"Name one of: {', '.join(spec.target.latest for spec in found)}.",
            )
    return None


def open_catalog(spec: CatalogSpec) -> Reader:
    """The project's catalog for reading: the embedded one read-only, all others through PyIceberg.

    Raises: NothingWrittenError: there is nothing to read yet. SpecError: this kind of catalog needs a JVM, or a library
        that is not installed. StorageError: it cannot be reached.
    """
    if spec.type in PYICEBERG_TYPES:
        return _loaded(spec)
    if is_of_server(spec):
        return server_catalog(spec)
    database = sqlite_file(spec)
    if database is None:
        raise SpecError(
            f"Cannot read the catalog {spec.name} without a JVM: its type is {spec.type}, its uri is {spec.uri!r}.",
            hint="show, export and runs read jdbc on SQLite, PostgreSQL and MySQL, rest, glue and hive;"
            " use Spark SQL for this one.",
        )
    refuse_lost_catalog(spec)
    if not database.is_file():
        raise NothingWrittenError(spec.name, f"{database} does not exist")
    return EmbeddedCatalog(spec.name, database, spec.properties)


def _loaded(spec: CatalogSpec) -> Reader:
    """A catalog that PyIceberg supports by its type."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NotInstalledError

    named = {"type": spec.type, "uri": spec.uri, "warehouse": spec.warehouse}
    try:
        return load_catalog(spec.name, **{k: v for k, v in named.items() if v}, **spec.properties)
    except (NotInstalledError, ImportError) as error:
        raise needs_extra(spec, spec.type, error) from error


def load_table(catalog: Reader, name: str) -> "Table":
    """A table by its dotted name.

    Raises: SpecError: there is none (the hint has the nearest names), or its files are not where the catalog has them.
    StorageError: a newer siltstone wrote it.
    """
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    if "." not in name:
        raise _no_such_table(catalog, name)
    try:
        table = catalog.load_table(name)
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        raise _no_such_table(catalog, name) from error
    except FileNotFoundError as error:
        raise moved(name, error) from error
    refuse_newer_layout(name, table.properties.get(PROPERTY_LAYOUT))
    return table


def moved(name: str, error: FileNotFoundError) -> SpecError:
    """The error for a table whose files are not where the catalog has them."""
    return SpecError(f"Cannot read {name}: {_missing(error)} does not exist.", MOVED_HINT)


def missing_file(catalog: Reader, name: str) -> str | None:
    """The metadata file of a table, if it does not exist where the catalog has it; None if it does."""
    try:
        catalog.load_table(name)
    except FileNotFoundError as error:
        return _missing(error)
    return None


def key_columns(catalog: Reader, names: TableNames) -> tuple[str, ...]:
    """The key of a table, from its spec, else from its table of changes; empty if neither has one."""
    from pyiceberg.types import StructType

    if names.keys or not (names.changes and catalog.table_exists(names.changes)):
        return names.keys
    key = load_table(catalog, names.changes).schema().find_field("key").field_type
    return tuple(field.name for field in key.fields) if isinstance(key, StructType) else ()


def first_rows(table: "Table", order: Iterable[str], limit: int | None) -> "pa.Table":
    """The first rows in the order of these columns; of a large table, any rows."""
    snapshot = table.current_snapshot()
    counted = snapshot.summary.additional_properties.get("total-records") if snapshot and snapshot.summary else None
    few = counted is not None and int(counted) <= SORTED_UP_TO
    return in_order(table.scan(limit=None if few else limit).to_arrow(), order).slice(0, limit)


def matching(table: "Table", keys: Mapping[str, str | None]) -> "BooleanExpression":
    """The filter for these key values. They are given as text and parsed by each column's type; None: null."""
    from pyiceberg.expressions import AlwaysTrue, And, EqualTo, IsNull

    columns = {field.name: field.field_type for field in table.schema().fields}
    condition: BooleanExpression = AlwaysTrue()
    for name, text in keys.items():
        if name not in columns:
            near = get_close_matches(name, columns, 1)
            raise SpecError(
                f"Cannot look up {name}: {_dotted(table)} has no such column.",
                hint=f"Did you mean {near[0]}?" if near else f"It has: {', '.join(columns)}.",
            )
        same = IsNull(name) if text is None else EqualTo(name, key_value(name, text, columns[name]))
        condition = And(condition, same)
    return condition


def batches(table: "Table") -> "pa.RecordBatchReader":
    """All rows of a table, a batch at a time."""
    return table.scan().to_arrow_batch_reader()


def key_value(name: str, text: str, kind: "IcebergType") -> object:
    """A key value from the command line, as a value of its column.

    It is written as `show` prints it: binary as base64, a time without a zone in UTC.

    Raises: SpecError: the text is no value of the column's type.
    """
    from pyiceberg.expressions.literals import literal
    from pyiceberg.types import BinaryType, DecimalType, FixedType, StringType, TimestampType, TimestamptzType

    try:
        if isinstance(kind, TimestamptzType | TimestampType):  # PyIceberg accepts neither a blank nor Z
            moment = datetime.fromisoformat(text)
            text = (in_utc(moment) if isinstance(kind, TimestamptzType) else moment).isoformat()
        if isinstance(kind, StringType):
            return text
        if isinstance(kind, DecimalType):
            return _scaled(Decimal(text), kind.scale)
        if isinstance(kind, BinaryType | FixedType):
            return base64.b64decode(text, validate=True)
        literal(text).to(kind)
    except (ValueError, TypeError, OverflowError, InvalidOperation, binascii.Error) as error:
        raise SpecError(f"Cannot look up {name}: the value given is not of type {kind}.") from error
    return text


def _scaled(value: Decimal, scale: int) -> Decimal:
    scaled = value.quantize(Decimal(1).scaleb(-scale))
    if scaled != value:
        raise ValueError(f"more than {scale} decimal places")
    return scaled


def in_order(found: "pa.Table", columns: Iterable[str]) -> "pa.Table":
    """The rows, sorted by the given columns that they have."""
    order = [(column, "ascending") for column in columns if column in found.column_names]
    return found.sort_by(order) if order and found.num_rows > 1 else found


def _targets(spec: TableSpec) -> tuple[str, ...]:
    return spec.target.latest, spec.target.history


def _source_names(spec: TableSpec) -> tuple[str, ...]:
    return spec.table, spec.file.stem if spec.file else spec.table


def _short_names(spec: TableSpec) -> tuple[str, ...]:
    return spec.table.rpartition(".")[2], spec.target.latest.rpartition(".")[2]


def _missing(error: FileNotFoundError) -> str:
    """The missing file, which PyIceberg's readers name in quotes."""
    quoted = re.search("'([^']+)'", str(error))
    return quoted.group(1) if quoted else "a file of its metadata"


def _dotted(table: "Table") -> str:
    return ".".join(table.name())


def _all_tables(catalog: Reader) -> Iterator[str]:
    for namespace in catalog.list_namespaces():
        for identifier in catalog.list_tables(namespace):
            yield ".".join(identifier)


def _no_such_table(catalog: Reader, name: str) -> SpecError:
    tables = sorted(_all_tables(catalog))
    near = get_close_matches(name, tables, 1)
    if near:
        hint = f"Did you mean {near[0]}?"
    elif tables:
        hint = f"The catalog holds: {', '.join(tables[:20])}."
    else:
        hint = "The catalog is empty: run `siltstone catch-up` first."
    return SpecError(f"Cannot find the table {name} in the catalog {catalog.name}.", hint=hint)

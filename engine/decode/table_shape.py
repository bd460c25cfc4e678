"""The shape of a table's rows: from the spec, from the schemas of changes, and from their values.

A column is already stored, or declared in the spec, or new. The types of new columns come from schemas; for changes
without a schema, from their values. Names that differ only in upper and lower case are one column, unless one change
has both. The stored name takes precedence, then the declared name, then the first name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from pyspark.sql import types as T

from siltstone.engine.decode.columns_seen import Seen, Wanted
from siltstone.engine.decode.connect import Typed
from siltstone.engine.decode.declared_types import corrected_encoding, schemaless_encoding, stored_type
from siltstone.engine.decode.row_shape import ColumnShape, Encoding, TableShape
from siltstone.engine.errors import SchemaEvolutionError, SpecError
from siltstone.engine.names import TAKEN_NAMES
from siltstone.engine.schema.evolve import widest
from siltstone.engine.spec.columns import ColumnType, parse_column_type
from siltstone.engine.spec.model import ColumnSpec, TableSpec
from siltstone.engine.spec.renamed_names import first_name, new_names, renamed
from siltstone.engine.spec.rows_format import RowsSpec
from siltstone.engine.spec.wording import nearest


def shape_of(spec: TableSpec, known: T.StructType | None, seen: Seen) -> TableShape:
    """The shape of one table's rows.

    `known`: the stored columns. `seen`: the columns that the changes have.
    Gives: known columns in their order, then declared columns, then new columns in the changes' order.
    Raises: SchemaEvolutionError: `evolution` does not allow the columns of the changes. SpecError: a key is not a
    column.
    """
    stored = {field.name: field.dataType for field in known or ()}
    table = _Table(spec, stored, replace(seen, renames=new_names(spec)))
    if spec.source.rows is not None and known is None:
        _reject_unknown_names(table, spec.source.rows)
    names = [name for name in _column_names(table) if _takes(spec, name)]
    if spec.evolution == "strict" and spec.columns and seen.has_schemaless:
        _reject_other_fields(table, names)
    keys = _keys(table, names)
    names += _separate_keys(table, keys, names)
    return _shape(table, keys, names)


def wanted_of(spec: TableSpec) -> Wanted:
    """What a table's shape needs to know of its changes."""
    return Wanted(_infers(spec), spec.keys is None, frozenset(spec.columns or ()))


def _infers(spec: TableSpec) -> bool:
    """Whether fields without a schema are needed: they become columns, or they are not allowed."""
    declared = {name.casefold() for name in spec.columns or ()}
    has_all_keys = spec.keys is not None and all(key.casefold() in declared for key in spec.keys)
    return spec.evolution != "ignore" or not declared or not has_all_keys


@dataclass(frozen=True, slots=True)
class _Table:
    """Everything that determines a table's columns."""

    spec: TableSpec
    known: dict[str, T.DataType]
    seen: Seen

    @property
    def declared(self) -> dict[str, ColumnSpec]:
        return self.spec.columns or {}

    def declaration(self, name: str) -> ColumnSpec | None:
        """The spec's declaration of a column."""
        if name in self.declared:
            return self.declared[name]
        return next((column for key, column in self.declared.items() if key.casefold() == name.casefold()), None)


def _shape(table: _Table, keys: tuple[str, ...], names: Collection[str]) -> TableShape:
    rows = table.spec.source.rows
    dropped = _dropped(table, names)
    columns = tuple(_column(name, table) for name in names if name not in dropped)
    excluded = frozenset(rows.columns.columns if rows is not None and rows.columns.mode == "except" else ())
    spellings = {spelling for name in names for spelling in table.seen.spellings(name)}
    has_all_fields = table.seen.has_readable_schemas and (_infers(table.spec) or not table.seen.has_schemaless)
    is_closed = has_all_fields and set(table.seen.fields) <= {*names, *spellings, *excluded, *dropped}
    is_closed = is_closed and not table.seen.has_both_names()
    has_old_names = bool(table.spec.renames)
    if rows is None:
        return TableShape(keys, columns, dropped, is_closed, has_old_names=has_old_names)
    silent = frozenset(name for name in names if rows.ignores_null(name))
    is_listed = rows.columns.mode == "columns"
    return TableShape(
        keys,
        columns,
        dropped | excluded,
        is_closed or is_listed,
        silent,
        has_before_images=False,
        has_old_names=has_old_names,
    )


def _dropped(table: _Table, names: Collection[str]) -> frozenset[str]:
    """Fields whose values are not stored: dropped columns in any spelling, and second spellings of masked columns."""
    masks = {name.casefold(): column.mask for name, column in table.declared.items() if column.mask is not None}
    fields = {*names, *table.seen.fields}
    second = {field for field in fields - {*names} if field.casefold() in masks.keys() & table.seen.variants}
    return frozenset(second | {field for field in fields if masks.get(table.seen.folded(field)) == "drop"})


# --- names ----------------------------------------------------------------------------------------------------------


def _column_names(table: _Table) -> list[str]:
    """The columns, without keys that are not fields of the row.

    Raises: SchemaEvolutionError: new columns are not allowed.
    """
    spec, seen = table.spec, table.seen
    base = distinct([*table.known, *table.declared])
    if spec.evolution == "additive" or not base:
        return [*base, *_spelled_as_declared(_new_names(seen, seen.fields, base), spec)]
    if spec.evolution == "strict":
        new = _new_names(seen, seen.schema_fields if table.declared else seen.fields, base)
        if new:
            raise _new_columns(spec, new, "or set evolution: additive.")
    keys = {key.casefold() for key in _given_keys(table)}
    needed = [name for name in _new_names(seen, seen.fields, base) if name.casefold() in keys]
    return [*base, *_spelled_as_declared(needed, spec)]


def _new_names(seen: Seen, fields: Iterable[str], base: Collection[str]) -> list[str]:
    """The fields that can become columns. The other fields are another spelling of a column, or they are rescued,
    because siltstone or Iceberg uses the name."""
    present = (renamed(name, seen.renames) for name in fields)
    usable = [name for name in present if name and name.casefold() not in TAKEN_NAMES]
    return distinct([*base, *usable])[len(base) :]


def _spelled_as_declared(names: Iterable[str], spec: TableSpec) -> list[str]:
    """New columns, with keys in the spelling of the spec."""
    keys = {key.casefold(): key for key in spec.keys or ()}
    return [keys.get(name.casefold(), name) for name in names]


def distinct(names: Iterable[str]) -> list[str]:
    """The names, each in its first spelling."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.casefold(), name)
    return list(found.values())


def _takes(spec: TableSpec, name: str) -> bool:
    return spec.source.rows is None or spec.source.rows.takes(name)


def _reject_other_fields(table: _Table, names: Collection[str]) -> None:
    """Check that changes without a schema have only declared fields, and fields that the spec excludes.

    Raises: SchemaEvolutionError.
    """
    rows = table.spec.source.rows
    places = () if rows is None else rows.looked_at
    found = _new_names(table.seen, sorted(set(table.seen.inferred) - {*names, *places}), names)
    new = [name for name in found if _takes(table.spec, name)]
    if new:
        raise _new_columns(table.spec, new, "or set evolution: ignore, which keeps them in _rescued.")


def _new_columns(spec: TableSpec, names: Iterable[str], otherwise: str) -> SchemaEvolutionError:
    return SchemaEvolutionError(
        f"Cannot decode {spec.table}: its events have new columns ({', '.join(names)}).",
        hint=f"Declare them under columns, {otherwise}",
    )


def _reject_unknown_names(table: _Table, rows: RowsSpec) -> None:
    """Check that the first files have the columns in the settings of rows, if the files declare their columns. With a
    misspelt name, siltstone would miss deletes, or store excluded columns. Later files can lack a column.

    Raises: SpecError.
    """
    fields = table.seen.fields
    if table.seen.has_schemaless or not table.seen.has_readable_schemas:
        return
    unknown = [(setting, name) for setting, name in rows.named if name not in {*fields, *table.declared}]
    if unknown:
        near = [found for _, name in unknown if (found := nearest(name, fields)) is not None]
        suggestion = f"did you mean {', '.join(near)}? " if near else ""
        listed = ", ".join(f"source.{setting} names {name}" for setting, name in unknown)
        raise SpecError(
            f"Cannot decode {table.spec.table}: {listed}, and no file has such a column.",
            f"{suggestion}declare a column of later files under columns",
        )


# --- keys -----------------------------------------------------------------------------------------------------------


def _keys(table: _Table, names: Iterable[str]) -> tuple[str, ...]:
    """The key columns, in the spelling of the columns."""
    spelled = {name.casefold(): name for name in names}
    return tuple(spelled.get(key.casefold(), key) for key in _given_keys(table))


def _given_keys(table: _Table) -> tuple[str, ...]:
    """The key columns from the spec, else those of the changes.

    Raises: SchemaEvolutionError: changes have several keys.
    """
    if table.spec.keys is not None:
        return table.spec.keys
    present = [tuple(renamed(name, table.seen.renames) for name in key) for key in table.seen.keys]
    found = list({tuple(name.casefold() for name in key): key for key in reversed(present)}.values())
    if len(found) > 1:
        listed = " / ".join(", ".join(key) for key in reversed(found))
        raise SchemaEvolutionError(
            f"Cannot decode {table.spec.table}: its events have several keys ({listed}).",
            hint="Name the columns of one of them under keys.",
        )
    return found[0] if found else ()


def _separate_keys(table: _Table, keys: Iterable[str], names: Collection[str]) -> list[str]:
    """The keys of changes that are not fields of the row, such as Oracle's row id. They become columns too.

    Raises: SpecError: a key from the spec is not a column, or its name is reserved.
    """
    spec = table.spec
    absent = [key for key in keys if key not in names]
    if spec.keys is None:
        reserved = [key for key in absent if key.casefold() in TAKEN_NAMES]
        if reserved:
            raise SpecError(
                f"Cannot decode {spec.table}: siltstone or Iceberg reserves the names of the table's key columns"
                f" ({', '.join(reserved)}).",
                hint="Name other columns that identify a row under keys.",
            )
        return absent
    if absent:
        raise SpecError(
            f"Cannot decode {spec.table}: no column is known for its keys ({', '.join(absent)}).",
            hint="Declare them under columns, because events without schemas do not have their types.",
        )
    return []


# --- types and encodings --------------------------------------------------------------------------------------------


def _column(name: str, table: _Table) -> ColumnShape:
    declared = table.declaration(name)
    if declared is not None:
        column_type = parse_column_type(declared.type)
        encodings = _declared_encodings(name, column_type, table)
        kind, salt = stored_type(column_type), declared.salt or ""
        return ColumnShape(name, kind, encodings, declared.mask, salt, False, *_names_of(name, table))
    found = table.seen.typed(name)
    typed = [(number, one) for number, one in found if not _is_of_nulls(one)]
    kind = _widest(name, [kind for _, (kind, encoding) in typed if encoding.kind != "unsure"], table)
    encodings = tuple((number, encoding) for number, (_, encoding) in typed)
    if encodings:  # null is equal in every encoding
        encodings += tuple((number, encodings[0][1]) for number, one in found if _is_of_nulls(one))
    if table.seen.has_schemaless or not encodings:
        encodings = (*encodings, (None, _schemaless(name, kind, table)))
    return ColumnShape(name, kind, encodings, None, "", table.seen.has_schemaless, *_names_of(name, table))


def _names_of(name: str, table: _Table) -> tuple[frozenset[str], str]:
    """The other names of a column in events, and its first name."""
    return table.seen.spellings(name) | {*table.spec.renames.get(name, ())}, first_name(table.spec, name)


def _is_of_nulls(typed: Typed) -> bool:
    """Whether a file has a column without a type, with only nulls."""
    return isinstance(typed[0], T.NullType)


def _declared_encodings(name: str, declared: ColumnType, table: _Table) -> tuple[tuple[int | None, Encoding], ...]:
    source, wanted = table.spec.source, declared.source_encoding
    bare = schemaless_encoding(declared, source, _has_any_scale(name, table))

    def corrected(actual: Encoding) -> Encoding:
        is_json = wanted.kind == "array" and actual.kind == "text"  # an array as JSON text
        return bare if is_json else corrected_encoding(actual, wanted, source)

    typed = [(number, one[1]) for number, one in table.seen.typed(name) if not _is_of_nulls(one)]
    return (*((number, corrected(encoding)) for number, encoding in typed), (None, bare))


def _schemaless(name: str, kind: T.DataType, table: _Table) -> Encoding:
    inferred = table.seen.of_column(name, table.seen.inferred)
    if inferred is not None and inferred[0] == kind:
        return inferred[1]
    declared = parse_column_type(kind.simpleString())
    return schemaless_encoding(declared, table.spec.source, _has_any_scale(name, table))


def _has_any_scale(name: str, table: _Table) -> bool:
    return not table.seen.any_scale.isdisjoint({name, *table.seen.spellings(name)})


def _widest(name: str, incoming: list[T.DataType], table: _Table) -> T.DataType:
    """The type of a column that the spec does not declare: the stored type, widened to the types of the changes.

    Raises: SchemaEvolutionError: no type holds both, or the spec does not allow a wider type.
    """
    inferred, known = table.seen.of_column(name, table.seen.inferred), table.known.get(name)
    if not incoming:
        return known or (inferred[0] if inferred else T.StringType())
    if known is not None and table.spec.evolution == "ignore":
        return known
    kinds = incoming if known is None else [known, *incoming]
    wide = widest(kinds)
    if wide is None or (table.spec.evolution == "strict" and known is not None and wide != known):
        listed = ", ".join(dict.fromkeys(kind.simpleString() for kind in kinds))
        otherwise = "." if wide is None else ", or set evolution: additive."
        raise SchemaEvolutionError(
            f"Cannot decode {table.spec.table}: column {name} changes its type ({listed}).",
            hint=f"Declare one type for {name} under columns{otherwise}",
        )
    return wide

"""What a table's rows look like: from the spec, from the schemas the events carry, or from their values."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from engine.decode.connect import Typed
from engine.decode.declared import corrected_encoding, schemaless_encoding, stored_type
from engine.decode.look import Seen, look, other_fields
from engine.decode.shape import ColumnShape, Encoding, TableShape
from engine.errors import SchemaEvolutionError, SpecError
from engine.names import TAKEN_NAMES
from engine.schema.evolve import widened
from engine.spec.columns import ColumnType, parse_column_type
from engine.spec.model import ColumnSpec, TableSpec
from engine.spec.rows import RowsSpec
from engine.spec.wording import nearest


@dataclass(frozen=True, slots=True)
class _Question:
    """All that decides on a column."""

    spec: TableSpec
    known: dict[str, T.DataType]
    seen: Seen

    @property
    def declared(self) -> dict[str, ColumnSpec]:
        return self.spec.columns or {}

    @property
    def first_time(self) -> bool:
        """Nothing was said or stored before: the events decide alone."""
        return not self.declared and not self.known


def discover(
    envelopes: DataFrame, spec: TableSpec, known: T.StructType | None = None, tell_types: bool = True
) -> TableShape:
    """The shape of one table's rows, by a small aggregation over its changes.

    Needs: envelopes of one table, kind change. `known`: the columns stored so far. `tell_types`: false where it is
        known that none of them tells its types; a spec that says all that is asked is enough then.
    Gives: known columns in their order, then declared ones, then new ones in the events' order.
    Raises: SchemaEvolutionError where the policy refuses what the events bring, SpecError where a key is no column.
    """
    stored = {field.name: field.dataType for field in known or ()}
    infer = spec.columns is None
    asked = tell_types or infer or spec.keys is None
    seen = look(envelopes, infer, spec.keys is None) if asked else Seen.nothing()
    question = _Question(spec, stored, seen)
    rows = spec.source.rows
    if rows is not None and known is None:
        _refuse_unknown_names(question, rows)
    names = [name for name in _column_names(question) if rows is None or rows.takes(name)]
    if spec.evolution == "strict" and not infer and seen.schemaless:
        _refuse_other_fields(envelopes, spec, names)
    dropped = frozenset(name for name, column in question.declared.items() if column.mask == "drop")
    columns = tuple(_column(name, question) for name in names if name not in dropped)
    keys = _keys(question)
    if spec.keys is None:  # a key can stand beside the row, as Oracle's row id does
        beside = [key for key in keys if key not in names]
        _refuse_taken_names(spec, beside)
        names += beside
        columns += tuple(_column(name, question) for name in beside)
    absent = [key for key in keys if key not in names]
    if absent:
        raise SpecError(
            f"Cannot decode {spec.table}: no column is known for its keys ({', '.join(absent)}).",
            hint="Declare them under columns; events without schemas do not tell their types.",
        )
    all_fields_seen = question.seen.is_told and (infer or not question.seen.schemaless)
    excluded = frozenset(rows.columns.columns if rows is not None and rows.columns.mode == "except" else ())
    closed = all_fields_seen and set(question.seen.typed_fields) <= {*names, *excluded}
    if rows is None:
        return TableShape(keys, columns, dropped, closed)
    silent = frozenset(name for name in names if rows.ignores_null(name))
    listed = rows.columns.mode == "columns"
    return TableShape(keys, columns, dropped | excluded, closed or listed, silent, images=False)


def _keys(question: _Question) -> tuple[str, ...]:
    if question.spec.keys is not None:
        return question.spec.keys
    found = question.seen.keys
    if len(found) > 1:
        listed = " / ".join(", ".join(key) for key in found)
        raise SchemaEvolutionError(
            f"Cannot decode {question.spec.table}: its events have several keys ({listed}).",
            hint="Name the columns of one under keys.",
        )
    return found[0] if found else ()


def _refuse_taken_names(spec: TableSpec, keys: Iterable[str]) -> None:
    """See that a key that is no column of the row could be one.

    Raises: SpecError.
    """
    taken = [key for key in keys if key.casefold() in TAKEN_NAMES]
    if taken:
        raise SpecError(
            f"Cannot decode {spec.table}: siltstone or Iceberg has columns called as its key is ({', '.join(taken)}).",
            hint="Name other columns that identify a row under keys.",
        )


def _column_names(question: _Question) -> list[str]:
    spec, seen = question.spec, question.seen
    base = dict.fromkeys([*question.known, *question.declared])
    new = _new_names(seen.typed_fields, base)
    if question.first_time or spec.evolution == "additive":
        return [*base, *new]
    if spec.evolution == "strict" and new:
        raise SchemaEvolutionError(
            f"Cannot decode {spec.table}: its events bring new columns ({', '.join(new)}).",
            hint="Declare them under columns, or set evolution: additive.",
        )
    return [*base, *[key for key in _keys(question) if key in new]]


def _refuse_other_fields(envelopes: DataFrame, spec: TableSpec, names: Collection[str]) -> None:
    """See that events that tell no types have no fields but the declared ones, and those that are left out.

    Raises: SchemaEvolutionError.
    """
    rows = spec.source.rows
    beside = () if rows is None else rows.looked_at
    found = _new_names(other_fields(envelopes, [*names, *beside]), names)
    new = [name for name in found if rows is None or rows.takes(name)]
    if new:
        raise SchemaEvolutionError(
            f"Cannot decode {spec.table}: its events bring new columns ({', '.join(new)}).",
            hint="Declare them under columns, or set evolution: ignore, which keeps them in _rescued.",
        )


def _refuse_unknown_names(question: _Question, rows: RowsSpec) -> None:
    """See that files that tell their columns, all that there are so far, have those that the settings of rows name: a
    misspelt one would delete nothing, or keep what is to be left out. Later files can lack a column, and rows of JSON.

    Raises: SpecError.
    """
    fields, declared = question.seen.typed_fields, question.declared
    if question.seen.schemaless or not question.seen.is_told:
        return
    unknown = [(setting, name) for setting, name in rows.named if name not in {*fields, *declared}]
    if unknown:
        near = [found for _, name in unknown if (found := nearest(name, fields)) is not None]
        meant = f"did you mean {', '.join(near)}? " if near else ""
        told = ", ".join(f"source.{setting} names {name}" for setting, name in unknown)
        raise SpecError(
            f"Cannot decode {question.spec.table}: {told}, and no file has such a column.",
            f"{meant}a column that is still to come is declared under columns",
        )


def _new_names(fields: Iterable[str], base: Collection[str]) -> list[str]:
    """Fields that can become columns. The others are rescued: those called like one of siltstone's own or of Iceberg's,
    and those that differ from another one only in upper and lower case, which Spark and Iceberg do not tell apart.
    """
    taken, found = {name.casefold() for name in base}, []
    for name in fields:
        if name and name.casefold() not in taken and name.casefold() not in TAKEN_NAMES:
            taken.add(name.casefold())
            found.append(name)
    return found


def _column(name: str, question: _Question) -> ColumnShape:
    declared = question.declared.get(name)
    if declared is not None:
        column_type = parse_column_type(declared.type)
        encodings = _declared_encodings(name, column_type, question)
        return ColumnShape(name, stored_type(column_type), encodings, declared.mask, declared.salt or "")
    listed = [(number, fields[name]) for number, fields in question.seen.schemas if name in fields]
    carried = [(number, typed) for number, typed in listed if not _is_of_nulls(typed)]
    kind = _widest(name, [kind for _, (kind, encoding) in carried if encoding.kind != "unsure"], question)
    encodings = tuple((number, encoding) for number, (_, encoding) in carried)
    if encodings:  # a null is one in every encoding
        encodings += tuple((number, encodings[0][1]) for number, typed in listed if _is_of_nulls(typed))
    if question.seen.schemaless or not encodings:
        encodings = (*encodings, (None, _schemaless(name, kind, question)))
    return ColumnShape(name, kind, encodings, guessed=question.seen.schemaless)


def _is_of_nulls(typed: Typed) -> bool:
    """Whether a file has a column without a type: there is nothing but nulls in it."""
    return isinstance(typed[0], T.NullType)


def _declared_encodings(
    name: str, declared: ColumnType, question: _Question
) -> tuple[tuple[int | None, Encoding], ...]:
    source = question.spec.source
    said = declared.source_encoding
    bare = schemaless_encoding(declared, source, name in question.seen.any_scale)

    def corrected(carried: Encoding) -> Encoding:
        in_text = said.kind == "array" and carried.kind == "text"  # the JSON of an array, for all that the schema says
        return bare if in_text else corrected_encoding(carried, said, source)

    listed = tuple(
        (number, corrected(f[name][1]))
        for number, f in question.seen.schemas
        if name in f and not _is_of_nulls(f[name])
    )
    return (*listed, (None, bare))


def _schemaless(name: str, kind: T.DataType, question: _Question) -> Encoding:
    inferred: Typed | None = question.seen.inferred.get(name)
    if inferred is not None and inferred[0] == kind:
        return inferred[1]
    declared = parse_column_type(kind.simpleString())
    return schemaless_encoding(declared, question.spec.source, name in question.seen.any_scale)


def _widest(name: str, carried: list[T.DataType], question: _Question) -> T.DataType:
    """One type for a column that the spec does not declare: what is stored, widened to what the events bring."""
    inferred = question.seen.inferred.get(name)
    known = question.known.get(name)
    if not carried:
        return known or (inferred[0] if inferred else T.StringType())
    kinds = carried if known is None else [known, *carried]
    wide: T.DataType | None = kinds[0]
    for kind in kinds[1:]:
        wide = None if wide is None else widened(wide, kind)
    evolution = question.spec.evolution
    if evolution == "ignore" and known is not None:
        return known
    if wide is None or (evolution == "strict" and known is not None and wide != known):
        listed = ", ".join(dict.fromkeys(kind.simpleString() for kind in kinds))
        raise SchemaEvolutionError(
            f"Cannot decode {question.spec.table}: column {name} changes its type ({listed}).",
            hint=f"Declare one type for {name} under columns"
            + ("." if wide is None else ", or set evolution: additive."),
        )
    return wide

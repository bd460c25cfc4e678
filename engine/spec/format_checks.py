"""Checks of values in the settings of formats."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from siltstone.engine.formats import FORMATS, NAMES, format_of
from siltstone.engine.spec.model import TrackSpec
from siltstone.engine.spec.predicates import Predicate, PredicateError, parse_predicate
from siltstone.engine.spec.value_checks import refuse, some_columns, text
from siltstone.engine.spec.wording import shown, word_hint


def source_format(value: object) -> str:
    """The name of a format that siltstone reads."""
    name = text(value)
    if name not in FORMATS:
        refuse(f"the format {shown(name)} is not known", word_hint(name, NAMES))
    return name


def predicate(value: object) -> Predicate:
    """A condition over the columns of a row."""
    written = text(value)
    try:
        return parse_predicate(written)
    except PredicateError as error:
        refuse(f"{shown(written)} is not a condition: {error}", "write it like op = 'D', or deleted AND NOT kept.")


def row_columns(value: object) -> TrackSpec:
    """Columns of the source's rows: `all`, a list, or `{except: [...]}`."""
    if value == "all":
        return TrackSpec()
    if isinstance(value, (list, tuple)):
        return TrackSpec("columns", some_columns(value))
    if isinstance(value, dict) and list(value) == ["except"]:
        return TrackSpec("except", some_columns(value["except"]))
    return refuse(f"must name columns, not {shown(value)}", "write all, [a, b] or {except: [a]}.")


def null_columns(value: object) -> TrackSpec | None:
    """`true` for all columns, `false` for none, a list of columns, or `{except: [...]}`."""
    if isinstance(value, bool):
        return TrackSpec() if value else None
    return row_columns(value)


def header(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The columns of files without a header, for all files or by patterns of file names."""
    by_name = value if isinstance(value, dict) else {"*": value}
    if not by_name:
        refuse("names no file", "write it like {'LOAD*': [id, name], '*': [op, id, name]}.")
    return tuple((text(pattern), some_columns(columns)) for pattern, columns in by_name.items())


def delimiter(value: object) -> str:
    """One character."""
    written = text(value) if value != "\t" else "\t"
    if len(written) != 1:
        refuse(f"must be one character, not {shown(written)}", "a tab is '\\t' in double quotes.")
    return written


def epochs_fit(form: str, epochs: Iterable[Collection[str]]) -> None:
    """Refuse conditions of epochs that no event of the format can meet. `epochs`: the conditions of each epoch."""
    for name in ("server_id", "gtid"):
        if not format_of(form).names_source and any(name in conditions for conditions in epochs):
            refuse(f"an epoch's {name} needs events that name their server; {form} has none", "write until, or path.")


def order_fits(form: str, order: str) -> None:
    """Refuse an order that the format does not have. A format with one order has no such setting."""
    known = format_of(form).orders
    if len(known) > 1 and order not in known:
        refuse(f"order: {order} is not for {form}", f"write {' or '.join(known[1:])}, or leave it out.")


def several_fits(form: str, several: str | None) -> None:
    """Refuse to separate sources if the format's events do not name their source: all would be one source."""
    if several in ("disjoint", "shards") and not format_of(form).names_source:
        refuse(
            f"several: {several} needs events that name their source, and {form} has none",
            "give each source its own tables (in its own project if tables share a name), or leave it out.",
        )

"""Checks of single values. Each returns the value as the engine uses it, or raises a violation with a hint."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, NoReturn
from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from siltstone.engine import names as reserved
from siltstone.engine.spec.check_names import CHECK_NAMES
from siltstone.engine.spec.columns import ColumnTypeError, parse_column_type
from siltstone.engine.spec.defaults import default_problem
from siltstone.engine.spec.durations import parse_duration
from siltstone.engine.spec.interpolation import FromEnvironment
from siltstone.engine.spec.model import ColumnDefault, Freshness, TrackSpec
from siltstone.engine.spec.wording import nearest, shown, word_hint
from siltstone.engine.storage import lacks_slash, with_slashes

ONE_PLACE: Final = (
    "exactly one of source.registry and source.schemas is required for debezium-avro, if the project has no registry"
)
HISTORY_KEEPS: Final = reserved.TAKEN_NAMES - {reserved.VALID_FROM, reserved.VALID_TO, reserved.IS_CURRENT}
UNBOUNDED: Final = "unbounded"
FOREVER: Final = "forever"
ANY_AGE: Final = "any"


def refuse(message: str, hint: str | None = None) -> NoReturn:
    """End the check of one value with a violation."""
    raise PydanticCustomError("violation", "{message}", {"message": message, "hint": hint})


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str):
        refuse(f"must be a text, not {shown(value)}", None if value is None else "put it in quotes.")
    if not value.strip():
        refuse("must not be empty")
    return value


def address(value: object) -> str:
    """A path, a URI, or the name of a warehouse."""
    given = text(value)
    if lacks_slash(given):
        refuse(f"{shown(given)} is neither a path nor a URI", f"write {with_slashes(given)}")
    return given


def dotted_name(value: object) -> str:
    """A name with dots between its parts, such as `inventory.customers`."""
    name = text(value)
    if "\0" in name or any(not part or part != part.strip() for part in name.split(".")):
        refuse(f"{shown(name)} is not a name with dots between its parts", "write it like inventory.customers.")
    return name


def catalog_name(value: object) -> str:
    """A text without a dot. Spark does not accept a catalog name with a dot."""
    name = text(value)
    if "." in name:
        refuse(f"{shown(name)} has a dot in it: Spark does not accept it as the name of a catalog")
    return name


def table_name(value: object) -> str:
    """A dotted name of two parts or more."""
    name = dotted_name(value)
    if "." not in name:
        refuse(f"{shown(name)} does not name a namespace", "write it like inventory.customers.")
    return name


def column_name(value: object) -> str:
    """A column's name: not empty, and not a name of siltstone's or Iceberg's own columns.

    Other names can start with an underscore, because sources have such columns: `_id`.
    """
    name = text(value)
    if name.casefold() in reserved.TAKEN_NAMES:
        refuse(f"{shown(name)} is reserved: siltstone or Iceberg has a column of that name")
    return name


def history_name(value: object) -> str:
    """The name of a column of history: not the name of another column of history, and not one of Iceberg's."""
    name = text(value)
    if name.casefold() in HISTORY_KEEPS:
        refuse(f"{shown(name)} is another column of history, or of Iceberg", "use another name.")
    return name


def names_differ(names: Mapping[str, str]) -> None:
    """Refuse two columns of history with the same name, and a column with the own name of another one.

    `names`: the given names by the columns' own names.
    """
    given = {own: name.casefold() for own, name in names.items()}
    if len({*given.values()}) < len(given):
        refuse("gives two columns one name")
    for own, name in given.items():
        if name != own and name in given:
            refuse(f"renames {own} to {name}, the name of another column of history", "use another name.")


def default_fits(value: ColumnDefault, kind: str, time_zone: str = "UTC", of: str = "") -> None:
    """Refuse a default that does not fit its type. `of`: the column, if the place of the violation does not name it."""
    if problem := default_problem(value, parse_column_type(kind), time_zone):
        refuse(f"{of}{problem}")


def defaults_fit(declared: Mapping[str, tuple[ColumnDefault, str]], time_zone: str) -> None:
    """Refuse defaults that do not fit their types in the source's time zone. `declared`: default and type by column."""
    for name, (value, kind) in declared.items():
        default_fits(value, kind, time_zone, f"column {shown(name)}: ")


def retention_fits(retained: timedelta | None, lateness: timedelta | None, keys: tuple[str, ...] | None) -> None:
    """Refuse to remove changes of a table that needs all of them."""
    if retained is None:
        return
    if keys == ():
        refuse("retain_changes: a table without a key needs all changes", "write retain_changes: forever.")
    if lateness is not None and lateness > retained:
        refuse(
            "lateness is longer than retain_changes: late changes need the changes that it removes", "shorten lateness."
        )


def column_names(value: object) -> tuple[str, ...]:
    """A list of at least one column, each of them once."""
    if not isinstance(value, (list, tuple)):
        refuse(f"must be a list of columns, not {shown(value)}", "write it like [id].")
    if not value:
        refuse("names no column")
    names = tuple(column_name(item) for item in value)
    twice = [name for index, name in enumerate(names) if name.casefold() in {n.casefold() for n in names[:index]}]
    if twice:
        refuse(f"names the column {shown(twice[0])} twice")
    return names


def key_names(value: object) -> tuple[str, ...]:
    """The key columns. A keyless table has none: its whole row is the key."""
    return () if isinstance(value, (list, tuple)) and not value else column_names(value)


def duration(value: object) -> timedelta:
    """A duration such as 15m."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        refuse(f"{value} has no unit", f"write {value}s for seconds.")
    written = text(value)
    try:
        return parse_duration(written)
    except ValueError as error:
        refuse(f"{shown(written)} {error}", "write it like 15m, 5s, 1h30m or 2d.")


def byte_count(value: object) -> int:
    """A size such as 128MB, in bytes: at least one megabyte."""
    found = re.fullmatch(r"(\d+)\s*(KB|MB|GB)?", str(value).strip(), re.IGNORECASE)
    if isinstance(value, bool) or found is None:
        refuse(f"{shown(value)} is not a size", "write it like 128MB.")
    number = int(found[1]) << {"": 0, "KB": 10, "MB": 20, "GB": 30}[(found[2] or "").upper()]
    if number < 1 << 20:
        refuse(f"{shown(value)} is less than one megabyte", "write it like 128MB.")
    return number


def lateness(value: object) -> timedelta | None:
    """`unbounded`, or a duration above 0."""
    return _bound(value, UNBOUNDED, "a bound of 0 makes every late change too late", "2d")


def retained(value: object) -> timedelta | None:
    """`forever`, or a duration above 0."""
    return _bound(value, FOREVER, "no change would be kept", "400d")


def _bound(value: object, none: str, why_some: str, example: str) -> timedelta | None:
    """A duration above 0, or None for the word `none`. `why_some`: what is wrong with a duration of 0."""
    if isinstance(value, str) and value.casefold() != none and nearest(value, [none]):
        refuse(f"{shown(value)} is not known", f"did you mean '{none}'?")
    if value is None or value == none:
        return None
    bound = duration(value)
    if not bound:
        refuse(why_some, f"write {none}, or a duration like {example}.")
    return bound


def fresh_within(value: object) -> Freshness:
    """`any`, or a duration above 0."""
    if value == ANY_AGE:
        return ANY_AGE
    limit = duration(value)
    if not limit:
        refuse("no data has an age of 0", f"write {ANY_AGE}, or a duration like 36h.")
    return limit


def time_zone(value: object) -> str:
    """A time zone by name, or an offset such as +08:00."""
    name = text(value)
    if re.fullmatch(r"[+-](0\d|1[0-7]):[0-5]\d|[+-]18:00", name) or name in _time_zones():
        return name
    return refuse(f"{shown(name)} is not a time zone", _time_zone_hint(name))


def _time_zone_hint(name: str) -> str:
    match = nearest(name, sorted(_time_zones()))
    return f"did you mean '{match}'?" if match else "write it like UTC, Europe/Berlin or +08:00."


@cache
def _time_zones() -> frozenset[str]:
    return frozenset({"UTC", "Z", *zoneinfo.available_timezones()})


def column_type(value: object) -> str:
    """The text of a column type that can be parsed."""
    written = text(value)
    try:
        parse_column_type(written)
    except ColumnTypeError as error:
        if isinstance(written, FromEnvironment):
            refuse(f"{shown(written)} is not a column type")
        refuse(error.message, error.hint)
    return written


def moment(value: object) -> datetime:
    """A time that is written with its zone, in UTC."""
    try:
        found = datetime.fromisoformat(text(value))
    except ValueError:
        refuse(f"{shown(value)} is not a time", "write it like 2026-03-01T04:00:00Z.")
    if found.tzinfo is None:
        refuse(f"{shown(value)} has no time zone", "write it like 2026-03-01T04:00:00Z.")
    return found.astimezone(UTC)


def http_url(value: object) -> str:
    """An HTTP address without a user and a password in it."""
    written = text(value)
    parts = urlsplit(written)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        refuse(f"{shown(value)} is not an HTTP address", "write it like https://registry:8081.")
    if parts.username is not None or parts.password is not None:
        refuse("has a user or a password in it, which would be shown", "write them under user and password.")
    return written


def server_id(value: object) -> int:
    """A whole number, 0 or greater."""
    written = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)
    if not written.isdigit():
        refuse(f"must be a server's number, not {shown(value)}", "write it like 223344.")
    return int(written)


def some_columns(value: object) -> tuple[str, ...]:
    """One column or a list of columns of the source's rows, each of them once. They can start with an underscore."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)):
        refuse(f"must be a column or a list of columns, not {shown(value)}", "write it like [updated_at, number].")
    names = tuple(text(item) for item in listed)
    if not names or len(set(names)) < len(names):
        refuse("names a column twice" if names else "names no column")
    return names


def each_once(texts: list[str]) -> None:
    """Refuse a text that occurs twice."""
    twice = next((text for at, text in enumerate(texts) if text in texts[:at]), None)
    if twice is not None:
        refuse(f"names {shown(twice)} twice")


def old_names(value: object) -> tuple[str, ...]:
    """The earlier names of a column: one, or a list with the oldest first."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not listed:
        refuse(f"must be a name, or a list of names, not {shown(value)}", "write it like email, or [mail, email].")
    names = tuple(column_name(item) for item in listed)
    each_once([name.casefold() for name in names])
    return names


def format_version(value: object) -> int:
    """Iceberg's format version."""
    if isinstance(value, bool) or str(value) not in ("2", "3"):
        refuse(f"must be 2 or 3, not {shown(value)}")
    return int(str(value))


def fraction(value: object) -> float:
    """A number from 0 to 1."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        refuse(f"must be a number from 0 to 1, not {shown(value)}", "0.01 is one percent.")
    return number


def setting(value: object) -> str:
    """A setting that is passed on as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        refuse(f"must be one value, not {shown(value)}")
    return value


def truth(value: object) -> bool:
    """`true` or `false`."""
    if not isinstance(value, (bool, str)) or value not in (True, False, "true", "false"):
        refuse(f"must be true or false, not {shown(value)}")
    return value in (True, "true")


def default_value(value: object) -> str | int | float | bool:
    """One plain value."""
    if not isinstance(value, (str, int, float)):
        refuse(f"must be one plain value, not {shown(value)}")
    return value


def track(value: object) -> TrackSpec:
    """`all`, a list of columns, or `{except: [...]}`."""
    if value == "all":
        return TrackSpec()
    if isinstance(value, (list, tuple)):
        return TrackSpec("columns", column_names(value))
    if isinstance(value, dict) and list(value) == ["except"]:
        return TrackSpec("except", column_names(value["except"]))
    return refuse(
        f"must name the columns that open a version, not {shown(value)}", "write all, [a, b] or {except: [a]}."
    )


def check_names(value: object) -> tuple[str, ...]:
    """`all`, or a list of the checks' names."""
    if value == "all":
        return CHECK_NAMES
    if not isinstance(value, (list, tuple)):
        refuse(f"must be all or a list of checks, not {shown(value)}")
    return tuple(dict.fromkeys(_check_name(item) for item in value))


def word_check(words: tuple[str, ...]) -> Callable[[object], str]:
    """A check that a value is one of these words."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            refuse(f"{shown(value)} is not known", word_hint(value, words))
        return value

    return check


_check_name = word_check(CHECK_NAMES)

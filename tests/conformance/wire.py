"""Values in the form that events have, in plain Python and for any date. `date` is days since 1970. `timestamp`,
`datetime` and `time` are microseconds. So years before 1, years after 9999 and hours beyond a day are ordinary
values."""

import base64
import json
import re
from decimal import Decimal
from typing import Any

SECOND = 1_000_000
SPECIAL = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
DAY = 86_400 * SECOND


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of the Gregorian calendar, extended to all years."""
    era, day = divmod(days + 719_468, 146_097)
    year_of_era = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day_of_year = day - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    year = year_of_era + era * 400 + (month >= 10)
    return year, month + 3 if month < 10 else month - 9, day_of_year - (153 * month + 2) // 5 + 1


def days_of(year: int, month: int, day: int) -> int:
    """The inverse of `civil`."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def micros_of(year: int, month: int, day: int, micros: int = 0) -> int:
    """A time from its date and the microseconds of its day."""
    return days_of(year, month, day) * DAY + micros


def iso_date(days: int) -> str:
    """A date as Java writes it: with a sign if the year does not have four digits."""
    year, month, day = civil(days)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def iso_moment(micros: int, between: str = "T", zone: str = "Z", digits: int = 6) -> str:
    """Date and time, with `digits` digits of a second (0: none)."""
    days, rest = divmod(micros, DAY)
    return iso_date(days) + between + clock(rest, digits) + zone


def clock(micros: int, digits: int = 6) -> str:
    """HH:MM:SS.ffffff. It can be negative or longer than a day."""
    seconds, rest = divmod(abs(micros), SECOND)
    fraction = f".{rest:06}"[: digits + 1] if digits else ""
    sign = "-" if micros < 0 else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def digits_of(number: Decimal) -> str:
    """All digits, without an exponent."""
    return format(number, "f")


def unscaled(number: Decimal, scale: int) -> bytes:
    """The unscaled number in two's complement, as short as possible."""
    sign, digits, exponent = number.as_tuple()
    whole = int("".join(map(str, digits))) * 10 ** (scale + int(exponent)) * (-1 if sign else 1)
    return whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decimal_base64(number: Decimal, scale: int) -> str:
    return base64_of(unscaled(number, scale))


def latin(data: bytes) -> str:
    """Each byte as the character with its number."""
    return data.decode("latin-1")


def sizes(kind: str) -> tuple[int, int]:
    """Precision and scale of `decimal(12,2)`."""
    precision, scale = kind.partition("(")[2].rstrip(")").split(",")
    return int(precision), int(scale)


def base(kind: str) -> str:
    """The name of a kind without its parameters: `decimal` of `decimal(12,2)`, `array` of `array<int>`."""
    return kind.partition("(")[0].partition("<")[0]


def item(kind: str) -> str:
    """The kind of an array's items."""
    return kind.partition("<")[2].rstrip(">")


def number(value: Decimal) -> str:
    """A number of any length in a form that `dumps` writes with all its digits."""
    return f"@@{digits_of(value)}@@"


def dumps(value: Any) -> str:
    """JSON in which each `number` has all its digits."""
    return re.sub(r'"@@([0-9.+-]+)@@"', r"\1", json.dumps(value, ensure_ascii=False))


def loads(text: str) -> Any:
    """A JSON value whose numbers have the form that `dumps` writes."""
    return json.loads(text, parse_float=lambda digits: number(Decimal(digits)))

"""Values that order rows: numbers and times as text, and their segments of a position.

    number       B, or A below zero - number of digits before the point (2; FF and 4 from 255 digits on) - the digits
    time         C - microseconds since 1970 (16, from -2^63 up) - nanoseconds after the microsecond (3 decimal digits)
    text, bytes  D - the bytes; text in UTF-8

Numbers sort before times, and times before texts. Below zero, the number of digits and the digits are complements, and
F ends them, so that the longer number is the smaller one. Infinity has a number of digits that no other number has.
"""

from __future__ import annotations

import re
from datetime import tzinfo
from functools import lru_cache
from typing import Final

from siltstone.engine.decode.formats.instants import seconds_of, written_seconds
from siltstone.engine.decode.types.dates_and_times import INFINITIES, moment_of, unit_of
from siltstone.engine.decode.types.numbers import bigint
from siltstone.engine.decode.types.time_texts import zoned_micros

LAST_MICROS: Final = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
FIRST_MICROS: Final = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
ABOVE_ALL, BELOW_ALL = "Infinity", "-Infinity"
TIME: Final = re.compile(r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:.*)?$")
_PER_MICRO: Final = 1_000
_PER_SECOND: Final = 1_000_000_000
_SIGN: Final = 1 << 63

_PLAIN: Final = re.compile(r"[+-]?([0-9]+)(?:\.[0-9]+)?")
_NUMBER: Final = re.compile(
    r"[\x00-\x20]*([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)(?=[0-9])0*([0-9]{0,3}))?[\x00-\x20]*"
)
_INFINITIES: Final = {
    "inf": ABOVE_ALL, "+inf": ABOVE_ALL, "infinity": ABOVE_ALL, "+infinity": ABOVE_ALL,
    "-inf": BELOW_ALL, "-infinity": BELOW_ALL,
}  # fmt: skip
_LONGEST_WORD: Final = 16
_CONTROLS: Final = "".join(map(chr, range(0x21)))
_FEW, _MANY = 0xFF, 0xFFFF
"""From `_FEW` digits before the point on, their number needs two more bytes. No number has `_MANY` digits."""
_SEGMENT_BELOW_ALL, _SEGMENT_ABOVE_ALL = "A000000F", "BFFFFFF"
_COMPLEMENTS: Final = str.maketrans("0123456789", "9876543210")
_COUNTS: Final = [f"B{size:02X}" for size in range(_FEW)]
_MOST_WHOLE_DIGITS, _MOST_PLACES = 30, 9
"""Limits of a number that counts a time. More digits before the point exceed the calendar; more after it are cut."""

_IN_NAME: Final = re.compile(r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[-_T](\d\d)-?(\d\d)-?(\d\d)[.-]?(\d{0,9})(?!\d)", re.ASCII)
_USUAL: Final = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z)?", re.ASCII)
_NANOS: Final = re.compile(r":[0-9]{2}\.[0-9]{6}([0-9]{1,3})")
_WHOLE_FRACTION: Final = re.compile(r"\.0+\Z")


# --- numbers --------------------------------------------------------------------------------------------------------


def plain_number(text: str) -> str | None:
    """The digits of a number, at least one on each side of its point, or infinity as one word; None for other texts.

    Texts such as .5, 5. and 5e-1, also with blanks around them, are numbers. NaN is not: it has no place in an order.
    """
    plain = _PLAIN.fullmatch(text)
    if plain is not None:
        return text if len(plain[1]) < _MANY else None
    number = _NUMBER.fullmatch(text)
    if number is None:
        return _INFINITIES.get(text.strip(_CONTROLS).lower()) if len(text) <= _LONGEST_WORD else None
    found = _written_out(*number.groups())
    return found if _digits_before_point(found) < _MANY else None


def _written_out(sign: str, whole: str, fraction: str | None, power_sign: str | None, power: str | None) -> str:
    """The complete digits of a number that lacks digits next to its point, or that has a power of ten."""
    fraction = fraction or ""
    if power is None:
        return sign + (whole or "0") + (f".{fraction}" if fraction else "")
    digits = (whole + fraction).lstrip("0") or "0"
    exponent = int(power or 0)
    places = len(fraction) + (exponent if power_sign == "-" else -exponent)
    sign = "-" if sign == "-" else ""
    if places <= 0:
        return sign + digits + ("0" * -places if digits != "0" else "")
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _digits_before_point(number: str) -> int:
    return len(number.lstrip("+-").partition(".")[0])


def number_segment(number: str) -> str:
    """The segment of a number from `plain_number`."""
    if number.isdigit() and len(number) < _FEW:
        digits = number.lstrip("0")
        return _COUNTS[len(digits)] + digits
    if number in (ABOVE_ALL, BELOW_ALL):
        return _SEGMENT_ABOVE_ALL if number == ABOVE_ALL else _SEGMENT_BELOW_ALL
    whole, _, fraction = number.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    size = len(whole)
    if number.startswith("-") and (whole or fraction):
        count = f"{_FEW - size:02X}" if size < _FEW else f"00{_MANY - size:04X}"
        return f"A{count}{(whole + fraction).translate(_COMPLEMENTS)}F"
    return f"B{f'{size:02X}' if size < _FEW else f'FF{size:04X}'}{whole}{fraction}"


def counted_micros(number: str, places: int) -> int | None:
    """The microseconds that a number counts, limited to the calendar; None for infinity.

    `places`: how many digits after the point a microsecond is: 6 if the number counts seconds, -3 for nanoseconds.
    """
    if number in (ABOVE_ALL, BELOW_ALL):
        return None
    whole, _, fraction = number.partition(".")
    if len(whole.lstrip("+-0")) > _MOST_WHOLE_DIGITS:
        return FIRST_MICROS if number.startswith("-") else LAST_MICROS
    fraction = fraction[:_MOST_PLACES]
    count, power = int(whole + fraction), places - len(fraction)
    return bounded(count * 10**power if power >= 0 else count // 10**-power)


def bounded(micros: int) -> int:
    """A time, limited to the calendar."""
    return min(max(micros, FIRST_MICROS), LAST_MICROS)


# --- times ----------------------------------------------------------------------------------------------------------


def unix_nanos(text: str, zone: tzinfo | None, digits: int | None) -> int | None:
    """Nanoseconds since 1970-01-01T00:00:00Z of a date, or of a date and time; None if the text is not one.

    `zone`: the zone of times without one; None is UTC. `digits`: the digits of a second in a column of times: they
    define which unit a number counts since 1970, in UTC. None: a number is not a time.
    """
    usual = _USUAL.fullmatch(text)
    if usual is not None and (zone is None or usual[3]):
        seconds = seconds_of(usual[1])
        return None if seconds is None else seconds * _PER_SECOND + int((usual[2] or "").ljust(9, "0"))
    if digits is not None:
        number = plain_number(text)
        if number is not None:
            return _counted(number, digits)
    return _with_zone(text, zone) if TIME.match(text) else None


@lru_cache(maxsize=1_000)
def time_in_name(file: str) -> int | None:
    """Nanoseconds since 1970 of the last date and time in a file's name, as in 20240101-123456789.csv, in UTC.

    None if the name has no time.
    """
    found = _IN_NAME.findall(file)
    if not found:
        return None
    *parts, fraction = found[-1]
    seconds = seconds_of("{}-{}-{}T{}:{}:{}".format(*parts))
    return None if seconds is None else seconds * _PER_SECOND + int(fraction.ljust(9, "0"))


def _with_zone(text: str, zone: tzinfo | None) -> int | None:
    micros, nanos = zoned_micros(text, zone), _NANOS.search(text)
    return None if micros is None else micros * _PER_MICRO + (int(nanos[1].ljust(3, "0")) if nanos else 0)


def _counted(number: str, digits: int) -> int | None:
    count, unit = bigint(_WHOLE_FRACTION.sub("", number)), unit_of(digits)
    if count is None:
        return None
    if unit == "nanos":
        return None if count in INFINITIES else count
    micros = moment_of(count, unit)
    return None if micros is None else micros * _PER_MICRO


def time_segment(nanos: int) -> str:
    """The segment of nanoseconds since 1970."""
    micros, rest = divmod(nanos, _PER_MICRO)
    return f"C{micros + _SIGN:016X}{rest:03d}"


# --- text and bytes -------------------------------------------------------------------------------------------------


def text_segment(text: str) -> str:
    """The segment of text."""
    return bytes_segment(text.encode())


def bytes_segment(value: bytes) -> str:
    """The segment of bytes."""
    return f"D{value.hex().upper()}"


# --- from segments back to values -----------------------------------------------------------------------------------


def written(segment: str) -> str | None:
    """The value of a segment in readable form; None if its first letter is not one of a segment.

    Raises: ValueError: it is not a valid segment.
    """
    kind, rest = segment[:1], segment[1:]
    if segment in (_SEGMENT_BELOW_ALL, _SEGMENT_ABOVE_ALL):
        return BELOW_ALL if kind == "A" else ABOVE_ALL
    if kind == "A":
        size, digits = _count(rest, below=True)
        return f"-{_with_point(digits.removesuffix('F').translate(_COMPLEMENTS), size)}"
    if kind == "B":
        size, digits = _count(rest, below=False)
        return _with_point(digits, size)
    if kind == "C":
        seconds, micros = divmod(int(rest[:16], 16) - _SIGN, 1_000_000)
        return f"{written_seconds(seconds)}.{micros:06d}{rest[16:]}Z"
    return _text(bytes.fromhex(rest)) if kind == "D" else None


def _count(rest: str, *, below: bool) -> tuple[int, str]:
    """The number of digits before the point, and all digits. `below`: the number is below zero."""
    is_long = rest[:2] == ("00" if below else "FF")
    size = int(rest[2:6], 16) if is_long else int(rest[:2], 16)
    most = _MANY if is_long else _FEW
    return most - size if below else size, rest[6 if is_long else 2 :]


def _with_point(digits: str, size: int) -> str:
    fraction = digits[size:]
    return (digits[:size] or "0") + (f".{fraction}" if fraction else "")


def _text(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return text if text.isprintable() and text.encode() == value else f"0x{value.hex()}"

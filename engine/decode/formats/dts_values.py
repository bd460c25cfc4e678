"""Values of DTS's records as text, for all types: row images become JSON objects of texts.

Bytes are base64 after BYTES_MARK, which distinguishes them from text.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.dts_types import EITHER
from siltstone.engine.decode.formats.charsets import decoded
from siltstone.engine.decode.formats.dts_record import Columns
from siltstone.engine.decode.formats.dts_times import date_time, timestamp, zoned
from siltstone.engine.decode.json_value import text_of
from siltstone.engine.decode.types.text import BYTES_MARK

"""No text of a source begins with it."""
EMPTY: Final = "EmptyObject"
ABSENT: Final = (EMPTY, "NONE")
_JSONB: Final = 3802  # PostgreSQL's number
_JSONB_VERSION: Final = b"\x01"
_NO_CHARSET: Final = frozenset({"", "binary", "BINARY"})
_BYTES: Final = "Bytes"
_OF_BYTES: Final = frozenset({_BYTES, "BinaryObject", "BinaryGeometry"})
_MOST_CACHED: Final = 1_000


class Image(msgspec.Struct, gc=False):
    """A row image as texts. A text is None for null, for an `absent` column, and for an `unread` value.

    `facts`: what the values show about their columns in addition to the number of the type. `b`: bytes. In decimal
    columns: `12,2` for precision and scale, i for a whole number, t for anything else.
    """

    texts: list[str | None]
    absent: set[int]
    unread: list[int]
    facts: dict[int, str]

    def json(self, columns: Columns) -> bytes:
        """The row as a JSON object: null is present, absent is not."""
        row = dict(zip(columns.names, self.texts, strict=True))
        for at in self.absent:
            row.pop(columns.names[at], None)
        return text_of(row)


def read_image(values: Sequence[Any], columns: Columns, in_nanos: bool) -> Image:
    """Read a row image. `in_nanos`: the fractions of dates and times are nanoseconds, not microseconds."""
    texts: list[str | None] = []
    image = Image(texts, set(), [], {})
    for at, value in enumerate(values):
        if value is None:
            texts.append(None)
            continue
        kind, found = value
        if kind == EMPTY:
            texts.append(None)
            if found == ABSENT[1]:
                image.absent.add(at)
            continue
        if kind == "Character" and found["charset"] in _NO_CHARSET:
            kind = _BYTES
        elif kind == "BinaryObject" and columns.numbers[at] == _JSONB:
            kind = "Jsonb"
        text = _TEXTS[kind](found, in_nanos)
        texts.append(text)
        if text is None:
            image.unread.append(at)
        if kind in _OF_BYTES:
            image.facts[at] = "b"
        elif at in columns.decimals:
            image.facts[at] = _digits(kind, found)
    return image


def _digits(kind: str, found: dict[str, Any]) -> str:
    if kind == "Decimal":
        return f"{found['precision']},{found['scale']}"
    return "i" if kind == "Integer" else "t"


# --- the text of a value --------------------------------------------------------------------------------------------


def _value(found: dict[str, Any], in_nanos: bool) -> str:  # noqa: ARG001  # all kinds have this parameter
    return found["value"]  # type: ignore[no-any-return]


def _character(found: dict[str, Any], in_nanos: bool) -> str | None:  # noqa: ARG001
    return decoded(found["value"], found["charset"])


def _marked(found: dict[str, Any], in_nanos: bool) -> str:  # noqa: ARG001
    return BYTES_MARK + base64.b64encode(found["value"]).decode()


def _jsonb(found: dict[str, Any], in_nanos: bool) -> str | None:  # noqa: ARG001
    """PostgreSQL's jsonb is text, sometimes after a version number."""
    return decoded(found["value"].removeprefix(_JSONB_VERSION), "utf8")


def _decimal(found: dict[str, Any], in_nanos: bool) -> str:  # noqa: ARG001
    """The digits, or infinity. Oracle writes infinity as ~."""
    text: str = found["value"]
    return text.replace("~", "Infinity") if text in ("~", "-~") else text


def _float(found: dict[str, Any], in_nanos: bool) -> str:  # noqa: ARG001
    """The digits as Java writes them: with a point, and with an exponent for very large and very small numbers."""
    number: float = found["value"]
    text = repr(number)
    if text in _WORDS:
        return _WORDS[text]
    if 1e-3 <= abs(number) < 1e7 or number == 0:
        return text
    sign, digits, exponent = Decimal(text).normalize().as_tuple()
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{int(exponent) + len(digits) - 1}"


_WORDS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_TEXTS: Final[dict[str, Callable[[dict[str, Any], bool], str | None]]] = {
    "Integer": _value, "Character": _character, "Decimal": _decimal, "Float": _float, "Timestamp": timestamp,
    "DateTime": date_time, "TimestampWithTimeZone": zoned, "BinaryGeometry": _marked, "TextGeometry": _value,
    "BinaryObject": _marked, "TextObject": _value, _BYTES: _marked, "Jsonb": _jsonb,
}  # fmt: skip


# --- facts about columns that the values show -----------------------------------------------------------------------


def row_schema(columns: Columns, before: Image | None, after: Image | None) -> str:
    """The row's schema with the facts that the values of both images show, one text per column.

    `t/12,2`: t in the row before, 12,2 in the row after.
    """
    shown = tuple(tuple(image.facts.items()) for image in (before, after) if image is not None and image.facts)
    known = columns.schemas.get(shown)
    if known is None:
        facts = [dict(each) for each in shown]
        listed = (_merged([each[at] for each in facts if at in each]) for at in range(len(columns.names)))
        return keep(columns.schemas, shown, f'{columns.schema}{";".join(listed)}"}}', _MOST_CACHED)
    return known


def _merged(found: list[str]) -> str:
    """One or two facts as text. Two decimals become one with room for both, so that fewer schemas differ."""
    if len(found) < 2 or found[0] == found[1]:
        return found[0] if found else ""
    digits = [[int(part) for part in fact.split(",")] for fact in found if "," in fact]
    if len(digits) < 2 or not all(0 <= scale <= precision > 0 for precision, scale in digits):
        return EITHER.join(found)
    scale = max(scale for _, scale in digits)
    return f"{max(precision - scale for precision, scale in digits) + scale},{scale}"

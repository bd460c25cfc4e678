"""Column functions for values that an event carries as text, whatever their type. What does not fit becomes null.

No function raises, whatever comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode.values import MOST_BITS, let

_CLOCK: Final = r"^(-?)([0-9]+):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?$"
_PLAIN_CLOCK: Final = r"^-?[0-9]{1,3}:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?$"
_WITHOUT_SECONDS: Final = "^[^:]*:[^:]*$"
_ORDINAL: Final = "^[0-9]{1,18}$"
_MASK: Final = "^[0-9]{1,20}$"  # of 64 bits
_LATIN: Final = r"^[\x00-\xFF]*$"


def time_of_day(text: Column) -> Column:
    """-838:59:59 or 12:00:00.5 as HH:MM:SS.ffffff; may be negative or longer than a day."""
    parts = [F.regexp_extract(text, _CLOCK, group) for group in range(1, 6)]
    hours = F.lpad(parts[1], F.greatest(F.length(parts[1]), F.lit(2)), F.lit("0"))
    clock = F.concat(parts[0], hours, F.lit(":"), parts[2], F.lit(":"), parts[3], F.lit("."), F.rpad(parts[4], 6, "0"))
    return F.when(text.rlike(_CLOCK), clock)


def clock_or_text(text: Column) -> Column:
    """The same of 5:00, too; what is not plainly a time of day, or has a zone or more digits, as it stands."""
    whole = F.when(text.rlike(_WITHOUT_SECONDS), F.concat(text, F.lit(":00"))).otherwise(text)
    return F.when(text.rlike(_PLAIN_CLOCK), time_of_day(whole)).otherwise(text)


def bits(text: Column, size: int | None) -> Column:
    """A number without a sign as `size` digits of 0 and 1, highest bit first; null where it needs more. As many as it
    needs, where the size is not known."""
    is_word = text.rlike("^[0-9]+$") & (text.try_cast("decimal(38,0)") < F.lit(str(2**64)).cast("decimal(38,0)"))
    digits = F.conv(F.when(is_word, text), 10, 2)
    if size is None:
        return digits
    return let(digits, lambda found: F.when(F.length(found) <= size, F.lpad(found, size, "0")))


def any_bits(text: Column, size: int | None) -> Column:
    """The same of a number, of true and false, and of such digits themselves."""
    number = F.when(text == "true", "1").when(text == "false", "0").otherwise(text)
    if size is None or size > MOST_BITS:
        return bits(number, None)
    return F.when(text.rlike("^[01]+$") & (F.length(text) == size), text).otherwise(bits(number, size))


def latin_bytes(text: Column, size: int | None) -> Column:
    """Bytes, each written as the character of its number; the zeros cut from the end of `size` bytes come back."""
    found = F.when(text.rlike(_LATIN), F.encode(F.when(text.rlike(_LATIN), text), "ISO-8859-1"))
    if size is None:
        return found
    return F.when(F.octet_length(found) < size, F.rpad(found, size, F.lit(bytearray(1)))).otherwise(found)


def enum_label(text: Column, labels: Sequence[str]) -> Column:
    """The label behind an ordinal, 1 for the first, 0 for MySQL's error value; what is no ordinal is a label itself."""
    known = F.array(F.lit(""), *[F.lit(label) for label in labels])
    return F.when(text.rlike(_ORDINAL), F.get(known, text.try_cast("int"))).otherwise(text)


def set_labels(text: Column, labels: Sequence[str]) -> Column:
    """The labels behind a bit mask, lowest bit first, with commas between them; other text holds the labels itself."""
    masks = bits(F.when(text.rlike(_MASK), text), len(labels))

    def listed(digits: Column) -> Column:
        is_set = [F.substring(digits, len(labels) - at, 1) == "1" for at in range(len(labels))]
        chosen = F.array(*[F.when(one, F.lit(label)) for one, label in zip(is_set, labels, strict=True)])
        return F.when(digits.isNotNull(), F.array_join(F.array_compact(chosen.cast("array<string>")), ","))

    return F.when(text.rlike(_MASK), let(masks, listed)).otherwise(text)

"""Column functions that turn what an event carries into a value. Each names its unit; what does not fit becomes null.

Numbers, flags and bytes come in as the JSON reader gives them; everything else as text: a string's content, or the JSON
text of an array or object. No function raises, whatever comes in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.json_text import from_json

FIRST_DAY: Final = -719_162  # 0001-01-01 in days since 1970-01-01
LAST_DAY: Final = 2_932_896  # 9999-12-31
SECONDS_A_DAY: Final = 86_400
A_SECOND: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}
A_MICROSECOND: Final = 1_000_000
DECIMAL_DIGITS: Final = 38
LIMB: Final = 1_000_000_000
MOST_PLACES: Final = 32_767
"""Behind a decimal point, or zeros before it: PostgreSQL has 16,383 at most. What says more is no number."""
MOST_HEX_DIGITS: Final = 4_096
"""Of a number: some 4,900 decimal digits. The time that it takes to write them out grows with their square."""
LONGEST: Final = 2**31 - 1  # characters of a text
MOST_BITS: Final = 2**20
"""That a value is filled up to. PostgreSQL's `bit varying` without a length is said to have 2^31 - 1."""
WORD: Final = 7  # hexadecimal digits: they hold less than a limb, so that each needs one limb more at most

BLANKS: Final = r"[\x00-\x20]*"
"""Around a number they say nothing: Spark's casts take them away."""
DIGITS: Final = r"(?=\.?[0-9])[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?"
"""A number behind its sign: 1, 1.5, 1., .5, 5e-1."""
A_NUMBER: Final = rf"^{BLANKS}[+-]?{DIGITS}{BLANKS}$"
NUMBER: Final = rf"^{BLANKS}([+-]?(?:{DIGITS}|NaN|Infinity)){BLANKS}$"
ENDLESS: Final = r"[eE][+-]?[0-9]{5}"
_ZONED: Final = r":[0-9]{1,2}(?:\.[0-9]*)?[\x00-\x20]*[A-Za-z+-]"
"""To Spark, what stands behind the seconds is a zone: +09, -9:30, UTC, GMT+9, Europe/Berlin, perhaps behind blanks."""
_BEHIND_DATE: Final = r"^(?!.* BC$).{10}(?:[T ][0-9]{2}:[0-9]{2}.*|Z|[+-][0-9]{1,2}(?::?[0-9]{2})?)$"
OUT_OF_CALENDAR: Final = (
    r"^(?:[+-]?[Ii]nfinity"
    r"|(?:[+-][0-9]{4,}|[0-9]{5,}|0000)-[0-9]{2}-[0-9]{2}.*|[0-9]{4,}-[0-9]{2}-[0-9]{2}.* BC"
    r"|[0-9]{4}-(?:00-[0-9]{2}|[0-9]{2}-00|02-(?:29|30)|(?:02|04|06|09|11)-31)(?:[T ].*)?"
    r"|(?:0001-01-0[12]|9999-12-3[01])(?:[T ].*)?)$"
)
"""Times of a source that no date holds: infinity, years before 1 and after 9999 (in UTC, too), and what MySQL keeps of
days that are none: months and days of zero, the 31st of a short month."""
INFINITIES: Final = (9_223_372_036_825_200_000, -9_223_372_036_832_400_000)
"""What PostgreSQL's driver makes of infinite times. Counting nanoseconds, they would be times of 2262 and 1677."""
A_COUNT: Final = r"^[+-]?[0-9]+$"


def let(value: Column, then: Callable[[Column], Column]) -> Column:
    """`then` of a value that it may use many times. Interpreted: for what is seldom met; it keeps expressions small."""
    return F.get(F.transform(F.array(value), then), F.lit(0))


def in_struct(columns: Mapping[str, Column]) -> Column:
    """A struct with these columns as its fields."""
    return F.struct(*[column.alias(name) for name, column in columns.items()])


# --- numbers --------------------------------------------------------------------------------------------------------


def boolean(text: Column) -> Column:
    """true, false, or a number: 0 is false. Spark would take yes and no, too."""
    word = F.lower(text)
    told = F.when(word.isin("true", "t"), F.lit(True)).when(word.isin("false", "f"), F.lit(False))
    return F.coalesce(told, text.try_cast("bigint") != 0, _is_not_zero(text))


def flag(text: Column) -> Column:
    """The same, and all the words that Spark takes."""
    return F.coalesce(text.try_cast("boolean"), _is_not_zero(text))


def _is_not_zero(text: Column) -> Column:
    """Of a number however it is written: of a column of flags with nulls, pandas writes 1.0."""
    return F.when(text.rlike(A_NUMBER), text.rlike("^[^eE]*[1-9]"))


def unsigned(number: Column) -> Column:
    """BIGINT UNSIGNED, decimal(20,0): from 2^63 on, the source's 64 bits arrive as a negative number."""
    after = F.lit(str(2**64)).cast("decimal(20,0)")
    return F.when(number < 0, (number + after).cast("decimal(20,0)")).when(number < after, number)


def decimal(text: Column, kind: T.DataType) -> Column:
    """The decimal that is nearest; null where it has no room. Spark's own cast fails on exponents of many digits."""
    return F.when(~text.rlike(ENDLESS), text).try_cast(kind)


def is_infinite(number: Column) -> Column:
    """Whether a float or double is one of the infinities; null of null."""
    return F.abs(number) == F.lit(math.inf)


def floating(text: Column, kind: T.DataType) -> Column:
    """The number of a float or double; null where the text is none, or one that is too large: it would be infinite."""
    number = text.try_cast(kind)
    return F.when(is_infinite(number) & text.rlike("[0-9]"), None).otherwise(number)


def decimal_text(text: Column, kind: T.DecimalType) -> Column:
    """Plain or scientific digits, perhaps with blanks around them. Null where digits would be lost, at either end."""
    value = decimal(text, kind)
    plain = text.rlike(rf"^{BLANKS}[+-]?(?=\.?[0-9])[0-9]*+(?:\.[0-9]{{0,{kind.scale}}}0*)?{BLANKS}$")
    scientific = text.rlike("[eE]") & (value.cast("double") == text.try_cast("double"))
    return F.when(plain | scientific, value)


def decimal_hex(digits: Column, scale: int, kind: T.DecimalType) -> Column:
    """Big-endian two's complement, in hexadecimal digits, of the unscaled value. Null where digits would be lost."""
    if scale > kind.scale:
        return let(decimal_digits(digits, F.lit(scale)), lambda exact: decimal_text(exact, kind))
    size = F.length(digits)
    number = F.when(size.between(1, 16), _one_word(digits)).when(size.between(17, 32), _two_words(digits))
    return F.concat(number, F.lit(f"E{-scale}")).try_cast(kind)


def decimal_digits(digits: Column, scale: Column) -> Column:
    """Big-endian two's complement of any length, in hexadecimal digits, of the unscaled value as exact digits."""
    return let(digits, lambda found: let(_unscaled(found), lambda number: scaled(number, scale)))


def variable_scale_digits(text: Column) -> Column:
    """`{"scale":2,"value":"MDk="}` as the exact decimal digits."""
    parts = from_json(text, "struct<scale: int, value: binary>")
    scale = F.when(parts["scale"].between(-MOST_PLACES, MOST_PLACES), parts["scale"])
    return let(F.struct(parts["value"].alias("value"), scale.alias("scale")), _digits_of_parts)


def _digits_of_parts(found: Column) -> Column:
    return decimal_digits(F.hex(found["value"]), found["scale"])


def plain_digits(text: Column) -> Column:
    """A number in scientific form, its exponent of a few digits, with all its digits written out."""
    mantissa, exponent = (F.substring_index(F.upper(text), "E", side) for side in (1, -1))
    point = F.instr(mantissa, ".")
    places = F.when(point > 0, F.length(mantissa) - point).otherwise(0) - exponent.try_cast("int")
    number = F.regexp_replace(F.translate(mantissa, "+.", ""), "^(-?)0+(?=[0-9])", "$1")
    both = F.struct(number.alias("number"), places.alias("places"))
    return let(both, lambda told: scaled(told["number"], told["places"]))


def extent(text: Column) -> Column:
    """How many digits a number has: `before` its point and `behind` it, without zeros at either end; null for NaN, and
    for exponents of many digits."""
    powered = plain_digits(F.when(~text.rlike(ENDLESS), text))
    written = F.when(text.rlike("[eE]"), powered).otherwise(F.translate(text, "+", ""))

    def counted(digits: Column) -> Column:
        number = F.when(digits.rlike(r"^-?\.?[0-9]"), digits)
        whole, fraction = (F.split_part(number, F.lit("."), F.lit(part)) for part in (1, 2))  # of none, a part is empty
        before, behind = F.length(F.ltrim(whole, F.lit("-0"))), F.length(F.rtrim(fraction, F.lit("0")))
        return F.struct(before.alias("before"), behind.alias("behind"))

    return let(written, counted)


def scaled(number: Column, places: Column) -> Column:
    """Digits of a whole number with the point `places` from their end; before it, for negative places, zeros."""
    sign = F.when(number.startswith("-"), "-").otherwise("")
    digits = F.ltrim(number, F.lit("-"))

    def pointed(padded: Column) -> Column:
        split = F.length(padded) - places
        return F.concat(F.substring(padded, F.lit(1), split), F.lit("."), F.substring(padded, split + 1, places))

    fraction = let(F.lpad(digits, F.greatest(F.length(digits), places + 1), F.lit("0")), pointed)
    whole_number = F.when(digits == "0", digits).otherwise(F.concat(digits, F.repeat(F.lit("0"), -places)))
    return F.concat(sign, F.when(places > 0, fraction).otherwise(whole_number))


def _unscaled(digits: Column) -> Column:
    """Hexadecimal digits of a two's complement number of any length as a decimal number."""
    size = F.length(digits)
    return F.when(size.between(1, 16), _one_word(digits)).when(size.between(17, MOST_HEX_DIGITS), _long(digits))


def _extended(digits: Column, width: int) -> Column:
    """The number in `width` hexadecimal digits."""
    return F.lpad(digits, width, F.when(digits >= "8", "F").otherwise("0"))


def _one_word(digits: Column) -> Column:
    """Up to 16 hexadecimal digits as a signed number's text."""
    return F.conv(_extended(digits, 16), 16, -10)


def _two_words(digits: Column) -> Column:
    """Up to 32 hexadecimal digits as a signed number's text; null where a decimal's 38 digits do not hold it."""
    extended = _extended(digits, 32)
    high = F.conv(F.substring(extended, 1, 16), 16, -10).cast("decimal(38,0)")
    low = F.conv(F.substring(extended, 17, 16), 16, 10).cast("decimal(38,0)")
    word = F.lit(str(2**64)).cast("decimal(38,0)")
    # Towards zero first: the sum of a high word below zero and a low one above would pass 38 digits on its way.
    up = F.try_add(F.try_multiply(high + 1, word), low - word)
    return F.when(high < 0, up).otherwise(F.try_add(F.try_multiply(high, word), low)).cast("string")


def _long(digits: Column) -> Column:
    """Any number of hexadecimal digits as a signed number's text: schoolbook multiplication in limbs of nine digits."""
    negative = digits >= "8"
    magnitude = F.when(negative, F.translate(digits, "0123456789ABCDEF", "FEDCBA9876543210")).otherwise(digits)
    width = F.ceil(F.length(digits) / WORD).cast("int") * WORD

    def absolute(padded: Column) -> Column:
        words = F.transform(
            F.sequence(F.lit(1), F.length(padded), F.lit(WORD)),
            lambda at: F.conv(F.substring(padded, at, F.lit(WORD)), 16, 10).cast("bigint"),
        )
        start = F.array(F.lit(0).cast("bigint"))
        limbs = F.aggregate(words, start, lambda so_far, word: _shifted(so_far, 16**WORD, word))
        one = F.when(negative, 1).otherwise(0).cast("bigint")  # two's complement: flipped, and one more
        texts = F.transform(F.reverse(_shifted(limbs, 1, one)), lambda limb: F.lpad(limb.cast("string"), 9, "0"))
        return F.regexp_replace(F.array_join(texts, ""), "^0+(?=.)", "")

    return F.concat(F.when(negative, "-").otherwise(""), let(F.lpad(magnitude, width, F.lit("0")), absolute))


def _shifted(limbs: Column, factor: int, addend: Column) -> Column:
    """limbs * factor + addend, in limbs of nine decimal digits, the lowest first."""
    start = F.struct(F.array().cast("array<bigint>").alias("limbs"), addend.alias("carry"))

    def step(so_far: Column, limb: Column) -> Column:
        def split(total: Column) -> Column:
            low = F.pmod(total, F.lit(LIMB).cast("bigint"))
            carry = ((total - low).cast("decimal(20,0)") / F.lit(LIMB)).cast("bigint")
            return F.struct(F.array_append(so_far["limbs"], low).alias("limbs"), carry.alias("carry"))

        return let(limb * F.lit(factor).cast("bigint") + so_far["carry"], split)

    zero = F.array(F.lit(0).cast("bigint"))
    return F.aggregate(F.concat(limbs, zero), start, step, lambda end: end["limbs"])


# --- bytes and bits -------------------------------------------------------------------------------------------------


def base64_url(text: Column) -> Column:
    """Base64 in the alphabet of file names and URLs."""
    return F.try_to_binary(F.translate(text, "-_", "+/"), F.lit("base64"))


def bits(text: Column, size: int) -> Column:
    """Base64 of little-endian bytes, or true and false for one bit, as `size` digits of 0 and 1, highest bit first; as
    many as it needs, where so many are more than any value has."""
    big_endian = F.reverse(F.regexp_replace(F.hex(F.try_to_binary(text, F.lit("base64"))), "(.)(.)", "$2$1"))
    nibbles = F.transform(F.split(big_endian, ""), lambda digit: F.lpad(F.conv(digit, 16, 2), 4, "0"))

    def fitted(digits: Column) -> Column:
        if size > MOST_BITS:
            return F.regexp_replace(digits, "^0+(?=.)", "")
        padded = F.lpad(digits, F.greatest(F.lit(size), F.length(digits)), F.lit("0"))
        surplus = F.substring(padded, F.lit(1), F.length(padded) - size)
        return F.when(~surplus.contains("1"), F.right(padded, F.lit(size)))

    flag = F.when(text == "true", "1").when(text == "false", "0")
    return F.when(flag.isNotNull(), F.lpad(flag, size if size <= MOST_BITS else 1, "0")).otherwise(
        let(F.array_join(nibbles, ""), fitted)
    )


# --- dates and times ------------------------------------------------------------------------------------------------


def days(number: Column) -> Column:
    """Days since 1970-01-01 as a date of the years 1 to 9999."""
    return F.when(number.between(FIRST_DAY, LAST_DAY), F.date_from_unix_date(number))


def iso_date(text: Column) -> Column:
    """2020-12-31, perhaps with a time or a zone behind it, which a date does not have."""
    is_whole = (F.length(text) == len("2020-12-31")) | text.rlike(_BEHIND_DATE)
    return F.when(_has_calendar_date(text) & is_whole, F.substring(text, 1, 10).try_cast("date"))


def moment(number: Column, unit: str) -> Column:
    """Milli-, micro- or nanoseconds since 1970-01-01T00:00:00Z as an instant of the years 1 to 9999."""
    if unit == "nanos":  # 64 bits of nanoseconds reach from 1677 to 2262
        return _moment_of_nanos(F.when(~number.isin(*INFINITIES), number))
    first, after = FIRST_DAY * SECONDS_A_DAY * A_SECOND[unit], (LAST_DAY + 1) * SECONDS_A_DAY * A_SECOND[unit]
    known = F.when(number.between(first, after - 1), number)
    return F.timestamp_millis(known) if unit == "millis" else F.timestamp_micros(known)


def _moment_of_nanos(number: Column) -> Column:
    return F.timestamp_micros(F.floor(number.cast("decimal(20,0)") / 1_000).cast("bigint"))


def nine_digits(nanos: Column) -> Column:
    """Nanoseconds since 1970-01-01T00:00:00 as text with all nine digits of the second."""
    seconds = F.substring(_moment_of_nanos(nanos).cast("timestamp_ntz").cast("string"), 1, len("2020-12-31 23:59:59"))
    return F.concat(seconds, F.lit("."), F.lpad(F.pmod(nanos, F.lit(A_SECOND["nanos"])).cast("string"), 9, "0"))


def zoned_moment(text: Column) -> Column:
    """2020-12-31T23:59:59.999999Z or with an offset as an instant; without either it is UTC."""
    value = text.try_cast("timestamp")
    # What is met every day is parsed once.
    return F.when(_has_calendar_date(text), F.when(far_from_its_ends(text), value).otherwise(in_calendar(value)))


def far_from_its_ends(text: Column) -> Column:
    """Whether no offset leads from a time of the calendar to one beyond it."""
    return text.between("0001-01-03", "9999-12-30")


def in_calendar(instant: Column) -> Column:
    """An instant of the years 1 to 9999 in UTC; null for another one."""
    first, last = F.lit("0001-01-01T00:00:00Z"), F.lit("9999-12-31T23:59:59.999999Z")
    return F.when(instant.between(first.cast("timestamp"), last.cast("timestamp")), instant)


def says_zone(text: Column) -> Column:
    """Whether a time says its zone, so that the cast to an instant has applied it, or has found that none is so named.

    2020-12-31T23:59:59Z, 2020-12-31 23:59:59.5+08, 2020-12-31 23:59:59 Europe/Berlin.
    """
    return text.rlike(_ZONED)


def local_moment(text: Column) -> Column:
    """2020-12-31T23:59:59.999999 as a time of no zone; a zone behind it is left out."""
    clock = F.substring(text, len("2020-12-31T") + 1, LONGEST)
    has_zone = clock.contains("Z") | clock.contains("+") | clock.contains("-")
    bare = F.regexp_replace(text, r"(?<=:[0-9.]{2,13})(?:Z|[+-][0-9]{2}:?[0-9]{2})$", "")
    written = F.when(has_zone, bare).otherwise(text)
    return F.when(_has_calendar_date(text), written.try_cast("timestamp_ntz"))


def is_bare_date(text: Column) -> Column:
    """Whether a text that may be a number is 2020-12-31."""
    return (F.length(text) == len("2020-12-31")) & _has_calendar_date(text)


def time_of_day(number: Column, unit: str) -> Column:
    """Milli-, micro- or nanoseconds as HH:MM:SS.ffffff; may be negative or longer than a day."""
    exact = number.cast("decimal(20,0)")
    micros = F.floor(F.abs(exact) / 1_000) if unit == "nanos" else F.abs(exact) * (A_MICROSECOND // A_SECOND[unit])

    def clock(count: Column) -> Column:
        seconds = _whole(count, A_MICROSECOND)
        hours = _whole(seconds, 3_600).cast("string")
        return F.concat(
            F.when(number < 0, "-").otherwise(""),
            F.lpad(hours, F.greatest(F.length(hours), F.lit(2)), F.lit("0")),
            F.lit(":"),
            _padded(F.pmod(_whole(seconds, 60), F.lit(60)), 2),
            F.lit(":"),
            _padded(F.pmod(seconds, F.lit(60)), 2),
            F.lit("."),
            _padded(F.pmod(count, F.lit(A_MICROSECOND)), 6),
        )

    return let(micros.try_cast("bigint"), clock)


def _whole(number: Column, divisor: int) -> Column:
    """How many times the divisor is in a bigint: a fraction would be a double, which rounds what has 17 digits."""
    return F.call_function("div", number, F.lit(divisor))


def _padded(number: Column, width: int) -> Column:
    return F.lpad(number.cast("bigint").cast("string"), width, "0")


def _has_calendar_date(text: Column) -> Column:
    """Four characters of a year from 1 on, then a date: not infinity, no year beyond 9999, and no bare time.

    Whether the other characters are digits is for the cast to see, which takes fewer of them otherwise. Not a regular
    expression: it would turn every text into Java's before it looks at ten characters.
    """
    begins, ends = (F.substring(text, at, 1).between("0", "9") for at in (1, 10))
    return (F.substring(text, 5, 1) == "-") & (F.substring(text, 8, 1) == "-") & begins & ends & (text >= "0001")


def of_text(text: Column, kind: T.DataType) -> Column:
    """The value of a type that a text is, as it stands; null where it is none."""
    if isinstance(kind, T.DecimalType):
        return decimal(text, kind)
    if isinstance(kind, T.TimestampType):  # a cast would give a time of day the day on which it is read
        return zoned_moment(text)
    if isinstance(kind, T.FloatType | T.DoubleType):
        return floating(text, kind)
    if isinstance(kind, T.BooleanType):
        return flag(text)
    return F.lit(None).cast(kind) if isinstance(kind, T.ArrayType) else text.try_cast(kind)

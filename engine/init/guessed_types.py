"""Guesses the meaning of values without a type: times as numbers or text, numbers and bytes in base64.

    value                                   Debezium's type     the spec's type
    days since 1970                         Date                date
    milli-, micro-, nanoseconds since 1970  Timestamp, Micro-   timestamp_ntz(3), (6), (9)
                                            and NanoTimestamp
    2024-01-01T00:00:00Z                    ZonedTimestamp      timestamp
    2024-01-01Z                             IsoDate             date
    AfQ=, the unscaled number in base64     Decimal             decimal(p,s); the scale is not in the events
    base64                                  bytes               binary, bit(n)

    https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types

A guess is sure if the name of the column confirms its values. Otherwise it is a question. A number that is not a time
of the calendar is kept in `_rescued` and does not reject its change. The guess for a key is never sure, because a key
that cannot be stored rejects its change.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64, b2a_base64
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from siltstone.engine.decode.types.dates_and_times import FIRST, INFINITIES, LAST
from siltstone.engine.decode.types.unrepresentable import OUT_OF_CALENDAR, PLACEHOLDERS

A_DAY: Final = 86_400
A_YEAR: Final = 31_556_952
FIRST_CLEAR, LAST_CLEAR = -2_208_988_800, 4_102_444_800  # 1900 to 2100, in seconds since 1970
FIRST_UNNAMED: Final = 315_532_800
"""1980: earlier times are clear only if the name of the column suggests times."""
SMALL: Final = 10 * A_YEAR
"""Seconds around 1970 in which a number of days is not clear: it can be an age, a year or a quantity."""
BEYOND_CLOCKS: Final = 3 * A_YEAR
"""Seconds around 1970 in which a number can be a time of day in a finer unit."""
MOST_BYTES: Final = 16  # an unscaled number of 38 digits
INT32: Final = range(-(2**31), 2**31)
LONGEST_READ: Final = 4_096  # longer texts are not checked for base64
_START: Final = datetime(1970, 1, 1)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ZONED: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})")
_ZONED_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:Z|[+-]\d{2}:\d{2})")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OF_TIMES: Final = frozenset(
    (
        *("at", "time", "timestamp", "ts", "date", "datetime", "on", "when", "since", "until", "valid", "start", "end"),
        *("begin", "started", "ended", "finished", "completed", "created", "updated", "modified", "changed"),
        *("deleted", "inserted", "loaded", "published", "expires", "expiry", "expiration", "expired", "seen", "gmt"),
        *("birth", "birthday", "birthdate", "dob", "born"),
    )
)
_NOT_OF_TIMES: Final = frozenset(("id", "key", "no", "nr", "number", "num", "count", "code", "phone", "hash", "size"))
_DATES: Final = frozenset(("date", "birthday", "birthdate", "dob"))
_WHOLE_DATES: Final = frozenset(("day", "birth", "born"))
_NO_DATES: Final = ("update", "candidate", "mandate", "validate")


def words(name: str) -> list[str]:
    """The words of a column's name, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]


def names_time(name: str) -> bool:
    """Whether the name of a column suggests times."""
    found = words(name)
    if not found or found[-1] in _NOT_OF_TIMES:
        return False
    return any(word in _OF_TIMES or word.endswith(("date", "time", "stamp")) for word in found)


def names_date(name: str) -> bool:
    """Whether the name of a column suggests dates without a time."""
    found = words(name)
    if not found:
        return False
    last = found[-1]
    is_compound = last.endswith("date") and not last.endswith(_NO_DATES)
    return last in _DATES or is_compound or found[:2] == ["date", "of"] or (found == [last] and last in _WHOLE_DATES)


# --- values ---------------------------------------------------------------------------------------------------------

Measure = Callable[[Any], int | None]


def _clear_days(value: int) -> int | None:
    seconds = value * A_DAY
    return seconds if FIRST_CLEAR <= seconds < 0 or SMALL < seconds <= LAST_CLEAR else None


def _any_day(value: int) -> bool:
    return value in INT32


def _clear_count(per_second: int) -> Measure:
    def seconds_of(value: int) -> int | None:
        seconds = value // per_second
        is_clear = FIRST_CLEAR <= seconds <= -BEYOND_CLOCKS or BEYOND_CLOCKS <= seconds <= LAST_CLEAR
        return seconds if is_clear else None

    return seconds_of


def _any_count(per_second: int) -> Callable[[int], bool]:
    first, last = FIRST * per_second // 1_000_000, LAST * per_second // 1_000_000
    return lambda value: first <= value <= last or value in INFINITIES


def _clear_text(pattern: re.Pattern[str]) -> Measure:
    def seconds_of(text: str) -> int | None:
        if not pattern.fullmatch(text) or OUT_OF_CALENDAR.fullmatch(text):
            return None
        return (datetime(int(text[:4]), 1, 1) - _START) // timedelta(seconds=1)

    return seconds_of


def _any_text(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: bool(pattern.fullmatch(text) or OUT_OF_CALENDAR.fullmatch(text))


def _bytes_of(text: str) -> bytes | None:
    """The bytes of a text in base64 as Java writes it; None for other texts."""
    if not text or len(text) > LONGEST_READ or not _BASE64.fullmatch(text):
        return None
    try:
        data = a2b_base64(text, strict_mode=True)
    except Error:
        return None
    return data if b2a_base64(data, newline=False) == text.encode() else None


def _size_of_number(text: str) -> int | None:
    """The number of bytes of an unscaled number, which has no more than its digits need, as Java writes it."""
    data = _bytes_of(text)
    if data is None or len(data) > MOST_BYTES:
        return None
    is_padded = len(data) > 1 and data[0] in (0, 0xFF) and (data[0] ^ data[1]) < 0x80
    return None if is_padded else len(data)


def _size_of_bytes(text: str) -> int | None:
    data = _bytes_of(text)
    return None if data is None else len(data)


def _is_base64(text: str) -> bool:
    return not text or len(text) > LONGEST_READ or _bytes_of(text) is not None


# --- meanings -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meaning:
    """A possible meaning of values. `measure`: the seconds since 1970 or the bytes of a clear value; None for others.

    `can_be`: whether a value is possible. `is_sure`: whether the name of a column confirms the meaning.
    `needs_no_name`: the values alone justify a question.
    """

    what: str
    kind: str
    measure: Measure
    can_be: Callable[[Any], bool]
    is_sure: Callable[[str], bool] = lambda _: False
    needs_no_name: bool = True
    is_time: bool = True


COUNTS: Final[Sequence[Meaning]] = (
    Meaning("days since 1970", "date", _clear_days, _any_day, names_date, needs_no_name=False),
    *(
        Meaning(
            f"{unit} since 1970",
            f"timestamp_ntz({digits})",
            _clear_count(10**digits),
            _any_count(10**digits),
            names_time,
        )
        for digits, unit in ((3, "milliseconds"), (6, "microseconds"), (9, "nanoseconds"))
    ),
)
TEXTS: Final[Sequence[Meaning]] = (
    Meaning("times with a zone", "timestamp", _clear_text(_ZONED), _any_text(_ZONED), names_time),
    Meaning("dates with a zone", "date", _clear_text(_ZONED_DAY), _any_text(_ZONED_DAY), names_time),
    Meaning(
        "numbers in base64",
        "decimal(p,s), with the scale of the source's column (bytes? then binary, or bit(n))",
        _size_of_number,
        lambda text: _size_of_number(text) is not None,
        is_time=False,
    ),
    Meaning("bytes in base64", "binary", _size_of_bytes, _is_base64, is_time=False),
)


@dataclass(frozen=True)
class Guess:
    """The probable meaning of values, its type in the spec, whether it is sure, and the values that show it."""

    what: str
    kind: str
    is_sure: bool
    shown_by: str

    @property
    def remark(self) -> str:
        """The guess as a comment: a statement if it is sure, else a question."""
        return f"{self.what}: {self.shown_by}" if self.is_sure else f"{self.what}? then {self.kind}; {self.shown_by}"


@dataclass
class Evidence:
    """Counts of a column's values: all, those that are clear for each meaning, and those that are possible for it."""

    total: int = 0
    clear: Counter[str] = field(default_factory=Counter)
    possible: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    has_padding: bool = False
    has_placeholder: bool = False

    def add(self, value: Any) -> None:
        """Add one value that is not null."""
        if type(value) is str and value in PLACEHOLDERS:
            self.has_placeholder = True
            return
        self.total += 1
        if type(value) is int:
            self._add(COUNTS, value)
        elif type(value) is str:
            self._add(TEXTS, value)
            self.has_padding = self.has_padding or value.endswith("=")

    def _add(self, meanings: Sequence[Meaning], value: Any) -> None:
        for meaning in meanings:
            measure = meaning.measure(value)
            if measure is not None:
                what = meaning.what
                self.clear[what] += 1
                self.possible[what] += 1
                self.first[what] = min(measure, self.first.get(what, measure))
                self.last[what] = max(measure, self.last.get(what, measure))
            elif meaning.can_be(value):
                self.possible[meaning.what] += 1

    def merge(self, other: Evidence) -> None:
        """Add the values of another column."""
        self.total += other.total
        self.clear += other.clear
        self.possible += other.possible
        for what, measure in other.first.items():
            self.first[what] = min(measure, self.first.get(what, measure))
            self.last[what] = max(other.last[what], self.last.get(what, other.last[what]))
        self.has_padding |= other.has_padding
        self.has_placeholder |= other.has_placeholder

    def guess(self, name: str, is_key: bool) -> Guess | None:
        """The meaning that most values have clearly and that all values allow."""
        meaning = next((meaning for meaning in (*COUNTS, *TEXTS) if self._fits(meaning, name)), None)
        if meaning is None:
            return None
        return Guess(meaning.what, meaning.kind, meaning.is_sure(name) and not is_key, self._shown(meaning))

    def _fits(self, meaning: Meaning, name: str) -> bool:
        what = meaning.what
        if not self.total or self.possible[what] < self.total:
            return False
        if not meaning.is_time:
            return self.has_padding and self.clear[what] > 0
        if self.clear[what] * 3 < self.total * 2:
            return False
        is_recent = self.clear[what] == self.total and self.first[what] >= FIRST_UNNAMED
        return not self.has_placeholder and (names_time(name) or (meaning.needs_no_name and is_recent))

    def _shown(self, meaning: Meaning) -> str:
        number = self.clear[meaning.what]
        several = f"{number} of {self.total} values" if number < self.total else f"all {number} values"
        first, last = self.first[meaning.what], self.last[meaning.what]
        if meaning.is_time:
            first, last = ((_START + timedelta(seconds=seconds)).year for seconds in (first, last))
            kind = f"the year {first}" if first == last else f"the years {first} to {last}"
        else:
            kind = f"{first} bytes" if first == last else f"{first} to {last} bytes"
        return f"{'the only value is' if self.total == 1 else f'{several} are'} of {kind}"

"""Dates and moments, from counts and from texts."""

import random
from datetime import date, timedelta
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import Encoding
from tests.unit.decode.types.given import LOCAL, ZONED, converted, days, json_values, micros, reader

RANDOM = random.Random(7)
DATE = T.DateType()
FIRST, LAST = micros(1, 1, 1), micros(9999, 12, 31, 23, 59, 59, 999999)
ZONES = ("UTC", "Asia/Seoul")


def test_days_are_dates_of_the_years_1_to_9999_before_1582_too() -> None:
    drawn = [RANDOM.randrange(-719_162, 2_932_897) for _ in range(300)]
    given = [0, -1, 1, -141_428, -141_427, -141_438, -719_162, 2_932_896, *drawn]
    assert converted(reader("days", DATE), given) == given
    assert (date(1970, 1, 1) + timedelta(days=-719_162)).year == 1
    beyond = [-719_163, 2_932_897, 2**31 - 1, -(2**31), 106_751_991_167, True, "yes"]
    assert converted(reader("days", DATE), beyond) == [None] * len(beyond)


@pytest.mark.parametrize("kind", ["days", "date"])
def test_a_date_may_be_written_with_a_time_or_counted(kind: str) -> None:
    leap = days(2024, 2, 29)
    cases: dict[Any, int | None] = {
        "2024-02-29": leap, "2024-02-29T00:00:00Z": leap, "2024-02-29 12:30": leap, "2024-02-29Z": leap, "19782": leap,
        "2024-02-29+8": leap, "2024-02-29-0330": leap, "0001-01-01": -719_162, "9999-12-31": 2_932_896,
        **dict.fromkeys([
            "2026-13-01", "2026-01-32", "2026-01-31 garbage", "yes", "0000-01-01", "2023-02-29", "20240229",
            "2024-2-29", "2024-02-29T", "2024-02-29 12:30 BC", "infinity", "", "2024-W09-4", "12:30:00",
        ]),
    }  # fmt: skip
    assert converted(reader(kind, DATE), [*cases, 19_782]) == [*cases.values(), leap]
    assert converted(reader(kind, DATE), [True, [1], {"a": 1}]) == [None] * 3
    assert converted(reader(kind, T.StringType()), ["2024-02-29", 5]) == ["2024-02-29", "5"]


def test_counted_times_are_exact_or_null_outside_the_calendar() -> None:
    given = [0, -1, 1, FIRST, LAST, *(RANDOM.randrange(FIRST, LAST) for _ in range(300))]
    for kind in (LOCAL, ZONED):
        assert converted(reader("micros", kind), given) == given
        assert converted(reader("millis", kind), [n // 1000 for n in given]) == [n // 1000 * 1000 for n in given]
    nanos = [0, -1, 999, 1_000, -1_001, 2**63 - 1, -(2**63), 9_223_372_036_825_200_001]
    assert converted(reader("nanos", LOCAL), nanos) == [n // 1000 for n in nanos]
    endless = [9_223_372_036_825_200_000, -9_223_372_036_832_400_000]
    beyond = [FIRST - 1, LAST + 1, *endless, 2**63 - 1, -(2**63), 2**64, True, "x", "1.5"]
    assert converted(reader("micros", LOCAL), beyond) == [None] * len(beyond)
    assert converted(reader("millis", LOCAL), [-(2**63), LAST // 1000 + 1, *endless]) == [None] * 4
    assert converted(reader("nanos", LOCAL), endless) == [None] * 2
    assert converted(reader("micros", LOCAL), ["5", " 5 ", "5.0"]) == [5, 5, 5]
    assert converted(reader("micros", DATE), [-1, 0]) == [-1, 0]
    assert converted(reader("nanos", DATE), [1_700_000_000_123_456_789]) == [days(2023, 11, 14)]


INSTANTS: dict[str, int | None] = {
    "2084-04-24T11:41:51.000001Z": micros(2084, 4, 24, 11, 41, 51, 1),
    "2020-01-01T00:00:00+05:30": micros(2019, 12, 31, 18, 30),
    "2020-01-01 00:00:00": micros(2020, 1, 1),
    "0001-01-01T00:00:00Z": FIRST,
    "9999-12-31T23:59:59.999999Z": LAST,
    "1500-02-28T12:00:00Z": micros(1500, 2, 28, 12),
    "2024-02-29T12:30:45.123456789Z": micros(2024, 2, 29, 12, 30, 45, 123456),
    "2024-02-29T1:2:3": micros(2024, 2, 29, 1, 2, 3),
    "2024-02-29T12:30:45.": micros(2024, 2, 29, 12, 30, 45),
    "2024-02-29T12:30": micros(2024, 2, 29, 12, 30),
    "2024-02-29T12:30Z": micros(2024, 2, 29, 12, 30),
    "2024-02-29T12:30+01:00": micros(2024, 2, 29, 11, 30),
    "2024-02-29 12": micros(2024, 2, 29, 12),
    "2024-02-29 ": micros(2024, 2, 29),
    **dict.fromkeys([
        "infinity", "-infinity", "0000-12-31T00:00:00Z", "+10000-01-01T00:00:00Z", "-0044-03-15T00:00:00Z", "12:30:00",
        "10000-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00", "2020", "", "now", "epoch",
        "0044-03-15T00:00:00Z BC", "2026-01-01T25:00:00Z", "2026-99-01T00:00:00Z", "2026-01-01T00:61:00",
        "2024-02-29T12:30:60Z", "2024-02-29T24:00:00", "2024-02-29T12:30:45.5ZZ", "2024-02-29T", "2024-02-29x12:30:45",
        "2024-02-29T1\uff12:30:45", "2024-02-29Z", "2024-02-29T12:30:45,5", "2024-W09-4T12:30:45", "2024-02-29T10Z",
        "2024-02-29T12:30:45+19:00", "2024-02-29 12:30 UTC",
    ]),
}  # fmt: skip


def test_texts_of_times_keep_their_instant_and_other_texts_are_refused() -> None:
    for kind in ("zoned_text", "written_moment"):
        assert converted(reader(kind, ZONED), list(INSTANTS)) == list(INSTANTS.values())
    with_clock = {text: at for text, at in INSTANTS.items() if ":" in text}  # other texts can be counts
    assert converted(reader("moment", ZONED), list(with_clock)) == list(with_clock.values())
    clocks = ["12:30:00", "12:30:00+08:00", "T12:30", "2020"]
    assert converted(reader(Encoding("time", 6), ZONED), clocks) == [None] * len(clocks)
    assert converted(reader("zoned_text", DATE), ["2020-01-01T00:00:00+05:30", "x"]) == [days(2019, 12, 31), None]
    assert converted(reader("zoned_text", LOCAL), ["2020-01-01T00:00:00+05:30"]) == [micros(2019, 12, 31, 18, 30)]


def test_the_zone_of_a_time_without_a_zone_is_ignored() -> None:
    local = {
        "2020-01-01T10:00:00.5Z": micros(2020, 1, 1, 10, 0, 0, 500000), "0001-01-01T00:00:00+14:00": FIRST,
        "2020-01-01": micros(2020, 1, 1), "2020-01-01 10:00:00+99:99": micros(2020, 1, 1, 10),
        "2020-01-01T10:00:00+05:30": micros(2020, 1, 1, 10),
        "2020-01-01 10:00:00 Foo/Bar": None, "2020-01-01 10:00:00 BC": None, "x": None,
    }  # fmt: skip
    for kind in ("local_text", "written_moment", "moment"):
        assert converted(reader(kind, LOCAL), list(local)) == list(local.values())


@pytest.mark.parametrize("kind", ["moment", "written_moment"])
@pytest.mark.parametrize("time_zone", ZONES)
def test_a_time_of_a_zone_is_never_shifted_by_the_zone_of_the_source(kind: str, time_zone: str) -> None:
    minutes = {
        "Z": 0, "+09": 540, "+9": 540, "-9:30": -570, "+0530": 330, ".5+00": 0, " UTC": 0, "UTC+9": 540,
        " Europe/Berlin": 60, ".5EST5EDT": -300, " GMT-8": -480, " PST": -480, "EST": -300,
    }  # fmt: skip
    encoding = Encoding(kind, 6)  # type: ignore[arg-type]
    texts = [f"2024-01-01 10:00:00{zone}" for zone in minutes]
    bare = [micros(2024, 1, 1, 10, 0, 0, 500_000 if ".5" in text else 0) for text in texts]
    assert converted(reader(encoding, LOCAL, time_zone), texts) == bare
    assert converted(reader(encoding, ZONED, time_zone), texts) == [
        at - offset * 60_000_000 for at, offset in zip(bare, minutes.values(), strict=True)
    ]
    assert converted(reader(encoding, ZONED, time_zone), ["2024-01-01 10:00:00.5 +05:30:15"]) == [
        micros(2024, 1, 1, 4, 29, 45, 500_000)
    ]
    unknown = [f"2024-01-01 10:00:00{zone}" for zone in (" Foo/Bar", "utc", "+19:00", " BC", "?", "+09[Asia/Seoul]")]
    assert converted(reader(encoding, ZONED, time_zone), unknown) == [None] * len(unknown)


@pytest.mark.parametrize("kind", ["moment", "written_moment", "local_text"])
@pytest.mark.parametrize("time_zone", ZONES)
def test_a_time_without_a_zone_has_the_zone_of_the_source(kind: str, time_zone: str) -> None:
    hour = 10 if time_zone == "UTC" else 1
    found = reader(Encoding(kind, 6), ZONED, time_zone)  # type: ignore[arg-type]
    local = ["2024-01-01 10:00:00", "2024-01-01T10:00:00.0", "2024-01-01T10:00"]
    assert converted(found, local) == [micros(2024, 1, 1, hour)] * 3
    first, last = (FIRST, 23) if time_zone == "UTC" else (None, 14)
    edges = ["0001-01-01 00:00:00", "0001-01-01", "9999-12-31 23:59:59"]
    assert converted(found, edges) == [first, first, micros(9999, 12, 31, last, 59, 59)]


def test_a_clock_change_moves_skipped_times_and_takes_the_first_of_two() -> None:
    found = reader("written_moment", ZONED, "Europe/Berlin")
    cases = {
        "2024-03-31 01:59:59": micros(2024, 3, 31, 0, 59, 59), "2024-03-31 02:30:00": micros(2024, 3, 31, 1, 30),
        "2024-03-31 03:00:00": micros(2024, 3, 31, 1), "2024-10-27 02:30:00": micros(2024, 10, 27, 0, 30),
        "2024-10-27 03:00:00": micros(2024, 10, 27, 2), "2024-07-01 00:00:00": micros(2024, 6, 30, 22),
        "1893-03-31 23:50:00": micros(1893, 3, 31, 22, 56, 32),
    }  # fmt: skip
    assert converted(found, list(cases)) == list(cases.values())


@pytest.mark.parametrize("kind", ["date", "days"])
def test_a_date_that_is_stored_as_an_instant_is_midnight_in_the_zone_of_the_source(kind: str) -> None:
    given: list[Any] = ["2024-01-01", "0001-01-01", "9999-12-31"] if kind == "date" else [19_723, -719_162, 2_932_896]
    wanted = {
        "UTC": [micros(2024, 1, 1), FIRST, micros(9999, 12, 31)],
        "Asia/Seoul": [micros(2023, 12, 31, 15), None, micros(9999, 12, 30, 15)],
        "America/New_York": [micros(2024, 1, 1, 5), micros(1, 1, 1, 4, 56, 2), micros(9999, 12, 31, 5)],
        "+09:00": [micros(2023, 12, 31, 15), None, micros(9999, 12, 30, 15)],
    }
    for time_zone, stored in wanted.items():
        assert converted(reader(kind, ZONED, time_zone), given) == stored
    assert converted(reader(kind, LOCAL, "Asia/Seoul"), given) == wanted["UTC"]


def test_the_digits_or_the_connector_determine_the_unit_of_a_number() -> None:
    for digits, is_mysql, count in ((3, False, 1_700_000_000_123), (6, False, 1_700_000_000_123_000),
                                    (9, False, 1_700_000_000_123_000_999), (None, True, 1_700_000_000_123),
                                    (None, False, 1_700_000_000_123_000)):  # fmt: skip
        found = reader(Encoding("moment", digits), ZONED, "Asia/Seoul", is_mysql)
        given = [count, str(count), 2**63, True, "1.5", "2023-11-15 07:13:20.123", "2023-11-15"]
        at, midnight = micros(2023, 11, 14, 13, 13, 20, 123_000), micros(2023, 11, 14, 15)
        assert converted(found, given) == [at, at, None, None, None, at + 9 * 3_600_000_000, midnight]
    without_connector = reader(Encoding("instant", 3), ZONED, "Asia/Seoul")
    assert converted(without_connector, [1_700_000_000_123]) == [1_700_000_000_123_000]
    assert converted(without_connector, ["2023-11-15 07:13:20"]) == [micros(2023, 11, 14, 22, 13, 20)]


def test_counts_of_a_connector_are_local_times_if_an_instant_is_stored() -> None:
    assert converted(reader("micros", ZONED, "Asia/Seoul"), [micros(2024, 1, 1, 9), FIRST]) == [
        micros(2024, 1, 1),
        None,
    ]
    assert converted(reader("micros", LOCAL, "Asia/Seoul"), [0]) == [0]


def test_other_values_are_not_times() -> None:
    others = json_values(["true", "[1]", '{"a":":"}', "1.5", '""', '"\\u0000"'])
    for kind in ("zoned_text", "local_text", "written_moment", "moment", "date", "days", "millis", "nanos"):
        for stored in (LOCAL, ZONED, DATE):
            assert converted(reader(kind, stored), others) == [None] * len(others)
    for numbers in (T.LongType(), T.DoubleType(), T.BooleanType(), T.BinaryType(), T.DecimalType(5, 2)):
        assert converted(reader("date", numbers), ["2024-02-29"]) == [None]

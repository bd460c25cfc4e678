"""Times of day."""

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import Encoding
from tests.unit.decode.types.given import converted, reader

STRING = T.StringType()
CLOCKS = {
    "18000000000": "05:00:00.000000", "05:00:00": "05:00:00.000000", "5:00": "05:00:00.000000",
    "05:00:00.5": "05:00:00.500000", "-838:59:59": "-838:59:59.000000", "24:00:00.000000": "24:00:00.000000",
}  # fmt: skip
OTHERS = ["12:00:00Z", "12:00:00.5+02", "12:00 PM", "05:00:00.1234567", "05:60", "05:00:00 BC", "::", " 05:00"]
WORDS = ["", "noon", "0.5"]


def test_times_of_day_may_be_negative_or_longer_than_a_day() -> None:
    cases = {
        0: "00:00:00.000000", 1: "00:00:00.000001", -1: "-00:00:00.000001", 86_399_999_999: "23:59:59.999999",
        86_400_000_000: "24:00:00.000000", 3_020_399_000_000: "838:59:59.000000",
        -3_020_399_000_000: "-838:59:59.000000",
    }  # fmt: skip
    assert converted(reader("time_micros", STRING), [*cases, None, True, "x"]) == [*cases.values(), None, None, None]
    assert converted(reader("time_millis", STRING), [86_399_999, "1"]) == ["23:59:59.999000", "00:00:00.001000"]
    assert converted(reader("time_nanos", STRING), [1_999, -1]) == ["00:00:00.000001", "-00:00:00.000000"]


def test_a_count_of_more_than_64_bits_is_not_a_time() -> None:
    longest = 2**63 - 1
    for unit in ("millis", "micros", "nanos"):
        found = converted(reader(f"time_{unit}", STRING), [longest, -longest])
        assert (found == [None, None]) == (unit == "millis")


def test_a_written_time_of_day_is_stored_like_a_counted_one_and_other_text_unchanged() -> None:
    texts = [*CLOCKS, *OTHERS, *WORDS]
    of_connector = ["05:00:00.000000", *list(CLOCKS)[1:], *OTHERS, *[None] * len(WORDS)]
    wanted = {
        "time_either": [*CLOCKS.values(), *OTHERS, *[None] * len(WORDS)],
        "time_text": [*CLOCKS.values(), *OTHERS, *WORDS],
        "time": of_connector,
    }
    for kind, stored in wanted.items():
        assert converted(reader(Encoding(kind, 6), STRING), texts) == stored  # type: ignore[arg-type]
    assert converted(reader(Encoding("time_either", 3), STRING), [1_000]) == ["00:00:01.000000"]
    assert converted(reader(Encoding("time_either", 3), STRING, is_mysql=True), [1_000]) == ["00:00:00.001000"]


@pytest.mark.parametrize(
    ("text", "stored"),
    [("-838:59:59", "-838:59:59.000000"), ("12:00:00.5", "12:00:00.500000"), ("5:00:00", "05:00:00.000000"),
     ("005:00:00", "005:00:00.000000"), ("12:99:99", "12:99:99.000000"), ("12:3:00", None), ("12:30:45.", None),
     ("12:30:45.1234567", None), ("-:30:45", None), ("12:30:45\n", None), ("12:30", None), (5, None)],
)  # fmt: skip
def test_a_time_of_day_in_a_column_of_texts_has_hours_minutes_and_seconds(text: str, stored: str | None) -> None:
    assert converted(reader("written_time", STRING), [text]) == [stored]

"""Durations as users write them."""

import re
from datetime import timedelta

import pytest

from siltstone.engine.spec.durations import DURATION_PATTERN, parse_duration

GOOD = {
    "15m": timedelta(minutes=15),
    "5s": timedelta(seconds=5),
    "1h30m": timedelta(hours=1, minutes=30),
    "2d": timedelta(days=2),
    "500ms": timedelta(milliseconds=500),
    "1m5ms": timedelta(minutes=1, milliseconds=5),
    "0s": timedelta(0),
}


@pytest.mark.parametrize(("text", "expected"), GOOD.items())
def test_a_duration_is_read_and_editors_agree(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected
    assert re.fullmatch(DURATION_PATTERN, text)


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "30m1h", "-5s", "1.5h", "5minutes", "٣s"])
def test_other_texts_are_not_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36501d", "9999999999999999999s", "999999999999d"])
def test_a_duration_beyond_100_years_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="100 years"):
        parse_duration(text)

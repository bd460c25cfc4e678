"""Moments of the whole calendar, as Python has them: its own ways from numbers and from rows fail at its ends.

Years 1 and 9999 come in: programs write their zero and their greatest time where they have none.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = "0001-01-03", "9999-12-29"  # two days inside: a row's times pass through the local zone


def moment_of(micros: int) -> datetime:
    """A moment from microseconds since 1970, exactly."""
    return EPOCH + timedelta(microseconds=micros)


def in_utc(moment: datetime) -> datetime:
    """A moment in UTC; one that names no zone is in it already."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def moment_in(text: str) -> datetime:
    """A moment in ISO 8601, UTC where it names no zone; `now` is now.

    Raises: ValueError, whose words say why it is none.
    """
    if text == "now":
        return datetime.now(UTC)
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is no time; write 2026-01-31, 2026-01-31T12:00:00Z or now") from error
    except OverflowError as error:
        raise ValueError(f"{text!r} is outside of the years 1 to 9999 in UTC") from error


def collectable(moment: "Column") -> "Column":
    """A moment that a row can bring to the driver: at the calendar's ends, the nearest that it can. Null stays."""
    from pyspark.sql import functions as F  # not for the report, which takes its moments from here without Spark

    first, last = (F.lit(day).cast("timestamp") for day in (_FIRST, _LAST))
    return F.when(moment.isNotNull(), F.greatest(F.least(moment, last), first))

"""Times over the whole range of Python's datetime. Python's and Spark's own conversions fail near its ends.

The years 1 and 9999 do occur: programs write their smallest or greatest time instead of none.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = "0001-01-03", "9999-12-29"  # two days inside: a row's times pass through the local zone


def moment_of(micros: int) -> datetime:
    """The exact time from microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def in_utc(moment: datetime) -> datetime:
    """A time in UTC. A time without a zone is in UTC already."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def moment_in(text: str) -> datetime:
    """A time from ISO 8601 text, in UTC if it has no zone; `now` is the current time.

    Raises: ValueError: the text is no time; its message says why.
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
    """A time that Spark can collect to the driver: near the ends of the range, the nearest such time. Null stays."""
    from pyspark.sql import functions as F  # imported here because the report uses this module without Spark

    first, last = (F.lit(day).cast("timestamp") for day in (_FIRST, _LAST))
    return F.when(moment.isNotNull(), F.greatest(F.least(moment, last), first))

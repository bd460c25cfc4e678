"""Files of messages of bytes, opened: what the messages carry, and the records in them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from engine.errors import SpecError
from engine.recognise import dts, frames
from engine.recognise.frames import Writers
from engine.recognise.messages import Message, messages
from engine.recognise.sample import Sample
from engine.recognise.wire import UNREAD

LOOKED_AT = 1_000
Carried = Literal["dts", "frames"]


def carried(found: Sample) -> Carried | None:
    """What at least half of the messages of a file carry: records of DTS, or Confluent's frames."""
    return _carried(messages(replace(found, records=found.records[:LOOKED_AT])), None)


def opened(found: Sample, writers: Writers | None, remark: Callable[[str], None] | None = None) -> Sample:
    """The records in the messages of a file; a file of anything else as it is. `remark`: told of what is passed over.

    Raises: SpecError: it needs schemas, and there are no `writers`. SourceError, SpecError: they cannot be had.
    """
    taken = messages(found)
    kind = _carried(taken[:LOOKED_AT], writers)
    if kind is None:
        return found
    if kind == "dts":
        read = [dts.record(message.value) if message is not None else UNREAD for message in taken]
        return Sample(found.path, kind, tuple(read), found.whole)
    if writers is None:
        raise SpecError(
            f"Cannot look into {found.path}: it looks like debezium-avro (messages in Confluent's frames), which needs"
            " the schemas that wrote it. Nothing was written.",
            "name them: --schemas FILE (JSON, schemas by their numbers), --registry URL, or registry in siltstone.yaml",
        )
    return Sample(found.path, kind, tuple(frames.events(taken, writers, remark, found.path)), found.whole)


def _carried(taken: Sequence[Message | None], writers: Writers | None) -> Carried | None:
    """DTS comes first: its records begin with a zero byte, too, and are known by being read to their last byte."""
    told = [message for message in taken if message is None or message.value is not None]
    values = [message.value for message in told if message is not None]
    read = [dts.record(value) for value in values]
    records = sum(record is not None and record != UNREAD for record in read)
    if records and records >= (len(told) - read.count(None)) / 2:
        return "dts"
    numbers = [frames.number_of(value) for value in values]
    known = sum(number is not None and (writers is not None or number in frames.USUAL) for number in numbers)
    return "frames" if known and known >= len(told) / 2 else None

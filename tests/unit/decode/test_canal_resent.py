"""Drawn lanes of Canal's messages: what is found in pieces is what the rule of the batches says of the whole lane."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession

from engine.decode.canal_resent import PIECE, holds_batches, resent_messages
from engine.frames import local_frame

SEED = 20
LANES = 60
FIELDS = (
    "file string, line bigint, channel string, kafka_partition int, kafka_offset bigint, after_gap boolean, "
    "id bigint, es bigint, content bigint"
)


@dataclass(frozen=True)
class Message:
    file: str
    line: int
    channel: str | None
    kafka_partition: int | None
    kafka_offset: int | None
    after_gap: bool
    id: int | None
    es: int
    content: int

    @property
    def stands_by_file(self) -> bool:
        return self.kafka_partition is None or self.kafka_offset is None

    @property
    def lane(self) -> tuple[str, int, str]:
        if self.kafka_partition is None:
            return (self.channel or "", -1, "")
        return (self.channel or "", self.kafka_partition, self.file.rpartition("/")[0] if self.channel is None else "")

    @property
    def place(self) -> tuple[int, bool, str, int]:
        if self.stands_by_file:
            return (0, True, self.file, self.line)
        assert self.kafka_offset is not None
        return (self.kafka_offset, False, "", 0)


def told_batches(draw: random.Random) -> Iterator[tuple[int, list[int]]]:
    """The id and the contents of each batch; some begin with all of the one before, or with most of it."""
    number, before = draw.randrange(5), list[int]()
    for _ in range(draw.choice((3, 10, 40))):
        number += draw.choice((1, 1, 1, 1, 2, 0, -1))
        own = [draw.randrange(3) for _ in range(draw.choice((1, 1, 2, 3, 8)))]
        if draw.random() < 0.4:
            own = before + own[draw.randrange(2) :]
        elif draw.random() < 0.2:
            own = before[:-1] + own
        yield number, own
        before = own


def lane(draw: random.Random, channel: str | None, partition: int | None) -> Iterator[Message]:
    """In one to four files, of which some follow a gap, and with some offsets delivered twice."""
    told = [(number, content) for number, contents in told_batches(draw) for content in contents]
    cuts = sorted(draw.randrange(len(told) + 1) for _ in range(draw.choice((0, 0, 1, 3))))
    gaps = [draw.random() < 0.3 for _ in range(len(cuts) + 1)]
    line, offset, es = 0, draw.choice((0, 0, -3, 7, 10**9)), 100
    folder = f"f{channel or partition}"
    for at, (number, content) in enumerate(told):
        line, offset = line + draw.choice((1, 1, 2)), offset + draw.choice((1, 1, 1, 4))
        es += draw.choice((0, 1, 5, -3))
        file = sum(cut <= at for cut in cuts)
        known = number if draw.random() < 0.95 else None
        placed = partition is not None and draw.random() < 0.9
        message = Message(
            f"{folder}/{file}", line, channel, partition, offset if placed else None, gaps[file], known, es, content
        )
        yield message
        if placed and draw.random() < 0.1:
            yield replace(message, file=f"{folder}/9", after_gap=draw.random() < 0.5, content=draw.randrange(3))


def drawn(seed: int) -> list[Message]:
    draw = random.Random(seed)
    topics = [message for number in range(LANES) for message in lane(draw, f"t{number}", draw.randrange(3))]
    unnamed = [message for partition in range(LANES) for message in lane(draw, None, partition)]
    found = [*topics, *unnamed, *lane(draw, None, None)]
    draw.shuffle(found)
    return found


def reckoned(messages: Iterable[Message]) -> set[tuple[str, int, bool, int | None]]:
    """File and line of each message of which there is something to say, whether it was sent before, the greatest time
    before it if that is greater than its own."""
    lanes: dict[tuple[str, int, str], dict[tuple[int, bool, str, int], list[Message]]] = {}
    for message in messages:
        lanes.setdefault(message.lane, defaultdict(list))[message.place].append(message)
    return {told for places in lanes.values() for told in _reckoned_of_lane(places)}


def weight(message: Message) -> tuple[bool, str, tuple[bool, int], int, int]:
    """By which one of the messages that stand at one place counts."""
    known = (message.id is not None, message.id or 0)
    return message.after_gap, message.file, known, message.es, message.content


def _reckoned_of_lane(
    places: dict[tuple[int, bool, str, int], list[Message]],
) -> Iterator[tuple[str, int, bool, int | None]]:
    order = sorted(places)
    messages = [min(places[place], key=weight) for place in order]
    batched = [at for at, message in enumerate(messages) if message.id is not None]
    batches = list[tuple[bool, list[int]]]()  # whether what is before is not known, and the messages
    for before, at in zip([None, *batched], batched, strict=False):
        one, last = messages[at], None if before is None else messages[before]
        is_cut = one.after_gap and (last is None or last.file != one.file)
        if last is None or is_cut or last.id != one.id:
            batches.append((is_cut, []))
        batches[-1][1].append(at)
    resent = set[int]()
    for (was_cut, theirs), (is_cut, ours) in pairwise(batches):
        again = [messages[at].content for at in ours[: len(theirs)]]
        if not was_cut and not is_cut and again == [messages[at].content for at in theirs]:
            resent.update(ours[: len(theirs)])
    so_far = None
    for at, place in enumerate(order):
        es = messages[at].es if messages[at].kafka_partition is not None else None
        so_far = es if so_far is None or (es is not None and es > so_far) else so_far
        reached = so_far if es is not None and so_far is not None and so_far > es else None
        if at in resent or reached is not None:
            for message in places[place]:
                yield message.file, message.line, at in resent, reached


@pytest.mark.parametrize("piece", [0, 1, 3, PIECE])
@pytest.mark.parametrize(
    "seed", [SEED, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(SEED + 1, SEED + 20)]]
)
def test_pieces_tell_what_the_whole_lane_does(spark: SparkSession, seed: int, piece: int) -> None:
    messages = drawn(seed)
    expected = reckoned(messages)
    found = resent_messages(local_frame(spark, list(map(asdict, messages)), FIELDS).repartition(3), piece)
    assert {tuple(row) for row in found.select("file", "line", "_resent", "_reached").collect()} == expected
    assert len({told for told in expected if told[2]}) > LANES
    assert len({told for told in expected if told[3] is not None}) > LANES


def test_three_batches_tell_what_was_sent_before(spark: SparkSession) -> None:
    def of_batches(number: int, partition: int | None = None) -> list[Message]:
        return [
            Message("f", 2 * at + line, None, partition, 2 * at + line, False, at, 0, at)
            for at in range(number)
            for line in (0, 1)
        ]

    two, three, other = (
        local_frame(spark, list(map(asdict, messages)), FIELDS)
        for messages in (of_batches(2), of_batches(3), [*of_batches(3, 0), *of_batches(2, 1)])
    )
    assert (holds_batches(two, two), holds_batches(three, three), holds_batches(three, two)) == (False, True, True)
    assert not holds_batches(other, other)
    assert holds_batches(other, other.where("kafka_partition = 0"))

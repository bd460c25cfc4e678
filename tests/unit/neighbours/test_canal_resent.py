"""Random lanes of Canal's messages. In pieces, the same messages are found as by a simple rule over the whole lane."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest

from siltstone.engine.neighbours.canal_resent import Delivery, lane_of, place_of, resent_of_lane, resent_of_piece

LANES = 60
WHOLE = 40


def drawn_batches(draw: random.Random) -> Iterator[tuple[int, list[int]]]:
    """The id and the contents of each batch. Some begin with all or most messages of the previous batch."""
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


def drawn_lane(draw: random.Random, partition: int | None) -> Iterator[Delivery]:
    """Deliveries in one to four files. Some files follow a gap, and some offsets are delivered twice."""
    listed = [(number, content) for number, contents in drawn_batches(draw) for content in contents]
    cuts = sorted(draw.randrange(len(listed) + 1) for _ in range(draw.choice((0, 0, 1, 3))))
    gaps = [draw.random() < 0.3 for _ in range(len(cuts) + 1)]
    line, offset = 0, draw.choice((0, 0, 7, 10**9))
    for at, (number, content) in enumerate(listed):
        line, offset = line + draw.choice((1, 1, 2)), offset + draw.choice((1, 1, 1, 4))
        file = sum(cut <= at for cut in cuts)
        name = f"f/{file}"
        placed = offset if draw.random() < 0.9 else None
        yield Delivery(place_of(name, line, partition, placed), name, line, gaps[file], str(number), content)
        if partition is not None and placed is not None and draw.random() < 0.1:
            copy = draw.random() < 0.5, str(number), draw.randrange(3)
            yield Delivery(place_of(name, line, partition, placed), "f/9", line, *copy)


def by_rule(deliveries: Iterable[Delivery]) -> set[tuple[str, int]]:
    """The repeated messages: compares each batch with the previous one."""
    places = defaultdict(list)
    for delivery in deliveries:
        places[delivery.place].append(delivery)
    messages = [min(places[place], key=lambda one: (one.after_gap, one.file, one.content)) for place in sorted(places)]
    batches = list[tuple[bool, list[Delivery]]]()  # whether the previous messages are unknown, and the messages
    for before, one in zip([None, *messages], messages, strict=False):
        is_cut = one.after_gap and (before is None or before.file != one.file)
        if before is None or is_cut or before.id != one.id:
            batches.append((is_cut, []))
        batches[-1][1].append(one)
    resent = set[tuple[str, int]]()
    for (was_cut, theirs), (is_cut, ours) in pairwise(batches):
        repeated = ours[: len(theirs)]
        if not was_cut and not is_cut and [one.content for one in repeated] == [one.content for one in theirs]:
            resent |= {(copy.file, copy.line) for one in repeated for copy in places[one.place]}
    return resent


def in_pieces(deliveries: Iterable[Delivery], size: int) -> set[tuple[str, int]]:
    pieces = defaultdict(list)
    for delivery in deliveries:
        offset, file, line = delivery.place
        pieces[offset >> size, file, line >> size].append(delivery)
    classified = [resent_of_piece(piece) for piece in pieces.values()]
    of_borders = resent_of_lane(one for _, border in classified for one in border)
    return {(one.file, one.line) for found in [*(resent for resent, _ in classified), of_borders] for one in found}


@pytest.mark.parametrize("seed", range(10))
def test_pieces_find_the_same_messages_as_the_rule_over_the_whole_lane(seed: int) -> None:
    draw, number = random.Random(seed), 0
    for lane in range(LANES):
        deliveries = list(drawn_lane(draw, draw.choice((None, lane))))
        draw.shuffle(deliveries)
        expected = by_rule(deliveries)
        number += len(expected)
        assert {(one.file, one.line) for one in resent_of_lane(deliveries)} == expected
        for size in (0, 1, 3, WHOLE):
            assert in_pieces(deliveries, size) == expected
    assert number > LANES


def test_a_border_is_no_more_than_two_batches_at_each_end() -> None:
    piece = [Delivery((at, "", 0), "f", at, False, str(at // 2), at % 2) for at in range(20)]
    resent, border = resent_of_piece(piece)
    assert [one.place[0] for one in resent] == list(range(4, 18))
    assert [one.place[0] for one in border] == [0, 1, 2, 3, 16, 17, 18, 19]
    assert resent_of_piece(piece[:8])[1] == [one._replace(start=None if one.place[0] == 0 else 0) for one in piece[:8]]


@pytest.mark.parametrize(
    ("where", "lane"),
    [
        (("a/b/f", None, None), ("", -1, "")),
        (("a/b/f", "t", None), ("t", -1, "")),
        (("a/b/f", "t", 3), ("t", 3, "")),
        (("a/b/f", None, 3), ("", 3, "a/b")),
        (("f", None, 3), ("", 3, "")),
    ],
)
def test_a_lane_is_a_partition_or_all_files(
    where: tuple[str, str | None, int | None], lane: tuple[str, int, str]
) -> None:
    assert lane_of(*where) == lane

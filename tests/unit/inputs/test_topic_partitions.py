"""Partitions as files: the records that are new to a consumer, and those that are gone."""

from dataclasses import replace

import pytest

from siltstone.engine.inputs.pending_files import PendingFile, Taken
from siltstone.engine.inputs.topic_partitions import (
    Partition,
    bounded,
    cut,
    lost_error,
    partition,
    partition_of,
    pending_partitions,
)


def of(start: int, end: int, number: int = 0, topic_id: str = "first") -> Partition:
    return partition("t", number, topic_id, start, end)


def taken(to_line: int, topic_id: str = "first") -> dict[str, Taken]:
    return {"kafka://t/0": Taken(to_line, 0, topic_id, to_line)}


def ranges(entries: list[PendingFile]) -> list[tuple[int, int]]:
    return [(entry.after_line, entry.file.size) for entry in entries]


def first(one: Partition) -> int:
    return one.start


@pytest.mark.parametrize(
    ("there", "known", "new"),
    [
        (of(0, 9), {}, [(0, 9)]),
        (of(4, 9), {}, [(4, 9)]),
        (of(0, 0), {}, [(0, 0)]),  # recorded, so that it has begun
        (of(0, 9), taken(9), []),
        (of(0, 9), taken(7), [(7, 9)]),
        (of(7, 9), taken(7), [(7, 9)]),
        (replace(of(0, 9), size=5), taken(7), []),  # limited by a time
    ],
)
def test_new_records_begin_where_the_consumer_stopped(
    there: Partition, known: dict[str, Taken], new: list[tuple[int, int]]
) -> None:
    found = pending_partitions([there], known, first)
    assert (ranges([*found.entries]), [*found.lost]) == (new, [])


@pytest.mark.parametrize(("wanted", "after"), [(0, 4), (6, 6), (99, 9)])
def test_a_new_partition_begins_inside_its_range(wanted: int, after: int) -> None:
    assert ranges([*pending_partitions([of(4, 9)], {}, lambda _: wanted).entries]) == [(after, 9)]


@pytest.mark.parametrize(
    ("there", "known", "words", "new"),
    [
        (of(8, 9), taken(5), "has lost offsets 5 to 7 to the topic's retention", (8, 9)),
        (of(0, 3, topic_id="second"), taken(9), "belongs to another topic of that name", (0, 3)),
        (of(0, 3), taken(9), "ends at offset 3, but up to offset 9 was taken", (3, 3)),
    ],
)
def test_deleted_records_are_named_and_the_remaining_ones_are_new(
    there: Partition, known: dict[str, Taken], words: str, new: tuple[int, int]
) -> None:
    found = pending_partitions([there], known, first)
    assert ranges([*found.entries]) == [new]
    error = lost_error("kafka://t/*", found.lost, "a way out")
    assert f"kafka://t/0 {words}" in str(error)
    assert str(error).endswith("Nothing was taken. Hint: a way out")


def test_a_loss_is_identified_by_the_place_where_the_consumer_stopped() -> None:
    places = {pending_partitions([of(start, 99)], taken(5), first).lost[0].place for start in (7, 50)}
    assert len(places) == 1


@pytest.mark.parametrize(
    ("most", "ends"),
    [(None, (9, 1, 5)), (6, (2, 1, 3)), (100, (9, 1, 5)), (2, (1, 0, 1)), (1, (1, 0, 0))],
)
def test_partitions_share_the_records_of_a_run(most: int | None, ends: tuple[int, int, int]) -> None:
    partitions = [of(0, 9), of(0, 1, 1), of(0, 5, 2)]
    entries = pending_partitions(partitions, {}, first).entries
    found = bounded(entries, most)
    assert sum(found.values()) == min(most or 15, 15)
    assert tuple(found.values()) == ends or sorted(found.values()) == sorted(ends)


def test_records_beyond_the_limit_of_a_run_are_not_new_to_it() -> None:
    pending = pending_partitions([of(0, 9)], taken(5), first)
    assert ranges(cut(pending, {"kafka://t/0": 7}, {"kafka://t/0"})) == [(5, 7)]
    assert ranges(cut(pending, {"kafka://t/0": 5}, {"kafka://t/0"})) == []
    assert ranges(cut(pending, {"kafka://t/0": 5}, set())) == [(5, 5)]


def test_the_place_after_a_loss_is_recorded_even_without_a_record() -> None:
    pending = pending_partitions([of(0, 3)], taken(9), first)
    assert ranges(cut(pending, bounded(pending.entries, None), {"kafka://t/0"})) == [(3, 3)]


def test_paths_name_topic_and_partition() -> None:
    assert partition_of(of(0, 1, 12).path) == ("t", 12)

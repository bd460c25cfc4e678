import pytest

from siltstone.engine.ingest.consumers import Consumer
from siltstone.engine.ingest.source_batch import SourceBatch
from siltstone.engine.ingest.source_sums import source_report
from siltstone.engine.inputs.counting import CountedFile
from siltstone.engine.inputs.listing import InputFile
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.spec.model import SourceSpec
from siltstone.quality.results import Sums
from siltstone.quality.sums import found_in_sums
from tests.unit.spec.cases import spec

CLOSED = {"read": 10, "taken": 5, "control": 3, "other_table": 1, "rejected": 1, "changes": 5, "outcomes": 5}


def test_sums_that_close_have_no_finding() -> None:
    assert found_in_sums(Sums.of(CLOSED | {"more": 1})).observed == 0


def test_records_without_a_destination_are_found() -> None:
    found = found_in_sums(Sums.of(CLOSED | {"read": 11}))
    assert [finding.message for finding in found.sample] == [
        "11 records read, 10 accounted for: 5 taken, 3 control, 1 of other tables, 1 rejected"
    ]


def test_changes_without_an_outcome_are_found() -> None:
    found = found_in_sums(Sums.of(CLOSED | {"outcomes": 4}))
    assert [finding.message for finding in found.sample] == ["5 changes folded, 4 with an outcome"]


def test_without_numbers_the_check_is_not_available() -> None:
    assert found_in_sums(None).unavailable == "this check needs the counts of a run"


def delivered(form: str, after_line: int, reported: int | None, *classified: tuple[str, int]) -> int:
    """The number of records that a delivery of one file reports as read."""
    entry = PendingFile(InputFile("a.jsonl", 1, 1), "", after_line, False)
    consumers = {"shop.t": Consumer("shop.t", "t", 0, {"a.jsonl": entry})}
    classes = [{"kind": kind, "table": "shop.t", "file": "a.jsonl", "records": number} for kind, number in classified]
    counted = {"a.jsonl": CountedFile(entry, 9, reported)}
    source_batch = SourceBatch(SourceSpec(form, "x"), [entry.file], consumers, counted=counted, classes=classes)
    return source_report(source_batch, [spec()]).read


@pytest.mark.parametrize(
    ("form", "after_line", "reported", "classified", "read"),
    [
        ("debezium-json", 0, 9, (("change", 5), ("control", 3), ("reject", 1)), 9),
        ("debezium-json", 0, 9, (("change", 5), ("control", 3)), 9),
        ("debezium-json", 0, 9, (("change", 10),), 9),
        ("debezium-json", 0, 9, (), 9),
        ("spanner-json", 0, 9, (("change", 8),), 9),
        ("spanner-json", 0, 9, (("change", 8), ("reject", 5)), 13),  # a line can be several records
        ("debezium-json", 4, 9, (("change", 5),), 5),  # the new lines were not counted separately
        ("debezium-avro", 0, None, (("change", 5),), 5),
    ],
)
def test_records_read_are_counted_by_who_read_them(
    form: str, after_line: int, reported: int | None, classified: tuple[tuple[str, int], ...], read: int
) -> None:
    assert delivered(form, after_line, reported, *classified) == read

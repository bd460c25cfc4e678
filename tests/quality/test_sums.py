from quality.results import Sums
from quality.sums import found_in_sums

CLOSED = {"read": 10, "taken": 5, "control": 3, "other_table": 1, "rejected": 1, "changes": 5, "outcomes": 5}


def test_sums_that_close_have_no_finding() -> None:
    assert found_in_sums(Sums.of(CLOSED | {"more": 1})).observed == 0


def test_records_that_went_nowhere_are_found() -> None:
    found = found_in_sums(Sums.of(CLOSED | {"read": 11}))
    assert [finding.message for finding in found.sample] == [
        "11 records were read, 10 are accounted for: 5 taken, 3 control, 1 of other tables, 1 rejected"
    ]


def test_changes_without_an_outcome_are_found() -> None:
    found = found_in_sums(Sums.of(CLOSED | {"outcomes": 4}))
    assert [finding.message for finding in found.sample] == ["5 changes were folded, 4 have an outcome"]


def test_without_numbers_the_check_is_not_available() -> None:
    assert found_in_sums(None).unavailable == "no run handed in its numbers"

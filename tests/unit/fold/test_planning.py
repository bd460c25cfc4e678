"""The number of writing tasks, which is the number of data files."""

import pytest

from siltstone.engine import machine
from siltstone.engine.fold.planning import LEAST_ROWS, MOST_ROWS, tasks_for_rows


@pytest.mark.parametrize(
    ("cores", "rows", "expected"),
    [
        (8, 0, 1),
        (8, LEAST_ROWS, 1),
        (8, 3 * LEAST_ROWS, 3),
        (8, 100 * LEAST_ROWS, 8),
        (2, 2 * MOST_ROWS, 2),
        (2, 2 * MOST_ROWS + 1, 4),  # with three tasks, one of two cores would be idle
        (2, 7 * MOST_ROWS, 8),
        (1, 5 * MOST_ROWS, 5),
    ],
)
def test_a_small_write_has_one_task_and_a_large_write_a_multiple_of_the_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, rows: int, expected: int
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: cores)
    assert tasks_for_rows(rows) == expected

"""When a run compacts a table automatically."""

import pytest

from siltstone.engine.report import TableSize
from siltstone.engine.table.maintenance import is_scattered

MB = 1 << 20


def size(files: int = 1, megabytes: int = 1, rows: int = 100, deleted: int = 0) -> TableSize:
    return TableSize(files, min(files, deleted), megabytes * MB, 1, 1, rows, deleted)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (size(files=24), False),
        (size(files=25), True),
        (size(files=40, megabytes=20 * 128), False),  # a large table has many files
        (size(files=45, megabytes=20 * 128), True),
        (size(files=40, megabytes=40 * 128, rows=1_000_000, deleted=200_000), False),  # a run's deletes in each file
        (size(files=40, megabytes=40 * 128, rows=1_000_000, deleted=300_001), True),
        (size(files=0, megabytes=0, rows=0), False),
    ],
)
def test_small_files_and_deleted_rows_make_a_table_scattered(found: TableSize, expected: bool) -> None:
    assert is_scattered(found, 128 * MB) is expected

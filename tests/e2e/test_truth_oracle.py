"""The oracle over the recordings, without Spark: the judge itself is judged by what the databases said."""

import random

import pytest

from tests import oracle
from tests.recorded_tables import MARIADB, POSTGRESQL, Table
from tests.recordings import DATA, SNAPSHOTS, read, truth_final, truth_images

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
WRONG_ERA = {("inventory.customers", (90,))}  # its first READ tells 4713-01-01 BC as a date after Christ


def rules_of(table: Table) -> oracle.Rules:
    return oracle.Rules(tuple(table.columns), table.keys, defaults=table.defaults)


@pytest.mark.parametrize("recording", SNAPSHOTS)
def test_the_oracle_gives_the_truth_in_any_order_of_arrival(recording: str) -> None:
    tables = POSTGRESQL if recording.startswith("postgresql") else MARIADB
    recorded = read(DATA / recording, tables)
    for table in tables.values():
        changes = recorded.changes[table.name]
        shuffled = changes + changes[::5]
        random.Random(1).shuffle(shuffled)
        history, latest = oracle.fold(changes, recorded.windows, rules_of(table))
        assert oracle.fold(shuffled, recorded.windows[::-1], rules_of(table)) == (history, latest)
        found = {key_of(row, table): {c: row[c] for c in table.columns} for row in latest}
        assert found == truth_final(table)
        expected, images = truth_images(table, SNAPSHOTS[recording]), images_of(history, table)
        wrong = {(table.name, key) for key in expected | images if expected.get(key) != images.get(key)}
        assert wrong <= WRONG_ERA


def key_of(row: dict, table: Table) -> tuple:
    return tuple(row[k] for k in table.keys)


def images_of(history: list[dict], table: Table) -> dict[tuple, list[dict | None]]:
    images: dict[tuple, list[dict | None]] = {}
    for row in history:
        image = None if row["_op"] == "delete" else {c: row[c] for c in table.columns}
        sequence = images.setdefault(key_of(row, table), [])
        if not sequence or sequence[-1] != image:
            sequence.append(image)
    return images

"""The statements that a plan prints are those that a run executes."""

from datetime import UTC, datetime

from siltstone.engine import names
from siltstone.engine.table.history_layout import Layout
from siltstone.engine.table.merge import history_insert, latest_overwrite

COLUMNS = ["id", names.VALID_TO]


def test_new_versions_are_appended() -> None:
    found = history_insert("`h`", "versions", COLUMNS, Layout({names.VALID_TO: "until"}))
    assert found == "INSERT INTO `h` (`id`, `until`)\nSELECT `id`, `_valid_to` FROM `versions` WHERE _change = 'insert'"


def test_with_recorded_history_changed_versions_are_appended_too() -> None:
    found = history_insert("`h`", "versions", COLUMNS, Layout(recorded=True, at=datetime(1970, 1, 2, tzinfo=UTC)))
    assert found == (
        "INSERT INTO `h` (`id`, `_valid_to`, `_recorded_from`, `_recorded_to`)\n"
        "SELECT `id`, `_valid_to`, timestamp_micros(86400000000), CAST(NULL AS TIMESTAMP) FROM `versions`"
        " WHERE _change <> 'delete'"
    )


def test_latest_is_replaced_by_the_open_live_versions() -> None:
    found = latest_overwrite("`l`", "open_versions", ["id"])
    assert found == "INSERT OVERWRITE `l` (`id`)\nSELECT `id` FROM `open_versions` WHERE `_is_current`"

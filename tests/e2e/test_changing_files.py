"""Files that vanish, shrink, grow or are replaced during a run: no change is lost, and none is taken twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.ingest import append_changes
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.streams import Shop, catch_up_module, insert, row, update

FIRST = [insert(number, row(number, f"first {number}")) for number in range(1, 6)]
SECOND = [update(10 + number, row(number, f"second {number}")) for number in range(1, 6)]
MORE = [insert(20, row(6, "more"))]
OTHERS = [update(10 + number, row(number, f"others {number}")) for number in range(1, 6)]


@dataclass(frozen=True)
class Change:
    """A change of the file during a run. `final_lines`: the lines of the file after the test restores it."""

    apply: Callable[[Path], object]
    final_lines: list[str]


CHANGES = {
    "vanishes": Change(Path.unlink, SECOND),
    "shrinks": Change(lambda file: file.write_text("".join(SECOND[:2])), SECOND),
    "grows": Change(lambda file: file.write_text("".join([*SECOND, *MORE])), [*SECOND, *MORE]),
    "is replaced": Change(lambda file: file.write_text("".join(OTHERS)), SECOND),
}
STAGES = {
    "listed": (catch_up_module, "read_source_batch"),
    "read": (catch_up_module, "append_control"),
    "written down": (catch_up_module, "append_changes"),
    "decoded": (append_changes, "ensure_changes"),
    "taken": (catch_up_module, "fold_history"),
}
"""The step of the run at which the file changes: just before this function."""


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    shop = Shop(spark, project)
    shop.write("a.jsonl", FIRST)
    shop.taken()
    return shop


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_run_loses_and_repeats_no_change_if_a_file_changes_during_it(shop: Shop, stage: str, change: str) -> None:
    found = CHANGES[change]
    file = shop.write("b.jsonl", SECOND)
    with pytest.MonkeyPatch.context() as patch:
        act_before(patch, *STAGES[stage], lambda: found.apply(file))
        (table,) = shop.run().tables
    assert table.exit_code in (0, 3), table.error
    assert table.exit_code == 0 or str(file) in str(table.error)
    assert table.changes in (0, len(SECOND), len(found.final_lines))
    file.write_text("".join(found.final_lines))
    shop.taken()
    expected = {number: f"second {number}" for number in range(1, 6)} | ({6: "more"} if change == "grows" else {})
    assert {key: name for key, name, _ in shop.latest()} == expected
    assert len(shop.rows("shop_things_h")) == len(FIRST) + len(found.final_lines)
    assert len(shop.rows("shop_things_changes")) == len(FIRST) + len(found.final_lines)
    assert shop.taken().changes == 0


def act_before(patch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], object]) -> None:
    """Call `act` before the first call of a function."""
    original = getattr(module, name)

    def changed(*given: Any, **named: Any) -> Any:
        patch.setattr(module, name, original)
        act()
        return original(*given, **named)

    patch.setattr(module, name, changed)

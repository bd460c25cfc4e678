"""Files that vanish, shrink, grow or are replaced while a run takes them: nothing is lost, nothing is taken twice."""

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
    """What happens to the file. `brings`: the lines that the file has in the end, when it has been put right."""

    happens: Callable[[Path], object]
    brings: list[str]


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
"""Where a run is when it happens: before which function."""


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    shop = Shop(spark, project)
    shop.write("a.jsonl", FIRST)
    shop.taken()
    return shop


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_under_a_run(shop: Shop, stage: str, change: str) -> None:
    found = CHANGES[change]
    file = shop.write("b.jsonl", SECOND)
    with pytest.MonkeyPatch.context() as patch:
        before(patch, *STAGES[stage], lambda: found.happens(file))
        (table,) = shop.run().tables
    assert table.exit_code in (0, 3), table.error
    assert table.exit_code == 0 or str(file) in str(table.error)
    assert table.changes in (0, len(SECOND), len(found.brings))
    file.write_text("".join(found.brings))
    shop.taken()
    expected = {number: f"second {number}" for number in range(1, 6)} | ({6: "more"} if change == "grows" else {})
    assert {key: name for key, name, _ in shop.latest()} == expected
    assert len(shop.rows("shop_things_h")) == len(FIRST) + len(found.brings)
    assert len(shop.rows("shop_things_changes")) == len(FIRST) + len(found.brings)
    assert shop.taken().changes == 0


def before(patch: pytest.MonkeyPatch, module: Any, name: str, happens: Callable[[], object]) -> None:
    """Let something happen before a function is called for the first time."""
    original = getattr(module, name)

    def changed(*given: Any, **named: Any) -> Any:
        patch.setattr(module, name, original)
        happens()
        return original(*given, **named)

    patch.setattr(module, name, changed)

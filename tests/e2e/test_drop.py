"""drop removes a table with all that siltstone keeps of it; what a kill leaves, another drop or a run completes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.cli import main
from siltstone.engine.errors import LockedError, SpecError
from siltstone.engine.report import DropReport
from siltstone.engine.run import drop
from siltstone.engine.run.drop import TableToDrop, table_to_drop
from siltstone.engine.run.exclusive_run import one_run
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table import drop_tables, ledger
from tests.e2e.streams import COLUMNS, THINGS, Shop, insert, row, update

OTHERS = "shop.others"
TABLES = ("shop_things", "shop_things_h", "shop_things_changes")
LEDGERS = (names.INPUTS, names.REJECTS, names.RUNS, names.CHECKS, names.GAPS, names.REPLAYS, names.DISMISSALS)
FIRST = (
    insert(1, row(1, "Alice")),
    insert(2, row(2, "Bob", 1)),
    "no event\n",
    *(insert(n, row(n, "x")) for n in range(50, 250)),
)
SECOND = (update(3, row(2, "Bob", 2)), insert(4, row(3, "Carol"), table=OTHERS))
QUICK = (4, 9)
"""Of the commits before which a drop is killed: in a table, and in a ledger."""


class Killed(BaseException):
    """A kill."""


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    found = Shop(spark, project)
    found.write("a.jsonl", FIRST)
    found.taken()
    found.write("b.jsonl", SECOND)
    found.run(found.spec(), found.spec(OTHERS))
    return found


def unwanted(shop: Shop) -> TableToDrop:
    spec = shop.spec()
    return TableToDrop(spec.table, spec.target, spec.file, spec.source.path)


def dropped(shop: Shop) -> DropReport:
    return drop(shop.project, unwanted(shop), shop.spark)


def named(shop: Shop) -> dict[str, int]:
    """How many rows of each ledger name the table."""
    counts = {
        ledger: sum(THINGS in (r.get("table"), r.get("consumer")) for r in shop.rows(ledger)) for ledger in LEDGERS
    }
    return {ledger: count for ledger, count in counts.items() if count}


def files_of(shop: Shop, tables: tuple[str, ...] = TABLES) -> list[Path]:
    warehouse = Path(str(shop.project.catalog.warehouse).removeprefix("file://"))
    folders = [warehouse / shop.project.namespace / table for table in tables]
    return [file for folder in folders for file in folder.rglob("*") if file.is_file()]


@contextmanager
def killed_before(number: int, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kill before the commit of this number."""
    count, real = iter(range(1_000)), drop_tables.one_boundary

    @contextmanager
    def boundary(name: str) -> Iterator[None]:
        if next(count) == number:
            raise Killed
        with real(name):
            yield

    with patch.context() as inside:
        for module in (drop_tables, ledger):
            inside.setattr(module, "one_boundary", boundary)
        yield


def test_nothing_is_left_of_a_dropped_table_and_others_stay(shop: Shop) -> None:
    others = shop.rows("shop_others_h")
    assert named(shop).keys() >= {names.INPUTS, names.RUNS}
    report = dropped(shop)
    assert report.tables == tuple(f"{shop.project.namespace}.{table}" for table in TABLES)
    assert report.rows.keys() >= {names.INPUTS, names.RUNS}
    assert any("events" in text for text in report.kept)
    assert named(shop) == {}
    assert [shop.rows(table) for table in TABLES] == [[], [], []]
    assert files_of(shop) == []
    assert shop.rows("shop_others_h") == others
    assert {r["consumer"] for r in shop.rows(names.INPUTS)} >= {OTHERS}
    with pytest.raises(SpecError, match="none of"):
        dropped(shop)


def test_a_dropped_table_is_taken_again_whole(shop: Shop) -> None:
    before = shop.stored()
    dropped(shop)
    shop.taken()
    assert shop.stored() == before
    assert shop.taken().status == "nothing new"


@pytest.mark.parametrize("number", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in range(11)])
def test_a_killed_drop_is_completed_by_a_run_or_by_another_drop(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = shop.stored()
    with killed_before(number, monkeypatch), pytest.raises(Killed):
        dropped(shop)
    if number % 2:
        shop.taken()
        assert shop.stored() == before
        assert shop.taken().status == "nothing new"
    dropped(shop)
    assert named(shop) == {}
    assert files_of(shop) == []


def test_no_table_is_dropped_that_siltstone_did_not_write_or_that_a_run_is_at_work_on(shop: Shop) -> None:
    with one_run(shop.project, 0.0), pytest.raises(LockedError):
        dropped(shop)
    catalog, namespace = shop.project.catalog.name, shop.project.namespace
    shop.spark.sql(f"CREATE TABLE {catalog}.{namespace}.mine USING iceberg AS SELECT 1 AS id")
    with pytest.raises(SpecError, match="siltstone did not write it"):
        drop(shop.project, table_to_drop(f"{namespace}.mine", shop.project), shop.spark)
    assert len(shop.rows("mine")) == 1
    assert shop.latest()


def test_the_command_asks_says_what_it_did_and_what_stays(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(shop)
    monkeypatch.chdir(shop.project.root)
    monkeypatch.setattr("siltstone.engine.session.spark_session", lambda _: shop.spark)
    with pytest.raises(SystemExit) as ended:
        main(["drop", "things"])
    assert ended.value.code == 2
    assert "--yes" in capsys.readouterr().err
    assert shop.latest()
    assert command(capsys, "drop", "things", "--yes", "--json")["table"] == THINGS
    assert shop.latest() == []
    with pytest.raises(SystemExit) as ended:
        main(["drop", "things", "--yes"])
    assert ended.value.code == 2
    (shop.project.root / "specs" / "things.yaml").unlink()
    with pytest.raises(SystemExit):
        main(["drop", "things", "--yes"])
    assert "without its spec, name the table as the source does" in capsys.readouterr().err


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0
    return json.loads(capsys.readouterr().out)


def write_project(shop: Shop) -> None:
    """The project and the table's spec as files."""
    root, catalog, namespace = shop.project.root, shop.project.catalog, shop.project.namespace
    listed = ", ".join(f"{name}: {kind}" for name, kind in COLUMNS.items())
    (root / "siltstone.yaml").write_text(
        f"catalog: {{name: {catalog.name}, type: jdbc, uri: '{catalog.uri}', warehouse: '{catalog.warehouse}'}}\n"
        f"namespace: {namespace}\n"
    )
    (root / "specs").mkdir()
    (root / "specs" / "things.yaml").write_text(
        f"table: {THINGS}\nsource: {{format: debezium-json, path: events}}\nkeys: [id]\ncolumns: {{{listed}}}\n"
        f"target: {{latest: {namespace}.shop_things, history: {namespace}.shop_things_h}}\n"
    )

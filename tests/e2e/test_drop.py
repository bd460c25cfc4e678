"""`drop` removes a table and all that siltstone stores for it. A second drop, or a run, recovers from a killed drop."""

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
QUICK = (4,)
"""The commits before which a fast test kills a drop."""


class Killed(BaseException):
    """A simulated kill of the process."""


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    found = Shop(spark, project)
    found.write("a.jsonl", FIRST)
    found.taken()
    found.write("b.jsonl", SECOND)
    found.run(found.spec(), found.spec(OTHERS))
    return found


def things_table(shop: Shop) -> TableToDrop:
    spec = shop.spec()
    return TableToDrop(spec.table, spec.target, spec.file, spec.source.path)


def drop_things(shop: Shop) -> DropReport:
    return drop(shop.project, things_table(shop), shop.spark)


def ledger_rows(shop: Shop) -> dict[str, int]:
    """The number of rows that name the table, for each ledger that has such rows."""
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
    """Kill the drop before the commit with this number."""
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


def test_drop_removes_everything_of_a_table_and_keeps_other_tables(shop: Shop) -> None:
    others = shop.rows("shop_others_h")
    assert ledger_rows(shop).keys() >= {names.INPUTS, names.RUNS}
    report = drop_things(shop)
    assert report.tables == tuple(f"{shop.project.namespace}.{table}" for table in TABLES)
    assert report.rows.keys() >= {names.INPUTS, names.RUNS}
    assert any("events" in text for text in report.kept)
    assert ledger_rows(shop) == {}
    assert [shop.rows(table) for table in TABLES] == [[], [], []]
    assert files_of(shop) == []
    assert shop.rows("shop_others_h") == others
    assert {r["consumer"] for r in shop.rows(names.INPUTS)} >= {OTHERS}
    with pytest.raises(SpecError, match="none of"):
        drop_things(shop)


def test_the_next_run_restores_a_dropped_table_from_its_events(shop: Shop) -> None:
    before = shop.stored()
    drop_things(shop)
    shop.taken()
    assert shop.stored() == before
    assert shop.taken().status == "nothing new"


@pytest.mark.parametrize("number", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in range(11)])
def test_a_run_or_a_second_drop_recovers_from_a_killed_drop(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = shop.stored()
    with killed_before(number, monkeypatch), pytest.raises(Killed):
        drop_things(shop)
    if number % 2:
        shop.taken()
        assert shop.stored() == before
        assert shop.taken().status == "nothing new"
    drop_things(shop)
    assert ledger_rows(shop) == {}
    assert files_of(shop) == []


def test_drop_refuses_during_a_run_and_for_a_table_of_another_program(shop: Shop) -> None:
    with one_run(shop.project, 0.0), pytest.raises(LockedError):
        drop_things(shop)
    catalog, namespace = shop.project.catalog.name, shop.project.namespace
    shop.spark.sql(f"CREATE TABLE {catalog}.{namespace}.mine USING iceberg AS SELECT 1 AS id")
    with pytest.raises(SpecError, match="siltstone did not write it"):
        drop(shop.project, table_to_drop(f"{namespace}.mine", shop.project), shop.spark)
    assert len(shop.rows("mine")) == 1
    assert shop.latest()


def test_the_command_requires_yes_and_reports_the_dropped_table(
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
    """Write the project file and the spec of the table."""
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

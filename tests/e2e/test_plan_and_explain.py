"""`plan` reports what the next run does, and writes nothing. `explain` gives the reason of each version of a key."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.cli import main
from siltstone.engine.report import FAILED, NOTHING_NEW, PLANNED, TablePlan
from siltstone.engine.run import explain, plan
from siltstone.engine.spec.model import CatalogSpec
from siltstone.jobs.rebuild import main as job
from tests.e2e.streams import LATE, PROMPT, Shop, insert, row, update

FIRST = (*PROMPT, insert(301, row(6, "Frank")))
OTHERS = "shop.others"
SECOND = (*LATE, insert(400, row(5, "Eve")), update(401, row(6, "Frances")), insert(402, row(7, "Gus", "many")))
STORED = ("shop_things_changes", "shop_things_h", "shop_things", "control", "inputs", "runs")


@pytest.fixture(scope="module")
def shop(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.open(spark, catalog, tmp_path_factory.mktemp("planned"), "planned")


def planned(shop: Shop) -> TablePlan:
    (found,) = plan(shop.project, [shop.spec(rejects=0.5)], shop.spark)
    return found


def test_a_plan_reports_what_the_next_run_does_and_writes_nothing(shop: Shop) -> None:
    shop.write("a.jsonl", (*FIRST, insert(9, row(1, "other"), table=OTHERS), "{not JSON\n"))
    found = planned(shop)
    tables = shop.spark.sql(f"SHOW NAMESPACES IN {shop.project.catalog.name}").collect()
    assert shop.project.namespace not in {name for (name,) in tables}  # not even the namespace
    assert (found.status, found.batch, found.changes, found.in_order) == (PLANNED, 1, 8, 8), found
    assert dict(shop.taken(shop.spec(rejects=0.5)).outcomes) == found.outcomes == {"opened": 6, "absorbed": 2}

    shop.write("b.jsonl", SECOND)
    snapshots = [shop.snapshots(table) for table in STORED]
    found = planned(shop)
    assert [shop.snapshots(table) for table in STORED] == snapshots
    assert (found.status, found.batch, found.files, found.rejected) == (PLANNED, 2, 1, 1), found
    assert (found.changes, found.in_order, found.late) == (7, 3, 3)
    opened = {"opened": 3, "closed": 1, "spliced": 3, "withdrawn": 1, "removed": 0}
    assert {name: found.versions[name] for name in opened} == opened
    done = shop.taken(shop.spec(rejects=0.5))
    assert (dict(done.outcomes), done.late, done.withdrawn) == (found.outcomes, found.late, 1)
    assert done.versions["opened"] == found.versions["opened"] + found.versions["spliced"]
    assert planned(shop).status == NOTHING_NEW
    (others,) = plan(shop.project, [shop.spec(OTHERS)], shop.spark)
    assert (others.status, others.changes) == (PLANNED, 1), others  # the run over shop.things accepted the invalid line

    shop.write("c.jsonl", [update(500, row(2, "x")).replace("as read", "other")])
    (wrong,) = plan(shop.project, [shop.spec(columns={"id": "int", "name": "int", "n": "int"})], shop.spark)
    assert (wrong.status, wrong.exit_code) == (FAILED, 2)
    assert "siltstone rebuild" in str(wrong.error)
    (shop.events / "c.jsonl").unlink()


def explained(shop: Shop, key: int) -> tuple[list[tuple[str, str, bool]], list[tuple[str, int | None, bool, str]]]:
    """(valid from, made by, in the table) of each version, and (outcome, version, late, place) of each change."""
    found = explain(shop.project, shop.spec(rejects=0.5), shop.spark, {"id": str(key)})

    def place(text: str) -> str:
        return text.rpartition("/")[2]

    assert len(found.versions) == found.versions_in_table
    versions = [(v.valid_from[14:19], place(v.made_by), v.in_table) for v in found.versions]
    return versions, [(c.outcome, c.version, c.late, place(c.place)) for c in found.changes]


def test_explain_gives_the_event_of_each_version_and_the_outcome_of_each_change(shop: Shop) -> None:
    versions, changes = explained(shop, 1)
    assert versions == [
        ("01:45", "a.jsonl:1", True),
        ("01:52", "b.jsonl:2", True),
        ("01:55", "a.jsonl:3", True),
        ("02:00", "a.jsonl:4", True),
    ]
    assert changes == [
        ("opened", 1, False, "a.jsonl:1"),
        ("absorbed", None, False, "a.jsonl:2"),
        ("redelivered", None, False, "b.jsonl:1"),
        ("opened", 2, True, "b.jsonl:2"),
        ("opened", 3, False, "a.jsonl:3"),
        ("opened", 4, False, "a.jsonl:4"),
    ]
    assert explained(shop, 2)[1] == [("opened", 1, True, "b.jsonl:3"), ("withdrawn", None, False, "a.jsonl:5")]
    assert explained(shop, 3)[1] == [("opened", 1, False, "a.jsonl:6"), ("superseded", None, False, "b.jsonl:4")]
    assert explained(shop, 4)[1] == [("opened", 1, True, "b.jsonl:5"), ("healed", 2, False, "a.jsonl:7")]
    prefix = f"{shop.project.catalog.name}.{shop.project.namespace}"
    shop.spark.sql(f"DELETE FROM {prefix}.shop_things_h WHERE id = 6 AND name = 'Frank'")
    found = explain(shop.project, shop.spec(rejects=0.5), shop.spark, {"id": "6"})
    assert [version.in_table for version in found.versions] == [False, True]
    assert [version.row["name"] for version in found.versions] == ["Frank", "Frances"]


@pytest.fixture
def arguments(shop: Shop) -> list[str]:
    """Write a project file and a spec. Gives the options of the command line that select the project."""
    root, catalog = shop.project.root, shop.project.catalog
    (root / "siltstone.yaml").write_text(
        f"catalog: {{name: {catalog.name}, type: jdbc, uri: '{catalog.uri}', warehouse: '{catalog.warehouse}'}}\n"
        f"namespace: {shop.project.namespace}\n"
    )
    (root / "specs").mkdir(exist_ok=True)
    name = f"{shop.project.namespace}.shop_things"
    (root / "specs" / "things.yaml").write_text(
        "table: shop.things\nsource: {format: debezium-json, path: events}\nkeys: [id]\n"
        "columns: {id: int, name: string, n: int}\n"
        f"target: {{latest: {name}, history: {name}_h}}\nrejects: {{max_fraction: 0.5}}\n"
    )
    return ["--project", str(root)]


@pytest.mark.slow
def test_the_commands_print_text_and_json(
    shop: Shop, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*words: str, ends: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, *arguments])
        printed = capsys.readouterr()
        assert ended.value.code == ends, printed.err
        return printed.err if ends == 2 else printed.out

    found = json.loads(run("explain", "things", "--key", "id=2", "--json"))
    assert [change["outcome"] for change in found["changes"]] == ["opened", "withdrawn"]
    assert found["changes"][1]["why"].endswith("it arrived in batch 2")
    text = run("explain", "shop.things", "--key", "id=1")
    assert "redelivered" in text
    assert "b.jsonl:2" in text
    assert "no value is given for id" in run("explain", "things", ends=2)
    assert "not of type int" in run("explain", "things", "--key", "id=x", ends=2)
    (planned,) = json.loads(run("plan", "--json", ends=5))
    assert "another program changed its rows" in planned["error"]
    differing = run("verify", "--all", "--seed", "3", ends=70)
    assert "--seed 3" in differing
    assert "id=6" in differing
    (rebuilt,) = json.loads(run("rebuild", "--key", "id=6", "--json", ends=5))["tables"]
    assert rebuilt["status"] == "rebuilt"
    assert "its other keys still hold what another program wrote" in rebuilt["notes"][0]
    assert {check["check"] for check in rebuilt["checks"] if check["status"] == "failed"} >= {"orphan"}
    assert json.loads(run("verify", "--all", "--seed", "3", "--json"))[0]["status"] == "equal"
    assert job(arguments) == 5  # the job also runs the checks, and the stream has gaps
    assert json.loads(capsys.readouterr().out)["tables"][0]["status"] == "rebuilt"
    assert json.loads(run("plan", "--json"))[0]["status"] == NOTHING_NEW
    assert run("plan").count("shop.things") == 1
    assert "rebuilt" in run("rebuild", str(Path(arguments[1]) / "specs" / "things.yaml"), "--range", "id=2..4", ends=5)

"""Partition fields, sort order, properties and comments of tables follow the spec, also when it changes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.iceberg import layout_of, plain
from siltstone.engine.report import EQUAL, FAILED, NOTHING_NEW, PLANNED, REBUILT
from siltstone.engine.run import maintain, plan, rebuild, reread, verify
from siltstone.engine.schema.comments import HISTORY, comment_on
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import load
from tests.e2e.streams import COLUMNS, THINGS, Shop, delete, insert, row, update

FIRST = [insert(key, row(key, f"name {key % 7}", key % 3)) for key in range(1, 40)]
SECOND = [update(100 + key, row(key, f"other {key % 5}", key % 4)) for key in range(1, 40, 2)]
LATE = [update(50, row(7, "late", 9)), delete(150, row(4, "name 4", 1)), insert(160, row(99, "new", 1))]
TARGET: dict[str, Any] = {
    "partition": {"latest": ["bucket(4, id)"], "history": ["bucket(2, id)"]},
    "sort": ["name desc", "id"],
    "properties": {"write.parquet.compression-codec": "snappy", "team": "shop"},
}


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def spec_of(shop: Shop, target: dict[str, Any] | None = None, **more: Any) -> TableSpec:
    namespace = shop.project.namespace
    named = {"latest": f"{namespace}.shop_things", "history": f"{namespace}.shop_things_h"}
    mapping = {"table": THINGS, "source": {"format": "debezium-json", "path": "events"}, "keys": ["id"]}
    return table_spec(mapping | {"columns": COLUMNS, "target": named | (target or {})} | more, shop.project)


def state(shop: Shop, table: str) -> dict[str, Any]:
    """The settings of a table: partition fields, sort order, properties, comments."""
    java = load(shop.spark, shop.project.catalog.name, f"{shop.project.namespace}.{table}")
    partition, order, columns = layout_of(shop.spark, java)
    return {
        "partition": [(columns[one["source-id"]]["name"], one["transform"]) for one in partition],
        "sort": [(columns[one["source-id"]]["name"], one["direction"]) for one in order],
        "properties": plain(shop.spark, java.properties()),
        "comments": {
            column["name"]: column["doc"]
            for column in columns.values()
            if "doc" in column and column["name"] not in HISTORY
        },
        "specs": int(java.specs().size()),
        "snapshots": int(java.snapshots().spliterator().getExactSizeIfKnown()),
    }


def stored(shop: Shop) -> list[list[str]]:
    tables = ("shop_things_h", "shop_things")
    return [sorted(repr(sorted((n, v) for n, v in r.items() if n != "_batch")) for r in shop.rows(t)) for t in tables]


def data_files(shop: Shop, table: str) -> list[Path]:
    found = shop.spark.table(f"{shop.project.catalog.name}.{shop.project.namespace}.{table}.files").collect()
    return [Path(one["file_path"].removeprefix("file:")) for one in found if one["content"] == 0]


def without_settings(shop: Shop, *batches: list[str]) -> list[list[str]]:
    """The rows of tables that loaded the same batches without these settings."""
    root = shop.project.root / "plain"
    root.mkdir()
    bare = Shop(shop.spark, replace(shop.project, root=root, namespace=f"{shop.project.namespace}_plain"))
    for number, lines in enumerate(batches):
        bare.write(f"{number}.jsonl", lines)
        bare.taken(spec_of(bare))
    return stored(bare)


def rows_of(shop: Shop) -> list[list[str]]:
    """The rows without the column `later`, which only the spec declares."""
    replacements = ("('later', None), ", ""), ("('_unknown', ['later'])", "('_unknown', None)")
    return [[text.replace(*replacements[0]).replace(*replacements[1]) for text in table] for table in stored(shop)]


def planned_for_latest(shop: Shop, settings: tuple[str, ...]) -> list[str]:
    """The planned settings of latest."""
    latest = f"{shop.project.namespace}.shop_things: "
    return [text.removeprefix(latest) for text in settings if text.startswith(latest)]


NAMED: dict[str, Any] = COLUMNS | {
    "name": {"type": "string", "comment": "What it's called"},
    "later": {"type": "int", "comment": "x"},
}
OTHER: dict[str, Any] = {
    "partition": {"latest": ["truncate(1, name)"]},
    "sort": ["id desc"],
    "properties": {"team": "shops"},
}


@pytest.mark.slow
def test_tables_have_the_settings_of_the_spec_and_the_same_rows(shop: Shop) -> None:
    first = spec_of(shop, TARGET, columns=NAMED, comment="Things of the shop")
    for number, lines in enumerate((FIRST, SECOND)):
        shop.write(f"{number}.jsonl", lines)
        shop.taken(first)
    check_first(shop)
    second = spec_of(shop, OTHER, columns=NAMED, comment="All things")
    check_evolution(shop, second)

    # Late changes over files of two partition specs, compaction and a rebuild give the expected rows.
    shop.write("2.jsonl", LATE)
    shop.taken(second)
    expected = without_settings(shop, FIRST, SECOND, LATE)
    assert rows_of(shop) == expected
    (found,) = verify(shop.project, [second], shop.spark, sample=None)
    assert found.status == EQUAL, found.error
    assert maintain(shop.project, [second], shop.spark).exit_code == 0
    assert rows_of(shop) == expected
    (rebuilt,) = rebuild(shop.project, [second], shop.spark).tables
    assert (rebuilt.status, rebuilt.error) == (REBUILT, None)
    assert rows_of(shop) == expected
    assert state(shop, "shop_things")["partition"] == [("name", "truncate[1]")]
    check_reread(shop)
    assert rows_of(shop) == expected


def check_first(shop: Shop) -> None:
    """Check that new tables have the settings of the spec."""
    latest, history = state(shop, "shop_things"), state(shop, "shop_things_h")
    assert latest["partition"] == [("id", "bucket[4]")]
    assert history["partition"] == [("_valid_to", "month"), ("id", "bucket[2]")]
    for found in (latest, history):
        assert found["sort"] == [("name", "desc"), ("id", "asc")]
        assert found["properties"]["write.parquet.compression-codec"] == "snappy"
        assert found["properties"]["team"] == "shop"
        assert found["properties"]["comment"] == "Things of the shop"
        assert found["properties"]["write.distribution-mode"] == "none"
        assert found["comments"] == {"name": "What it's called", "later": "x"}
    for file in data_files(shop, "shop_things") + data_files(shop, "shop_things_h"):
        sorted_names = pq.ParquetFile(file).read(["name"])["name"].to_pylist()
        assert sorted_names == sorted(sorted_names, reverse=True)


def check_evolution(shop: Shop, spec: TableSpec) -> None:
    """Check that a run removes settings that the spec no longer has, and keeps the properties of other programs."""
    table = f"{shop.project.catalog.name}.{shop.project.namespace}.shop_things"
    shop.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('steward' = 'me')")
    (planned,) = plan(shop.project, [spec], shop.spark)
    assert planned.status == NOTHING_NEW
    assert planned_for_latest(shop, planned.settings) == [
        "partition by truncate(1, name), too",
        "no longer partition by id_bucket_4",
        "sort by id desc nulls last",
        "set property write.parquet.compression-codec to zstd",
        "set property team to shops",
        "set property comment to All things",
    ]
    before = state(shop, "shop_things")
    assert shop.taken(spec).status == NOTHING_NEW
    latest, history = state(shop, "shop_things"), state(shop, "shop_things_h")
    assert latest["snapshots"] == before["snapshots"]
    assert latest["partition"] == [("name", "truncate[1]")]
    assert history["partition"] == [("_valid_to", "month")]
    assert (latest["sort"], history["sort"]) == ([("id", "desc")], [("id", "desc")])
    known = {name: latest["properties"].get(name) for name in ("steward", "team", "comment")}
    assert known == {"steward": "me", "team": "shops", "comment": "All things"}
    assert latest["properties"]["write.parquet.compression-codec"] == "zstd"
    (planned,) = plan(shop.project, [spec], shop.spark)
    assert planned.settings == ()
    assert shop.taken(replace(spec, comment=None)).status == NOTHING_NEW
    assert state(shop, "shop_things")["properties"]["comment"] == comment_on("latest")["comment"]
    assert state(shop, "shop_things_h")["properties"]["comment"] == comment_on("history")["comment"]


def check_reread(shop: Shop) -> None:
    """Check that a reread creates tables with the settings of the spec."""
    spec = spec_of(shop, TARGET, columns=NAMED | {"n": "bigint"})
    (read,) = reread(shop.project, [spec], shop.spark).tables
    assert (read.status, read.error) == (REBUILT, None)
    latest, history = state(shop, "shop_things"), state(shop, "shop_things_h")
    assert latest["partition"] == [("id", "bucket[4]")]
    assert history["partition"] == [("_valid_to", "month"), ("id", "bucket[2]")]
    assert latest["sort"] == history["sort"] == [("name", "desc"), ("id", "asc")]
    assert latest["properties"]["write.parquet.compression-codec"] == "snappy"
    remembered = json.loads(latest["properties"][names.PROPERTY_SETTINGS])
    assert remembered["sort"] == ["name desc nulls last", "id asc nulls first"]
    assert latest["comments"] == {"name": "What it's called", "later": "x"}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"partition": ["month(created_at)"]}, "target.partition names created_at, and the table has no such column"),
        ({"sort": ["nam"]}, "did you mean name?"),
        ({"partition": ["month(name)"]}, "target.partition has month of name, which is string"),
    ],
)
def test_a_run_with_an_invalid_layout_fails_and_loads_nothing(shop: Shop, target: dict[str, Any], words: str) -> None:
    shop.write("a.jsonl", FIRST)
    spec = spec_of(shop, target)
    (planned,) = plan(shop.project, [spec], shop.spark)
    (found,) = shop.run(spec).tables
    for report in (planned, found):
        assert (report.status, report.exit_code) == (FAILED, 2)
        assert words in str(report.error)
    assert shop.rows("shop_things_changes") == []
    assert planned.status != PLANNED

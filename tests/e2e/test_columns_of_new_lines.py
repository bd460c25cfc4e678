"""Only the changes that a table takes decide its columns, also if other tables take other lines of the same files."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import FAILED, REBUILT
from siltstone.engine.run import reread
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.streams import THINGS, Shop, insert

OTHERS = "shop.others"


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def types(shop: Shop) -> dict[str, str]:
    found = shop.spark.table(f"{shop.project.catalog.name}.{shop.project.namespace}.shop_things").dtypes
    return {name: kind for name, kind in found if not name.startswith("_")}


def thing(second: int, **fields: Any) -> str:
    return insert(second, fields)


def other(second: int) -> str:
    return insert(second, {"id": second}, table=OTHERS)


def test_lines_that_a_table_took_before_do_not_decide_for_its_new_lines(shop: Shop) -> None:
    things, others = (shop.spec(table, columns={"id": "int", "a": "int"}) for table in (THINGS, OTHERS))
    shop.write("1.jsonl", [thing(1, id=1, a=1, b=2), other(2)])
    shop.taken(replace(things, evolution="ignore"))
    shop.write("2.jsonl", [thing(3, id=2, a=3), other(4)])
    found = shop.run(replace(things, evolution="strict"), others)  # the other table begins with the first file
    assert [(table.table, table.changes, table.error) for table in found.tables] == [
        (THINGS, 1, None),
        (OTHERS, 2, None),
    ]
    assert [row["a"] for row in sorted(shop.rows("shop_things"), key=lambda row: row["id"])] == [1, 3]


def test_a_reread_does_not_take_the_columns_of_lines_that_the_table_did_not_take(shop: Shop) -> None:
    things = shop.spec(columns={"id": "int", "a": "int"})
    things, others = replace(things, evolution="strict"), shop.spec(OTHERS, columns={"id": "int"})
    shop.write("1.jsonl", [thing(1, id=1, a=1), other(2)])
    assert [table.exit_code for table in shop.run(things, others).tables] == [0, 0]
    shop.write("2.jsonl", [thing(3, id=2, a=3, b=4), other(4)])
    failed, _ = shop.run(things, others).tables
    assert failed.status == FAILED  # its column b is new
    (table,) = reread(shop.project, [things], shop.spark).tables
    assert (table.status, table.error) == (REBUILT, None)
    assert types(shop) == {"id": "int", "a": "int"}


def test_a_reread_of_a_file_that_has_grown_since_takes_the_columns_of_the_taken_lines(shop: Shop) -> None:
    things = shop.spec(columns=None)
    first = thing(1, id=1, a=1)
    shop.write("1.jsonl", [first])
    shop.taken(things)
    shop.write("1.jsonl", [first, thing(2, id=2, a="x", b=1)])
    (table,) = reread(shop.project, [things], shop.spark).tables
    assert (table.status, table.error) == (REBUILT, None)
    assert types(shop) == {"id": "bigint", "a": "bigint"}

"""What other engines are known to get wrong, from files to tables."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.streams import Shop


def told(method: str, payload: dict[str, Any], time: str, place: int | None) -> str:
    """An event of Datastream from MySQL. All bear one uuid, as those of a backfill do."""
    log = {"log_file": None if place is None else "mysql-bin.000003", "log_position": place}
    source = {"table": "places", "database": "shop", "primary_keys": ["id"], "is_deleted": False, **log}
    kind = {"change_type": "INSERT" if place is None else "UPDATE"}
    stamps = {"uuid": "00000000-0000-0000-0000-000000000000", "read_method": method}
    times = {"read_timestamp": "2026-03-01T12:00:00Z", "source_timestamp": time}
    return json.dumps({**stamps, **times, "source_metadata": source | kind, "payload": payload}) + "\n"


@pytest.mark.slow
def test_rows_of_one_uuid_are_all_kept_and_one_that_moves_to_another_partition_is_there_once(
    spark: SparkSession, project: ProjectSpec
) -> None:
    shop = Shop(spark, project)
    base = shop.spec()
    target = {"latest": base.target.latest, "history": base.target.history}
    source = {"format": "datastream-json", "path": "events"}
    columns = {"id": "bigint", "region": "string"}
    mapping = {"table": "shop.places", "source": source, "keys": ["id"], "columns": columns, "target": target}
    spec = table_spec(mapping, project)
    backfill = [
        told("mysql-backfill-incremental", {"id": n, "region": "eu"}, "2026-03-01T10:00:00Z", None) for n in (1, 2, 3)
    ]
    shop.write("1.jsonl", backfill)
    shop.taken(spec)
    catalog = project.catalog.name
    spark.sql(f"ALTER TABLE {catalog}.{spec.target.latest} ADD PARTITION FIELD region")
    steps = {11: "us", 12: "eu"}
    moved = [
        told("mysql-cdc-binlog", {"id": 1, "region": to}, f"2026-03-01T{hour}:00:00Z", hour)
        for hour, to in steps.items()
    ]
    shop.write("2.jsonl", [*moved, told("mysql-cdc-binlog", {"id": 2, "region": "us"}, "2026-03-01T13:00:00Z", 13)])
    shop.taken(spec)
    assert sorted((row["id"], row["region"]) for row in shop.rows("shop_things")) == [(1, "eu"), (2, "us"), (3, "eu")]
    regions = [(row["id"], row["region"]) for row in shop.rows("shop_things_h")]
    assert sorted(regions) == [(1, "eu"), (1, "eu"), (1, "us"), (2, "eu"), (2, "us"), (3, "eu")]

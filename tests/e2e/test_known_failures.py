"""Cases that other engines are known to handle incorrectly, from files to tables."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.streams import Shop


def datastream_event(method: str, payload: dict[str, Any], time: str, position: int | None) -> str:
    """A Datastream event from MySQL. All events have the same uuid, as the events of a backfill do."""
    log = {"log_file": None if position is None else "mysql-bin.000003", "log_position": position}
    source = {"table": "places", "database": "shop", "primary_keys": ["id"], "is_deleted": False, **log}
    kind = {"change_type": "INSERT" if position is None else "UPDATE"}
    stamps = {"uuid": "00000000-0000-0000-0000-000000000000", "read_method": method}
    times = {"read_timestamp": "2026-03-01T12:00:00Z", "source_timestamp": time}
    return json.dumps({**stamps, **times, "source_metadata": source | kind, "payload": payload}) + "\n"


@pytest.mark.slow
def test_all_rows_with_the_same_uuid_are_kept_and_a_row_that_changes_its_partition_stays_one_row(
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
        datastream_event("mysql-backfill-incremental", {"id": n, "region": "eu"}, "2026-03-01T10:00:00Z", None)
        for n in (1, 2, 3)
    ]
    shop.write("1.jsonl", backfill)
    shop.taken(spec)
    catalog = project.catalog.name
    spark.sql(f"ALTER TABLE {catalog}.{spec.target.latest} ADD PARTITION FIELD region")
    steps = {11: "us", 12: "eu"}
    moves = [
        datastream_event("mysql-cdc-binlog", {"id": 1, "region": to}, f"2026-03-01T{hour}:00:00Z", hour)
        for hour, to in steps.items()
    ]
    shop.write(
        "2.jsonl", [*moves, datastream_event("mysql-cdc-binlog", {"id": 2, "region": "us"}, "2026-03-01T13:00:00Z", 13)]
    )
    shop.taken(spec)
    assert sorted((row["id"], row["region"]) for row in shop.rows("shop_things")) == [(1, "eu"), (2, "us"), (3, "eu")]
    regions = [(row["id"], row["region"]) for row in shop.rows("shop_things_h")]
    assert sorted(regions) == [(1, "eu"), (1, "eu"), (1, "us"), (2, "eu"), (2, "us"), (3, "eu")]

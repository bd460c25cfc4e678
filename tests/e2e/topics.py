"""`TopicShop`: a shop whose events are in a Kafka topic."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport, TableReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, TableSpec
from tests.brokers import Broker, Record
from tests.e2e.streams import COLUMNS, THINGS, Shop

_numbers = itertools.count(1)


@dataclass(frozen=True)
class TopicShop(Shop):
    """A shop whose table `shop.things` has its own topic."""

    broker: Broker | None = None
    topic: str = ""

    @classmethod
    def of(
        cls, spark: SparkSession, catalog: CatalogSpec, root: Path, broker: Broker, partitions: int = 1, **config: str
    ) -> TopicShop:
        number = next(_numbers)
        base = Shop.open(spark, catalog, root, f"topics_{number}")
        topic = broker.create(f"things-{number}", partitions, **config)
        return cls(spark, base.project, broker, topic)

    def produce(self, lines: Iterable[str], partition: int = 0) -> None:
        """Produce the events, with the keys of their rows as record keys."""
        assert self.broker is not None
        self.broker.produce(self.topic, [keyed(line, partition) for line in lines])

    def topic_spec(self, table: str = THINGS, kafka: dict[str, Any] | None = None, **source: Any) -> TableSpec:
        """The spec of one table."""
        return table_spec(self.mapping(table, kafka, **source), self.project)

    def mapping(self, table: str = THINGS, kafka: dict[str, Any] | None = None, **source: Any) -> dict[str, Any]:
        """The spec of one table, as a mapping."""
        assert self.broker is not None
        name = table.replace(".", "_")
        settings = {"bootstrap": self.broker.bootstrap, "topics": self.topic} | (kafka or {})
        return {
            "table": table,
            "source": {"format": "debezium-json", "kafka": {k: v for k, v in settings.items() if v is not None}}
            | source,
            "keys": ["id"],
            "columns": COLUMNS,
            "target": {"latest": f"{self.project.namespace}.{name}", "history": f"{self.project.namespace}.{name}_h"},
            "rejects": {"max_fraction": 0.5},
        }

    def run_topics(self, **kafka: Any) -> RunReport:
        """Run once over `shop.things`."""
        return catch_up(self.project, [self.topic_spec(kafka=kafka)], self.spark)

    def run_successfully(self, **kafka: Any) -> TableReport:
        """Run once, and expect exit code 0. Gives the report of the table."""
        (table,) = self.run_topics(**kafka).tables
        assert table.exit_code == 0, table.error
        return table

    def error_of_run(self, **kafka: Any) -> str:
        """Run once, and expect a failure. Gives the error of the table."""
        (table,) = self.run_topics(**kafka).tables
        assert table.exit_code, table
        return str(table.error)

    def names(self) -> list[str]:
        """The names of the live rows."""
        return [name for _, name, _ in self.latest()]

    def inputs(self) -> list[tuple[str, str, int, int]]:
        """(consumer, partition, from, to) of all inputs of all runs."""
        rows = [
            (r["consumer"], r["path"].rpartition("/")[2], r["from_line"], r["to_line"]) for r in self.rows("inputs")
        ]
        return sorted(("control" if name.startswith("control") else name, *rest) for name, *rest in rows)


def keyed(line: str, partition: int) -> Record:
    """The record of an event, with the key of its row as the record key."""
    value = json.loads(line)
    image = value["after"] or value["before"]
    return Record(value, {"id": image["id"]}, partition)


def offsets(inputs: Sequence[tuple[str, str, int, int]]) -> list[tuple[str, int, int]]:
    """(partition, from, to) of the inputs of tables, without those of control events."""
    return [(partition, first, last) for consumer, partition, first, last in inputs if consumer != "control"]

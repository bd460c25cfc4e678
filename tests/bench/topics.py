"""The subject with its lines in a topic: its own broker, and a project that reads from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.bench.generate import CHANNELS
from tests.bench.lake import Lake
from tests.bench.subject import Project
from tests.brokers import PATIENCE, Broker

NAME = "accounts"
IN_FLIGHT = 50_000


@dataclass(frozen=True)
class Topic:
    """A topic of a broker."""

    broker: Broker

    def fill(self, lines: Path) -> None:
        """Produce the lines of a folder as records with the keys, values and partitions of the lines."""
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "linger.ms": 50, "compression.type": "lz4", "log_level": 0}
        )
        for file in sorted(lines.glob("*.jsonl")):
            with file.open(encoding="utf-8") as opened:
                for number, line in enumerate(opened, 1):
                    record = json.loads(line)
                    key, value = (json.dumps(record[part], separators=(",", ":")) for part in ("key", "value"))
                    producer.produce(NAME, value, key, partition=record["partition"])
                    if number % IN_FLIGHT == 0:
                        producer.flush(PATIENCE)
        producer.flush(PATIENCE)


@contextmanager
def topic(folder: Path) -> Iterator[Topic]:
    """A broker with an empty topic, which is removed afterwards."""
    folder.mkdir()
    broker = Broker(folder)
    broker.start()
    try:
        broker.create(NAME, CHANNELS)
        yield Topic(broker)
    finally:
        broker.stop()
        shutil.rmtree(folder)


class TopicProject(Project):
    """A project whose lines arrive in a topic."""

    def __init__(self, spark: SparkSession, lake: Lake, root: Path, given: Topic) -> None:
        self.topic = given
        super().__init__(spark, lake, root)

    def place(self) -> str:
        return f"kafka: {{bootstrap: {self.topic.broker.bootstrap}, topics: {NAME}}}"

    def receive(self, lines: Path, name: str) -> None:
        self.topic.fill(lines)

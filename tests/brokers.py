"""A Kafka broker for tests (one node, KRaft, from pinned jars), and topics that a producer fills.

The broker has three ports: one without security, one with SASL/PLAIN (alice, her password `WORDS`), one for the
controller.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from siltstone.engine.jars import Jar, jar_paths
from siltstone.engine.java import java_program
from tests.servers.process import free_port

JARS = Path(__file__).parent / "data" / "kafka-4.1.1.jars"
WORDS = "of-alice-alone"
PATIENCE = 60
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{words}";
log.dirs={folder}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.cleaner.backoff.ms=100
log.cleaner.dedupe.buffer.size=2000000
log.retention.ms=-1
log.initial.task.delay.ms=100
"""


def broker_jars() -> list[Path]:
    """The jars of a broker. The first call fetches them."""
    lines = JARS.read_text(encoding="utf-8").split("\n")
    listed = [Jar(*line.split(" ")[0].split(":"), line.split(" ")[1]) for line in lines if line]
    return jar_paths(listed, lambda _: None)


@dataclass
class Broker:
    """A broker in a folder, and the clients that fill it."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    format_options: Sequence[str] = ()
    """Options for the tool that formats the storage of the broker."""

    def with_more(self, settings: str) -> str:
        """The settings of the broker. A subclass adds its own."""
        return settings

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.ports['plain']}"

    @property
    def sasl(self) -> str:
        return f"127.0.0.1:{self.ports['sasl']}"

    def start(self) -> None:
        """Start the broker. A broker that was stopped keeps its data."""
        settings = self.folder / "server.properties"
        if not self.ports:
            self.ports = {name: free_port() for name in ("plain", "sasl", "controller")}
            text = SETTINGS.format(folder=self.folder / "data", words=WORDS, **self.ports)
            settings.write_text(self.with_more(text), encoding="utf-8")
            command = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(settings)]
            self._java(*command, *self.format_options).wait()
        self.process = self._java("kafka.Kafka", str(settings))
        until(lambda: is_open(self.ports["plain"]))
        until(lambda: bool(self.admin.list_topics(timeout=5).brokers))

    def stop(self, number: int = signal.SIGKILL) -> None:
        """Stop the broker, as a crash does."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create(self, topic: str, partitions: int = 1, **config: str) -> str:
        """Create a topic, and give its name. The names of its settings are written with `_`."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        wait(self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)]))
        until(lambda: topic in self.admin.list_topics(timeout=5).topics)
        return topic

    def delete(self, topic: str) -> None:
        wait(self.admin.delete_topics([topic]))
        until(lambda: topic not in self.admin.list_topics(timeout=5).topics)

    def add_partitions(self, topic: str, number: int) -> None:
        wait(self.admin.create_partitions([NewPartitions(topic, number)]))
        until(lambda: len(self.admin.list_topics(timeout=5).topics[topic].partitions) == number)

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        wait(self.admin.delete_records([TopicPartition(topic, partition, before)]))

    def produce(self, topic: str, records: Iterable[Record]) -> None:
        """Produce records in their order."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, "log_level": 0})
        send(producer, topic, records)
        assert producer.flush(PATIENCE) == 0

    def transactions(self, topic: str, parts: Sequence[tuple[Sequence[Record], bool]]) -> None:
        """Produce transactions. Each part has its records, and whether it is committed."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": f"of-{topic}", "log_level": 0})
        producer.init_transactions(PATIENCE)
        for records, is_committed in parts:
            producer.begin_transaction()
            send(producer, topic, records)
            assert producer.flush(PATIENCE) == 0
            producer.commit_transaction() if is_committed else producer.abort_transaction()

    def _java(self, *arguments: str) -> subprocess.Popen[bytes]:
        jars = ":".join(str(path) for path in broker_jars())
        options = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        with (self.folder / "broker.log").open("ab") as log:
            return subprocess.Popen(
                [java_program() or "java", *options, "-cp", jars, *arguments], stdout=log, stderr=log
            )


@dataclass(frozen=True)
class Record:
    """A record to produce: its parts are texts, or values that become JSON."""

    value: Any = None
    key: Any = None
    partition: int = -1
    headers: Sequence[tuple[str, Any]] = ()
    millis: int = 0


def line_record(line: str | dict[str, Any], partition: int = -1) -> Record:
    """The record of a line of the recordings, with `key`, `value` and `headers`."""
    found = json.loads(line) if isinstance(line, str) else line
    headers = found.get("headers") or {}
    pairs = headers.items() if isinstance(headers, dict) else [(one["key"], one["value"]) for one in headers]
    return Record(found.get("value"), found.get("key"), partition, [(name, value) for name, value in pairs])


def send(producer: Producer, topic: str, records: Iterable[Record]) -> None:
    for record in records:
        place = {} if record.partition < 0 else {"partition": record.partition}
        headers = [(name, content(value)) for name, value in record.headers]
        more = {"timestamp": record.millis} if record.millis else {}
        key, value = content(record.key), content(record.value)
        while True:
            try:
                producer.produce(topic, value, key, headers=headers, **place, **more)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)


def content(part: Any) -> bytes | None:
    """A key, a value or a header as bytes. Bytes and None stay as they are, everything else becomes JSON."""
    return part if part is None or isinstance(part, bytes) else json.dumps(part, separators=(",", ":")).encode()


def is_open(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(KafkaException):
            if condition():
                return
        time.sleep(0.05)
    raise AssertionError("the broker did not come to it in time")


def wait(futures: dict[Any, Any]) -> None:
    for future in futures.values():
        future.result(PATIENCE)

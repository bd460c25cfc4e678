"""Kafka clusters: the topics of a source, their partitions, and the clients that read them.

The client library is librdkafka (`confluent-kafka`). Errors never show a secret of the settings.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from siltstone.engine.errors import SiltstoneError, SourceError, SpecError
from siltstone.engine.inputs.topic_partitions import Partition, Starts, partition, partition_of
from siltstone.engine.names import REDACTED

if TYPE_CHECKING:
    from concurrent.futures import Future

    from siltstone.engine.spec.model import KafkaSpec

LOG: Final = logging.getLogger("siltstone.kafka")
LOG.addHandler(logging.NullHandler())  # librdkafka logs every failed connection; the run's final error reports it
PATIENCE_SECONDS: Final = 20
"""How long to wait for an answer of the brokers."""
POLL_SECONDS: Final = 0.05
GROUP: Final = "siltstone"
"""The default consumer group: librdkafka requires one."""
MISSING: Final = "pip install 'siltstone[kafka]'"
OPTIONS: Final = "Cannot use source.kafka.options"
CHECK_OPTIONS: Final = "check the security settings and the credentials under source.kafka.options"
CHECK_BROKER: Final = "check that the broker runs, and source.kafka.bootstrap; then retry"
_REFUSED: Final = ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM")
_INSECURE: Final = ("_SSL", *_REFUSED)
"""A broken TLS handshake can be caused by a broker that restarts, so it ends a run only if it persists."""
_TLS_ALERT: Final = re.compile(r"(tls|ssl)\S* alert")  # such as "ssl/tls alert bad certificate", "tlsv13 alert ..."
"""librdkafka reports a refused client certificate as a broken connection, with OpenSSL's text."""
_READER: Final = {
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "max.poll.interval.ms": 86_400_000,  # Spark can pause a task
    "fetch.wait.max.ms": 10,  # an empty fetch shows the end of a partition
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 16_384,  # a task reads a part of a partition: records after its end are wasted
}


class Client:
    """The base of all clients of a cluster: settings, and errors of the connection."""

    def __init__(self, kafka: KafkaSpec, name: str) -> None:
        self._kafka, self._name = kafka, name
        self._error: Any = None

    def settings(self, **more: Any) -> dict[str, Any]:
        """Settings of librdkafka."""
        own = {"bootstrap.servers": self._kafka.bootstrap, "error_cb": self._on_error, "logger": LOG}
        return {"client.id": GROUP, **{name: str(value) for name, value in self._kafka.options}, **own, **more}

    @contextmanager
    def errors(self, name: str = "") -> Iterator[None]:
        """Raise librdkafka's errors as siltstone's. `name`: what is read."""
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise self.failure(error.args[0], name) from None
        except (TypeError, ValueError) as error:  # a setting has a type that librdkafka does not accept
            raise SpecError(f"{OPTIONS}: {self._without_secrets(error)}.", CHECK_OPTIONS) from None

    def failure(self, error: Any, name: str = "") -> SiltstoneError:
        """An error of librdkafka as siltstone's. `name`: what is read."""
        code, what, text = error.name(), f"Cannot read {name or self._name}", self._without_secrets(error.str())
        if code in _INSECURE or _TLS_ALERT.search(text):
            return SpecError(f"{what}: the broker refuses the connection ({text}).", CHECK_OPTIONS)
        if code in ("_INVALID_ARG", "_CONFLICT"):
            return SpecError(f"{OPTIONS}: {text}.", CHECK_OPTIONS)
        if code.endswith("AUTHORIZATION_FAILED"):
            hint = f"allow the user to read and describe the topics, and to use the group {self.group}"
            return SourceError(f"{what}: the broker does not allow it ({text}).", hint)
        if code == "UNKNOWN_TOPIC_OR_PART":
            return SourceError(f"{what}: there is no such topic.", "check the topics under source.kafka")
        return SourceError(f"{what}: {text}. Nothing of this batch was taken.", CHECK_BROKER)

    def silence(self) -> SiltstoneError:
        """The error for brokers that do not answer: the last error of the connection, if there is one."""
        if self._error is not None and self._error.name() != "_ALL_BROKERS_DOWN":
            return self.failure(self._error)
        what = f"the broker {self._kafka.bootstrap} did not answer for {PATIENCE_SECONDS} seconds"
        return SourceError(f"Cannot read {self._name}: {what}. Nothing of this batch was taken.", CHECK_BROKER)

    def check(self) -> None:
        """Raise an error of the connection that waiting cannot fix."""
        if self._error is not None and self._error.name() in _REFUSED:
            raise self.failure(self._error)

    @property
    def group(self) -> str:
        """The consumer group of the clients."""
        return dict(self._kafka.options).get("group.id", self._kafka.group or GROUP)

    def _on_error(self, error: Any) -> None:
        is_worse = self._error is None or error.name() != "_ALL_BROKERS_DOWN"
        if is_worse and (self._error is None or self._error.name() not in _REFUSED):
            self._error = error

    def _without_secrets(self, error: object) -> str:
        """The text of an error, without the values of settings."""
        text = " ".join(str(error).split()).rstrip(".")
        for name, value in self._kafka.options:
            is_secret = re.search(r"password|secret|token|key|pem|jaas|config|username", name) is not None
            if is_secret and str(value):
                text = text.replace(str.__str__(value), REDACTED)
        return text


@cache
def cluster_of(kafka: KafkaSpec, name: str) -> Cluster:
    """The cluster of some topics. It is cached for the life of the process.

    librdkafka answers in threads of its own. It ends the process if a client's last reference is dropped in one of
    them, which Python's garbage collection can cause.
    """
    return Cluster(kafka, name)


class Cluster(Client):
    """Reads the metadata of a cluster. Made by `cluster_of`."""

    def __init__(self, kafka: KafkaSpec, name: str) -> None:
        super().__init__(kafka, name)
        library(name)
        from confluent_kafka.admin import AdminClient

        with self.errors():
            self._admin = AdminClient(self.settings())

    def partitions(self) -> list[Partition]:
        """The partitions of the source's topics with their committed records, sorted by topic and number.

        Raises: SourceError: a topic does not exist, or the brokers do not answer. SpecError: they refuse the
            connection.
        """
        from confluent_kafka.admin import OffsetSpec

        self._error = None
        ids = self.topics()
        places = [(topic, number) for topic, (_, numbers) in sorted(ids.items()) for number in numbers]
        starts, ends = (self._offsets(places, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
        return [partition(*place, ids[place[0]][0], starts[place], ends[place]) for place in places]

    def topics(self) -> dict[str, tuple[str, list[int]]]:
        """The ids of the source's topics, and the numbers of their partitions.

        Raises: SourceError: a topic does not exist. SpecError: the brokers refuse the connection.
        """
        from confluent_kafka import TopicCollection

        names = self._kafka.topics or self._matching()
        found = {}
        for name, future in self._admin.describe_topics(TopicCollection(list(names))).items():
            found_topic = self._answer(future, f"the topic {name}")
            found[name] = str(found_topic.topic_id), sorted(one.id for one in found_topic.partitions)
        return found

    def offsets_at(self, partitions: Sequence[Partition], millis: int) -> dict[str, int]:
        """The offset of the first record of each partition that is not older than a time; its end if there is none."""
        from confluent_kafka.admin import OffsetSpec

        places = [(one.topic, one.number) for one in partitions]
        found = self._offsets(places, OffsetSpec.for_timestamp(millis))
        at_time = [(one, found[place]) for one, place in zip(partitions, places, strict=True)]
        return {one.path: one.end if offset < 0 else offset for one, offset in at_time}

    def is_compacted(self, topic: str) -> bool:
        """Whether a topic keeps only the last record of each key; false if the broker does not report it."""
        from confluent_kafka.admin import ConfigResource, ResourceType

        (future,) = self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        try:
            found_topic = self._answer(future)
        except SiltstoneError:  # a user can have the right to read a topic, but not its settings
            return False
        return "compact" in str(found_topic["cleanup.policy"].value)

    def _matching(self) -> list[str]:
        assert self._kafka.pattern is not None  # the spec is validated
        pattern = re.compile(self._kafka.pattern)
        found = [one for one in self._all_topics() if pattern.fullmatch(one) and not one.startswith("__")]
        if not found:
            raise SourceError(f"Cannot read {self._name}: no topic matches.", "check source.kafka.pattern")
        return sorted(found)

    def _all_topics(self) -> Iterable[str]:
        from confluent_kafka import KafkaException

        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            try:
                return list(self._admin.list_topics(timeout=1).topics)
            except KafkaException:  # the next poll reports the error of the connection
                self._admin.poll(POLL_SECONDS)
                self.check()
        raise self.silence()

    def _offsets(self, places: Iterable[tuple[str, int]], spec: Any) -> dict[tuple[str, int], int]:
        from confluent_kafka import IsolationLevel, TopicPartition

        wanted = {TopicPartition(*place): spec for place in places}
        if not wanted:
            return {}
        found = self._admin.list_offsets(wanted, isolation_level=IsolationLevel.READ_COMMITTED)
        return {(place.topic, place.partition): self._answer(future).offset for place, future in found.items()}

    def _answer(self, future: Future[Any], name: str = "") -> Any:
        """The brokers' answer. `name`: what is read."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not future.done():
            self._admin.poll(POLL_SECONDS)
            self.check()
            if time.monotonic() > until:
                raise self.silence()
        with self.errors(name):
            return future.result()


class Reader(Client):
    """Reads partitions, range by range."""

    def __init__(self, kafka: KafkaSpec, name: str) -> None:
        super().__init__(kafka, name)
        library(name)
        from confluent_kafka import Consumer

        with self.errors():
            self._consumer = Consumer(self.settings(**{"group.id": self.group}, **_READER))

    def read(self, topic: str, number: int, start: int, end: int, most: int) -> Iterator[list[Any]]:
        """The records of a partition with offsets from `start` to before `end`, as lists of at most `most` records.

        Raises: SourceError: they no longer exist, or the brokers do not answer.
        """
        from confluent_kafka import TopicPartition

        self._name = f"the topic {topic}, partition {number}"
        with self.errors():
            self._consumer.assign([TopicPartition(topic, number, start)])
        reached, silent_since = start, time.monotonic()
        while reached < end:
            with self.errors():
                first = self._consumer.poll(POLL_SECONDS)
                found = [] if first is None else [first, *self._consumer.consume(most - 1, 0)]
            records, reached = self._kept(found, reached, end)
            if found:
                silent_since = time.monotonic()
            self.check()
            if time.monotonic() - silent_since > PATIENCE_SECONDS:
                raise self.silence()
            if records:
                yield records
                silent_since = time.monotonic()  # the time that the caller took for the records does not count

    def close(self) -> None:
        """End the connection."""
        self._consumer.close()

    def commit(self, offsets: Mapping[str, int]) -> None:
        """Commit the offsets up to which partitions were taken to the consumer group.

        Raises: SourceError: the brokers do not accept them.
        """
        from confluent_kafka import TopicPartition

        placed = [TopicPartition(*partition_of(path), offset) for path, offset in offsets.items()]
        with self.errors():
            for one in self._consumer.commit(offsets=placed, asynchronous=False):
                if one.error is not None:
                    raise self.failure(one.error)

    def _kept(self, found: Sequence[Any], reached: int, end: int) -> tuple[list[Any], int]:
        """The fetched records that belong to the range, and the offset up to which the range is read."""
        records = []
        for message in found:
            error = message.error()
            if error is None:
                if message.offset() < end:
                    records.append(message)
                reached = message.offset() + 1
            elif error.name() == "_PARTITION_EOF":
                reached = self._at_end(message.offset(), end)
            elif error.name() == "_AUTO_OFFSET_RESET":
                raise self._gone(reached)
            elif error.fatal() or not error.retriable():
                raise self.failure(error)
        return records, reached

    def _at_end(self, offset: int, end: int) -> int:
        if offset < end:
            raise SourceError(
                f"Cannot read {self._name}: it ends at offset {offset}, and had records up to {end} when it was"
                " listed. Nothing of this batch was taken.",
                "check the topic; then retry",
            )
        return offset

    def _gone(self, offset: int) -> SourceError:
        return SourceError(
            f"Cannot read {self._name}: offset {offset} is gone since it was listed. Nothing of this batch was taken.",
            "retry; lengthen the topic's retention if it deletes records before they are taken",
        )


def library(name: str) -> None:
    """Check that the Kafka client library is installed.

    Raises: SpecError: it is not.
    """
    try:
        import confluent_kafka  # noqa: F401  # only a check that it exists
    except ImportError:
        message = f"Cannot read {name}: the package confluent-kafka, which reads Kafka, is not installed."
        raise SpecError(message, MISSING) from None


def starts_of(kafka: KafkaSpec, cluster: Cluster, partitions: Sequence[Partition]) -> Starts:
    """The offsets at which a table begins in partitions that are new to it, by the spec."""
    starting = kafka.starting
    if starting.at == "latest":
        return lambda one: one.latest
    if starting.time is not None:
        at_time = cluster.offsets_at(partitions, int(starting.time.timestamp() * 1000))
        return lambda one: at_time[one.path]
    offsets = dict(starting.offsets)
    return lambda one: offsets.get(one.number, one.start)

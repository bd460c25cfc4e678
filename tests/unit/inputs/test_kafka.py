"""Clients of a cluster: their errors and their timeouts."""

import sys
import time
from dataclasses import dataclass

import pytest

from siltstone.engine.errors import SiltstoneError, SourceError, SpecError
from siltstone.engine.inputs.kafka import Client, Cluster, Reader, cluster_of, starts_of
from siltstone.engine.inputs.topic_partitions import partition
from siltstone.engine.spec.interpolation import FromEnvironment
from siltstone.engine.spec.model import KafkaSpec, StartingSpec
from tests.brokers import Broker, Record


@dataclass
class Failure:
    """An error of librdkafka."""

    code: str
    text: str

    def name(self) -> str:
        return self.code

    def str(self) -> str:
        return self.text


SECRET = FromEnvironment("of-alice", "${env:PASSWORD}")
KAFKA = KafkaSpec("broker:9092", ("t",), options=(("sasl.password", SECRET), ("security.protocol", "SASL_SSL")))


@pytest.mark.parametrize(
    ("code", "text", "kind", "words"),
    [
        ("_AUTHENTICATION", "no of-alice\nhere", SpecError, "the broker refuses the connection (no *** here)"),
        ("_SSL", "handshake failed", SpecError, "the broker refuses the connection"),
        ("_TRANSPORT", "routines::tlsv13 alert certificate required", SpecError, "the broker refuses the connection"),
        ("_TRANSPORT", "SSL routines::ssl/tls alert bad certificate", SpecError, "the broker refuses the connection"),
        ("_INVALID_ARG", "of-alice is no number", SpecError, "Cannot use source.kafka.options: *** is no number"),
        ("TOPIC_AUTHORIZATION_FAILED", "no", SourceError, "the broker does not allow it"),
        ("UNKNOWN_TOPIC_OR_PART", "x", SourceError, "Cannot read the topic t: there is no such topic"),
        ("_TRANSPORT", "refused", SourceError, "refused. Nothing of this batch was taken"),
    ],
)
def test_errors_name_the_solution_and_show_no_secret(
    code: str, text: str, kind: type[SiltstoneError], words: str
) -> None:
    found = Client(KAFKA, "the topic t").failure(Failure(code, text))
    assert type(found) is kind
    assert words in str(found)
    assert "of-alice" not in str(found)
    assert "of-alice" not in repr(KAFKA)


def test_a_missing_client_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    for client in (Cluster, Reader):
        with pytest.raises(SpecError, match=r"confluent-kafka.*Hint: pip install 'siltstone\[kafka\]'"):
            client(KAFKA, "t")


def test_a_slow_task_is_not_reported_as_a_silent_broker(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create("client.slow")
    broker.produce(topic, [Record(number, None) for number in range(3)])
    monkeypatch.setattr("siltstone.engine.inputs.kafka.PATIENCE_SECONDS", 1)
    reader, found = Reader(KafkaSpec(broker.bootstrap, (topic,)), topic), 0
    for records in reader.read(topic, 0, 0, 3, 1):
        found += len(records)
        time.sleep(1.2)
    reader.close()
    assert found == 3


def test_times_are_looked_up_in_the_topic(broker: Broker) -> None:
    topic = broker.create("client.times", 2)
    broker.produce(topic, [Record(number, None, 0, millis=1_000 * number) for number in (1, 2, 3)])
    kafka = KafkaSpec(broker.bootstrap, (topic,))
    cluster = cluster_of(kafka, topic)
    partitions = cluster.partitions()
    assert [(one.start, one.end) for one in partitions] == [(0, 3), (0, 0)]
    assert [*cluster.offsets_at(partitions, 2_000).values()] == [1, 0]
    assert [*cluster.offsets_at(partitions, 9_000).values()] == [3, 0]
    offsets = KafkaSpec(broker.bootstrap, (topic,), starting=StartingSpec("offsets", offsets=((0, 2),)))
    starts = starts_of(offsets, cluster, partitions)
    assert [starts(one) for one in partitions] == [2, 0]


def test_a_deleted_range_is_an_error(broker: Broker) -> None:
    topic = broker.create("client.gone")
    broker.produce(topic, [Record(number, None) for number in range(5)])
    broker.delete_records(topic, 3)
    kafka, one = KafkaSpec(broker.bootstrap, (topic,)), partition(topic, 0, "", 0, 5)
    reader = Reader(kafka, one.path)
    with pytest.raises(SourceError, match="offset 0 is gone since it was listed"):
        list(reader.read(topic, 0, 0, 5, 10))
    with pytest.raises(SourceError, match="it ends at offset 5, and had records up to 9"):
        list(reader.read(topic, 0, 3, 9, 10))
    reader.close()

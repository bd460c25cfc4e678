"""`siltstone init kafka://...`: specs of the tables in topics."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from siltstone.engine.cli import app
from siltstone.engine.doctor import sources
from siltstone.engine.errors import SiltstoneError
from siltstone.engine.spec import load_specs
from siltstone.engine.spec.load import load_project
from siltstone.engine.spec.model import TableSpec
from tests.brokers import WORDS, Broker, Record
from tests.e2e.streams import insert, row, update
from tests.e2e.topics import keyed
from tests.framed import envelope, frame, record, schemas_file
from tests.unit.decode.formats.debezium_events import SOURCE

HISTORY = [insert(1, row(1, "Ann")), insert(2, row(2, "Bob")), *(update(n, row(1, f"Ann {n}")) for n in range(3, 9))]


def init(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[TableSpec, str]:
    """The one spec that init writes, and its text."""
    monkeypatch.chdir(folder)
    found = CliRunner().invoke(app, ["init", *arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    (file,) = (folder / "specs").iterdir()
    (spec,) = load_specs(None, load_project(start=folder))
    return spec, file.read_text(encoding="utf-8")


def test_events_name_their_table_and_the_spec_declares_a_compacted_topic(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.create("init.events", 2, cleanup_policy="compact")
    broker.produce(topic, [keyed(line, number % 2) for number, line in enumerate(HISTORY)])
    spec, text = init(tmp_path, monkeypatch, f"kafka://{broker.bootstrap}/{topic}")
    assert (spec.table, spec.source.format, spec.keys, spec.compacted) == (
        "shop.things",
        "debezium-json",
        ("id",),
        True,
    )
    assert spec.source.kafka is not None
    assert (spec.source.kafka.bootstrap, spec.source.kafka.topics) == (broker.bootstrap, (topic,))
    assert "from 8 changes in 1 topic" in text


def test_the_topic_gives_the_name_of_rows(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create("init.shop.prices")
    rows = [{"id": number, "price": "1.50", "at": f"2026-01-0{number}T00:00:00Z"} for number in range(1, 9)]
    broker.produce(topic, [Record(each, None) for each in rows])
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["init", f"kafka://{broker.bootstrap}/{topic}"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    text = (tmp_path / "specs" / "shop.prices.yaml").read_text(encoding="utf-8")
    assert "  format: rows\n  kafka:\n" in text
    assert "sequence_by: # decide" in text


def inserted(number: int) -> dict[str, Any]:
    """An insert as its Avro schema has it."""
    place = {"version": "3", "db": "main", "txId": None, **SOURCE, "table": "things", "lsn": 32 + number}
    image = {"id": number, "name": f"row {number}"}
    return {"before": None, "after": image, "source": place, "transaction": None, "op": "c", "ts_ms": 1_700_000_001_000}


def test_frames_are_read_with_their_schemas(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, columns = record("Key", {"id": "int"}), {"id": "int", "name": "string"}
    schemas = {1: key, 2: envelope(columns)}
    topic = broker.create("init.frames")
    framed = [(frame(2, schemas[2], inserted(number)), frame(1, key, {"id": number})) for number in range(9)]
    broker.produce(topic, [Record(*each) for each in framed])
    place = schemas_file(tmp_path, schemas)
    spec, _ = init(tmp_path, monkeypatch, f"kafka://{broker.bootstrap}/{topic}", "--schemas", place)
    assert (spec.table, spec.source.format, spec.keys) == ("shop.things", "debezium-avro", ("id",))


def test_the_spec_has_the_client_settings_and_secrets_stay_in_the_environment(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.create("init.secret")
    broker.produce(topic, [keyed(line, 0) for line in HISTORY])
    monkeypatch.setenv("ALICE", WORDS)
    settings = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanisms=PLAIN", "sasl.username=alice")
    options = [word for each in (*settings, "sasl.password=env:ALICE") for word in ("--kafka-option", each)]
    spec, text = init(tmp_path, monkeypatch, f"kafka://{broker.sasl}/{topic}", *options)
    assert '      sasl.password: "${env:ALICE}"\n' in text
    assert WORDS not in text
    assert spec.source.kafka is not None
    assert dict(spec.source.kafka.options)["sasl.password"] == WORDS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kafka://{broker}/init.nowhere"], "Cannot read the topic init.nowhere: there is no such topic"),
        (["kafka://{broker}"], "it names no broker or no topic"),
    ],
)
def test_a_topic_that_cannot_be_read_is_reported(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words_given = [each.format(broker=broker.bootstrap) for each in arguments]
    with pytest.raises(SiltstoneError) as caught:
        CliRunner().invoke(app, ["init", *words_given], catch_exceptions=False)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["events", "--kafka-option", "a=b"], "needs kafka://"),
        (["kafka://b:1/t", "events"], "give files and folders, or one"),
        (["kafka://b:1/t", "--kafka-option", "sasl.password=x"], "other users can see a command line"),
        (["kafka://b:1/t", "--kafka-option", "x"], "write it like security.protocol=SASL_SSL"),
        (["kafka://b:1/t", "--kafka-option", "sasl.password=env:NOT_SET_HERE"], "NOT_SET_HERE is not set"),
    ],
)
def test_wrong_options_are_reported(options: list[str], words: str) -> None:
    found = CliRunner().invoke(app, ["init", *options])
    assert found.exit_code == 2
    assert words in " ".join(found.output.replace("│", " ").split())


def test_doctor_lists_the_topics_of_specs(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create("init.doctor", 2)
    broker.produce(topic, [keyed(line, 0) for line in HISTORY])
    init(tmp_path, monkeypatch, f"kafka://{broker.bootstrap}/{topic}")
    project = load_project(start=tmp_path)
    (found,) = sources(project)
    assert (found.ok, found.found) == (True, f"kafka://{topic}/*: 2 partitions")
    broker.delete(topic)
    (found,) = sources(project)
    assert (found.ok, "there is no such topic" in found.found) == (False, True)

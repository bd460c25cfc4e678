"""Topics as sources: runs read each record once, also with transactions, compaction, retention and new partitions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from pyspark.sql import SparkSession

from siltstone.engine.errors import SourceError
from siltstone.engine.ingest.topic_offsets import topic_partitions
from siltstone.engine.inputs.kafka import Reader
from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.gap_reader import acknowledge, gaps_of
from siltstone.engine.reader.reject_reader import rejects
from siltstone.engine.report import NOTHING_NEW, REBUILT
from siltstone.engine.run import catch_up, explain, plan, replay, reread
from siltstone.engine.spec.model import CatalogSpec, ColumnSpec
from siltstone.quality.report.collect import collect
from siltstone.quality.report.write_report import write_page
from tests.brokers import WORDS, Broker, Record, until
from tests.e2e.streams import COLUMNS, START_MS, Shop, delete, insert, row, update
from tests.e2e.test_exactly_once import Killed, dies_before
from tests.e2e.topics import TopicShop, keyed, offsets
from tests.framed import envelope, frame, message, record, schemas_file
from tests.servers.process import free_port
from tests.unit.decode.formats.debezium_events import SOURCE

NewShop = Callable[..., TopicShop]


@pytest.fixture
def new_shop(spark: SparkSession, catalog: CatalogSpec, tmp_path: Path, broker: Broker) -> NewShop:
    return lambda partitions=1, **config: TopicShop.of(spark, catalog, tmp_path, broker, partitions, **config)


def test_runs_read_each_record_once(new_shop: NewShop) -> None:
    shop = new_shop(partitions=2)
    shop.produce([insert(1, row(1, "Ann")), insert(2, row(2, "Bob"))], partition=0)
    shop.produce([insert(3, row(3, "Cy"))], partition=1)
    first = shop.run_topics()
    assert (first.exit_code, first.sources[0].read, first.sources[0].left) == (0, 3, 0)
    assert shop.names() == ["Ann", "Bob", "Cy"]
    assert shop.run_successfully().status == NOTHING_NEW
    shop.produce([update(4, row(3, "Cyd")), delete(5, row(2, "Bob"))], partition=1)
    second = shop.run_topics()
    assert (second.sources[0].read, second.tables[0].changes) == (2, 2)
    assert shop.names() == ["Ann", "Cyd"]
    assert offsets(shop.inputs()) == [("0", 1, 2), ("1", 1, 1), ("1", 2, 3)]
    positions = {
        (r["channel"], r["kafka_partition"], r["kafka_offset"], r["line"]) for r in shop.rows("shop_things_changes")
    }
    assert {position[1:] for position in positions} == {(0, 0, 1), (0, 1, 2), (1, 0, 1), (1, 1, 2), (1, 2, 3)}
    assert {position[0] for position in positions} == {shop.topic}


@pytest.mark.slow
def test_runs_skip_the_records_of_aborted_transactions(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    ann, bob, cy = (keyed(insert(n, row(n, name)), 0) for n, name in enumerate(("Ann", "Bob", "Cy"), 1))
    broker.transactions(shop.topic, [([ann], True), ([bob, bob], False), ([cy], True), ([bob], False)])
    report = shop.run_topics()
    assert (report.sources[0].read, shop.names()) == (2, ["Ann", "Cy"])
    assert offsets(shop.inputs()) == [("0", 1, 9)]
    assert shop.run_successfully().status == NOTHING_NEW
    broker.transactions(shop.topic, [([bob], False)])
    assert shop.run_successfully().changes == 0
    assert offsets(shop.inputs()) == [("0", 1, 9), ("0", 10, 11)]


def test_a_run_accepts_the_gaps_that_compaction_leaves(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", delete_retention_ms="1"
    )
    shop.produce([insert(1, row(1, "Ann")), *(update(n, row(1, f"Ann {n}")) for n in range(2, 30))])
    until(lambda: remaining_values(shop) < 29)
    report = shop.run_topics()
    assert report.sources[0].read < 31
    assert shop.names() == ["Ann 29"]
    assert offsets(shop.inputs())[0][1] == 1


def remaining_values(shop: TopicShop) -> int:
    """The number of records that still have a value. Produces one more record first, which closes the segment."""
    assert shop.broker is not None
    shop.broker.produce(shop.topic, [Record(None, {"id": 99}, 0)])
    (one,) = topic_partitions(shop.topic_spec().source)
    assert one.topic_id
    reader = Reader(shop.topic_spec().source.kafka, one.path)  # type: ignore[arg-type]
    try:
        found = [record for some in reader.read(one.topic, 0, one.start, one.end, 100) for record in some]
    finally:
        reader.close()
    return sum(record.value() is not None for record in found)


def test_null_messages_are_control_events_and_null_keys_are_accepted(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "Ann")), delete(2, row(1, "Ann"))])
    broker.produce(shop.topic, [Record(None, {"id": 1}, 0), Record(None, None, 0)])
    broker.produce(shop.topic, [Record(json.loads(insert(3, row(2, "Bob"))), None, 0)])
    report = shop.run_topics()
    assert report.exit_code == 0
    assert (report.sources[0].read, report.sources[0].control, report.sources[0].rejected) == (5, 2, 0)
    assert shop.names() == ["Bob"]


def test_records_lost_to_retention_stop_the_table_until_the_gap_is_acknowledged(
    new_shop: NewShop, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "Ann")), insert(2, row(2, "Bob"))])
    shop.run_successfully()
    shop.produce([update(3, row(1, "lost")), update(4, row(2, "lost, too")), insert(5, row(3, "Cy"))])
    broker.delete_records(shop.topic, 4)
    for _ in range(2):
        error = shop.error_of_run()
        assert f"kafka://{shop.topic}/0 has lost offsets 2 to 3 to the topic's retention" in error
        assert "siltstone gaps ack" in error
    assert shop.names() == ["Ann", "Bob"]
    catalog = open_catalog(shop.project.catalog)
    (gap,) = gaps_of(catalog, shop.project.namespace)
    assert (gap.table, gap.check, gap.status) == (f"kafka://{shop.topic}/*", "lost_records", "open")
    assert gap.gap_id in error
    facts = collect(shop.project, [shop.topic_spec()], catalog, datetime.now(UTC))
    assert any(gap.gap_id == one.gap_id for table in facts.tables for one in table.gaps)
    assert "has lost offsets 2 to 3" in write_page(shop.project, facts).read_text(encoding="utf-8")
    acknowledge(shop.project, gap.gap_id, "known", "ops", datetime.now(UTC))
    broker.delete_records(shop.topic, 5)  # retention removes one more record
    shop.produce([insert(6, row(4, "Dan"))])
    table = shop.run_successfully()
    assert [note for note in table.notes if "lost offsets 2 to 4" in note and "acknowledged by ops" in note]
    assert shop.names() == ["Ann", "Bob", "Dan"]
    assert shop.run_successfully().status == NOTHING_NEW


def test_runs_read_an_added_partition_from_its_first_record(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "before"))])
    assert shop.run_successfully(starting="latest").status == NOTHING_NEW
    shop.produce([insert(2, row(2, "Ann"))])
    broker.add_partitions(shop.topic, 2)
    shop.produce([insert(3, row(3, "Bob"))], partition=1)
    shop.run_successfully(starting="latest")
    assert shop.names() == ["Ann", "Bob"]
    assert offsets(shop.inputs()) == [("0", 2, 1), ("0", 2, 2), ("1", 1, 1)]


@pytest.mark.slow
def test_a_recreated_topic_stops_the_table_until_the_gap_is_acknowledged(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "Ann")), insert(2, row(2, "Bob"))])
    shop.run_successfully()
    broker.delete(shop.topic)
    broker.create(shop.topic)
    shop.produce([insert(3, row(3, "Cy"))])
    error = shop.error_of_run()
    assert f"kafka://{shop.topic}/0 belongs to another topic of that name now" in error
    assert shop.names() == ["Ann", "Bob"]
    (gap,) = gaps_of(open_catalog(shop.project.catalog), shop.project.namespace)
    acknowledge(shop.project, gap.gap_id, "set up again", "ops", datetime.now(UTC))
    shop.run_successfully()
    assert shop.names() == ["Ann", "Bob", "Cy"]
    (table,) = reread(shop.project, [shop.topic_spec()], shop.spark).tables
    assert "the topics do not have kafka://" in str(table.error)


@pytest.mark.slow
def test_a_table_starts_at_the_position_that_its_spec_sets(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    broker.produce(shop.topic, [dated(n, name) for n, name in enumerate(("Ann", "Bob", "Cy"), 1)])
    for number, starting in enumerate(({"time": "2024-01-01T00:00:02Z"}, {"offsets": {"0": 1}}, "earliest")):
        other = replace(shop, project=replace(shop.project, namespace=f"{shop.project.namespace}_{number}"))
        other.run_successfully(starting=starting)
        assert other.names() == (["Ann"] if starting == "earliest" else []) + ["Bob", "Cy"]


@pytest.mark.slow
def test_a_run_stops_at_max_records_and_at_until(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop(partitions=2)
    broker.produce(shop.topic, [dated(n, f"row {n}") for n in range(1, 6)])
    broker.produce(shop.topic, [dated(6, "row 6", partition=1)])
    first = shop.run_topics(max_records=3)
    assert (first.sources[0].read, first.sources[0].left) == (3, 3)
    assert offsets(shop.inputs()) == [("0", 1, 2), ("1", 1, 1)]
    spec = shop.topic_spec()
    assert catch_up(shop.project, [spec], shop.spark, until=datetime(2024, 1, 1, 0, 0, 4, tzinfo=UTC)).exit_code == 0
    assert [name for _, name, _ in shop.latest()] == ["row 1", "row 2", "row 3", "row 4", "row 6"]
    shop.run_successfully()
    assert len(shop.latest()) == 6


def dated(second: int, name: str, partition: int = 0) -> Record:
    """An insert. The timestamp of its record is the time of the change."""
    return replace(keyed(insert(second, row(second, name)), partition), millis=START_MS + second * 1000)


def test_tables_of_several_topics_share_one_source_and_commit_offsets_to_their_group(
    new_shop: NewShop, broker: Broker
) -> None:
    shop, other = new_shop(), new_shop()
    shop.produce([insert(1, row(1, "Ann"))])
    broker.produce(other.topic, [Record(json.loads(insert(2, row(2, "Bob")).replace('"things"', '"others"')), None, 0)])
    kafka = {"topics": None, "pattern": f"{shop.topic}|{other.topic}", "group": f"of-{shop.topic}"}
    specs = [shop.topic_spec(kafka=kafka), shop.topic_spec("shop.others", kafka)]
    report = catch_up(shop.project, specs, shop.spark)
    assert [table.error for table in report.tables] == [None, None]
    assert (len(report.sources), report.sources[0].warning) == (1, None)
    assert (shop.latest(), shop.latest("shop_others")) == ([(1, "Ann", 0)], [(2, "Bob", 0)])
    wanted = ConsumerGroupTopicPartitions(f"of-{shop.topic}")
    (found,) = broker.admin.list_consumer_group_offsets([wanted]).values()
    assert {(one.topic, one.offset) for one in found.result().topic_partitions} == {(shop.topic, 1), (other.topic, 1)}


@pytest.mark.slow
def test_records_that_cannot_be_decoded_are_rejected_with_their_position_and_replayed(
    new_shop: NewShop, broker: Broker
) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "Ann"))])
    broker.produce(shop.topic, [Record(b'{"a":1},"offset":9', None, 0), Record(b"\xff\x00", b"\xfe", 0)])
    broker.produce(shop.topic, [Record(json.loads(insert(2, row(2, "Bob", 3_000_000_000))), None, 0)])
    report = shop.run_topics()
    assert (report.exit_code, report.sources[0].rejected, report.tables[0].rejected) == (0, 2, 1)
    wider = replace(shop.topic_spec(), columns={n: ColumnSpec(k) for n, k in (COLUMNS | {"n": "bigint"}).items()})
    found = rejects(open_catalog(shop.project.catalog), shop.project, [wider], records=True)
    assert [(one.file, one.line) for one in found] == [(f"kafka://{shop.topic}/0", line) for line in (2, 3, 4)]
    assert replay(shop.project, [wider], shop.spark).exit_code == 0
    assert shop.names() == ["Ann", "Bob"]


@pytest.mark.slow
def test_a_reread_needs_all_its_records_in_the_topic(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "Ann")), update(2, row(1, "Anne"))])
    shop.run_successfully()
    shop.produce([insert(3, row(2, "Bob"))])
    shop.run_successfully()
    before = sorted(each["name"] for each in shop.rows("shop_things_h"))
    (table,) = reread(shop.project, [shop.topic_spec()], shop.spark).tables
    assert (table.status, table.error) == (REBUILT, None)
    assert sorted(each["name"] for each in shop.rows("shop_things_h")) == before
    broker.delete_records(shop.topic, 1)
    (table,) = reread(shop.project, [shop.topic_spec()], shop.spark).tables
    assert f"the topics do not have offsets 0 to 0 of kafka://{shop.topic}/0 any more" in str(table.error)
    (change,) = explain(shop.project, shop.topic_spec(), shop.spark, {"id": "2"}).changes
    assert (change.file, change.line, change.kafka_offset) == (f"kafka://{shop.topic}/0", 3, 2)
    assert [table.error for table in plan(shop.project, [shop.topic_spec()], shop.spark)] == [None]


@pytest.mark.slow
def test_the_next_run_completes_runs_that_were_killed_before_a_commit(
    new_shop: NewShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop()
    shop.produce([insert(1, row(1, "Ann"))])
    shop.run_successfully()
    shop.produce([update(2, row(1, "Anne")), insert(3, row(2, "Bob"))])
    for table in ("control", "shop_things_changes", "shop_things_h", "shop_things"):
        with monkeypatch.context() as patch, suppress(Killed):
            dies_before(table)(patch)
            shop.run_topics()
    shop.run_successfully()
    assert (shop.names(), len(shop.rows("shop_things_changes"))) == (["Anne", "Bob"], 3)


def test_a_run_reports_a_cluster_that_it_cannot_use(
    new_shop: NewShop, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop()
    monkeypatch.setattr("siltstone.engine.inputs.kafka.PATIENCE_SECONDS", 2)
    assert "Cannot read the topic nowhere: there is no such topic" in shop.error_of_run(topics="nowhere")
    assert "no topic matches" in shop.error_of_run(topics=None, pattern="nowhere.*")
    assert "Connection refused" in shop.error_of_run(bootstrap=f"127.0.0.1:{free_port()}")
    secret = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", "sasl.username": "alice"}
    error = shop.error_of_run(bootstrap=broker.sasl, options={**secret, "sasl.password": "of-mallory"})
    assert "the broker refuses the connection" in error
    assert "of-mallory" not in error
    assert "No such configuration property" in shop.error_of_run(options={"sasl.pasword": "x"})
    shop.produce([insert(1, row(1, "Ann"))])
    shop.run_successfully(bootstrap=broker.sasl, options={**secret, "sasl.password": WORDS})
    assert shop.names() == ["Ann"]
    assert all(WORDS not in str(stored) for name in ("inputs", "runs", "control") for stored in shop.rows(name))


def test_runs_read_records_larger_than_the_fetch_limits(new_shop: NewShop) -> None:
    shop = new_shop(max_message_bytes="3000000")
    shop.produce([insert(1, row(1, "x" * 900_000)), insert(2, row(2, "Bob"))])
    options = {"fetch.message.max.bytes": 1000, "fetch.max.bytes": 100_000, "message.max.bytes": 100_000}
    shop.run_successfully(options=options)
    assert len(shop.latest()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("form", ["canal-json", "rows"])
def test_formats_without_positions_have_the_order_of_offsets(new_shop: NewShop, broker: Broker, form: str) -> None:
    """A later run also recognizes the redeliveries that Canal sends after a restart."""
    shop = new_shop()
    settings = (
        {"sequence_by": ["_file", "_pos"], "time_by": "n", "delete_when": "name = 'gone'"} if form == "rows" else {}
    )
    spec = shop.topic_spec(format=form, **settings)
    lines = [(1, 1, "Ann"), (2, 2, "Bob"), (3, 1, "Anne"), (4, 2, "gone"), (5, 3, "Cy")]
    sent = [canal(*line) if form == "canal-json" else {"id": line[1], "name": line[2], "n": line[0]} for line in lines]
    parts = (sent[:3], sent[2:4], sent[4:]) if form == "canal-json" else (sent[:2], sent[2:4], sent[4:])
    for part in parts:
        broker.produce(shop.topic, [Record(value, {"id": 1}, 0) for value in part])
        (table,) = catch_up(shop.project, [spec], shop.spark).tables
        assert table.exit_code == 0, table.error
    assert shop.names() == ["Anne", *(["gone"] if form == "canal-json" else []), "Cy"]
    names = [name for name, _, _ in shop.versions(1)]
    assert names == ["Ann", "Anne"]


def canal(second: int, key: int, name: str) -> dict[str, object]:
    """A Canal message: an insert, or an update of an existing row."""
    kind, old = ("UPDATE", [{"name": "?"}]) if second in (3, 4) else ("INSERT", None)
    millis = START_MS + second * 1000
    data = [{"id": str(key), "name": name, "n": "0"}]
    metadata = {"database": "shop", "table": "things", "type": kind, "isDdl": False, "pkNames": ["id"], "old": old}
    return {"data": data, "es": millis, "ts": millis, "id": second, "mysqlType": {"id": "int"}, **metadata}


@pytest.mark.slow
def test_framed_keys_and_values_in_a_topic_give_the_tables_of_a_file(
    new_shop: NewShop, broker: Broker, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path
) -> None:
    shop = new_shop(partitions=2)
    key = record("Key", {"id": "int"})
    value = envelope({"id": "int", "name": "string", "n": "int"})
    frames = [(frame(2, value, postgresql_event(number)), frame(1, key, {"id": number})) for number in range(1, 7)]
    broker.produce(shop.topic, [Record(*each, at % 2) for at, each in enumerate(frames)])
    broker.produce(shop.topic, [Record(frame(77, value, postgresql_event(9)), None, 0), Record(None, frames[0][1], 0)])
    source = {"format": "debezium-avro", "schemas": schemas_file(tmp_path, {1: key, 2: value})}
    report = catch_up(shop.project, [shop.topic_spec(**source)], spark)
    assert (report.exit_code, report.sources[0].rejected, report.sources[0].control) == (0, 1, 1)
    (found,) = rejects(open_catalog(catalog), shop.project, [shop.topic_spec(**source)], records=True)
    assert (found.reason, found.line) == ("the value: schema 77 is not known", 4)
    files = Shop.open(spark, catalog, tmp_path, f"{shop.project.namespace}_files")
    files.write("a.jsonl", [message(*each) + "\n" for each in frames])
    spec = replace(files.spec(), source=replace(files.spec().source, format="debezium-avro", schemas=source["schemas"]))
    files.taken(spec)
    assert shop.latest() == files.latest()
    assert len(shop.latest()) == 6


def postgresql_event(number: int) -> dict[str, object]:
    source = {"version": "3", "db": "main", "txId": None, **SOURCE, "table": "things", "lsn": 32 + number}
    image = {"id": number, "name": f"row {number}", "n": 0}
    return {
        "before": None,
        "after": image,
        "source": source,
        "transaction": None,
        "op": "c",
        "ts_ms": 1_700_000_001_000,
    }


@pytest.mark.slow
def test_a_process_that_is_killed_before_it_publishes_changes_no_table(new_shop: NewShop) -> None:
    shop = new_shop(partitions=2)
    shop.produce([insert(1, row(1, "Ann"))])
    shop.run_successfully()
    shop.produce([update(2, row(1, "Anne"))])
    shop.produce([insert(3, row(2, "Bob"))], partition=1)
    assert shop.broker is not None
    kafka = {"bootstrap": shop.broker.bootstrap, "topics": shop.topic}
    catalog = shop.project.catalog
    given = {"uri": catalog.uri, "warehouse": catalog.warehouse, "root": str(shop.project.root)}
    given |= {"namespace": shop.project.namespace, "spec": shop.mapping(kafka=kafka)}
    ended = subprocess.run([sys.executable, "-m", "tests.e2e.kafka_run", json.dumps(given)], capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-2000:]
    assert shop.names() == ["Ann"]
    shop.run_successfully()
    assert shop.names() == ["Anne", "Bob"]
    positions = {(each["kafka_partition"], each["kafka_offset"]) for each in shop.rows("shop_things_changes")}
    assert (len(shop.rows("shop_things_changes")), positions) == (3, {(0, 0), (0, 1), (1, 0)})


@pytest.mark.slow
def test_a_run_fails_without_its_broker_and_a_later_run_reads_everything(
    spark: SparkSession, catalog: CatalogSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siltstone.engine.inputs.kafka.PATIENCE_SECONDS", 2)
    (tmp_path / "broker").mkdir()
    broker = Broker(tmp_path / "broker")
    broker.start()
    try:
        shop = TopicShop.of(spark, catalog, tmp_path, broker)
        shop.produce([insert(n, row(n, f"row {n}")) for n in range(1, 4)])
        (one,) = topic_partitions(shop.topic_spec().source)
        broker.stop()
        assert "Nothing of this batch was taken" in shop.error_of_run()
        reader = Reader(shop.topic_spec().source.kafka, one.path)  # type: ignore[arg-type]
        with pytest.raises(SourceError, match=r"Connection refused|did not answer"):
            list(reader.read(one.topic, 0, 0, one.end, 10))
        reader.close()
        broker.start()
        shop.run_successfully()
        assert len(shop.latest()) == 3
    finally:
        broker.stop()


@pytest.mark.slow
def test_a_replay_reads_rejected_records_of_a_masked_table_from_the_topic(new_shop: NewShop, broker: Broker) -> None:
    shop = new_shop()
    secret = {"name": ColumnSpec("string", "sha256", salt="pepper"), "id": ColumnSpec("int")}
    spec = replace(shop.topic_spec(), columns=secret | {"n": ColumnSpec("int")})
    shop.produce([insert(1, row(1, "Ann")), insert(2, row(2, "Bob", 3_000_000_000)), insert(3, row(3, "Cy"))])
    assert catch_up(shop.project, [spec], shop.spark).tables[0].rejected == 1
    (reject,) = shop.rows("rejects")
    assert reject["record"] is None
    broker.delete_records(shop.topic, 1)
    wider = replace(spec, columns=secret | {"n": ColumnSpec("bigint")})
    assert replay(shop.project, [wider], shop.spark).exit_code == 0
    assert len(shop.latest()) == 3


@pytest.mark.slow
def test_a_table_that_is_added_later_reads_the_existing_records_in_bounded_runs(
    new_shop: NewShop, broker: Broker
) -> None:
    shop = new_shop()
    shop.produce([insert(n, row(n, f"row {n}")) for n in range(1, 6)])
    shop.run_successfully()
    others = [insert(n, row(n, f"other {n}")).replace('"things"', '"others"') for n in (6, 7)]
    shop.produce(others)
    added = shop.topic_spec("shop.others", {"max_records": 3})
    both = [shop.topic_spec(kafka={"max_records": 3}), added]
    reports = [catch_up(shop.project, both, shop.spark) for _ in range(4)]
    assert [[table.error for table in report.tables] for report in reports] == [[None, None]] * 4
    assert reports[0].tables[1].warning == "No record is of shop.others yet: shop.things is in its topics."
    assert [report.sources[0].read for report in reports] == [3, 3, 1, 0]
    assert (len(shop.latest()), len(shop.latest("shop_others"))) == (5, 2)
    assert len(shop.rows("shop_things_changes")) == 5

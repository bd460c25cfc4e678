"""The states of a gap: a missing change opens it, its late arrival heals it, and a user can acknowledge it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.cli import main
from siltstone.engine.reader import gap_reader, open_catalog
from siltstone.engine.reader.gap_reader import acknowledge, gaps_of
from siltstone.engine.report import NOTHING_NEW, RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap
from siltstone.engine.spec import load_specs, table_spec
from siltstone.engine.spec.model import ProjectSpec, QualitySpec
from siltstone.engine.table.gap_table import update_gaps
from siltstone.quality import validate
from siltstone.quality.validate import checks_of_run
from tests.e2e.streams import START_MS, THINGS, Shop, catch_up_module, event, insert, row

ALICE = '{"id":1}'
COMPLETENESS = (
    names.COMPLETE_THROUGH,
    names.COMPLETE_THROUGH_BY,
    names.SEALED_UP_TO,
    names.OPEN_GAPS,
    names.CHECKED_BATCH,
)


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def change(second: int, key: int, before: str, after: str) -> str:
    return event("u", second, row(key, before), row(key, after))


FIRST = [insert(10, row(1, "Alice")), insert(11, row(2, "Bob")), change(30, 1, "Alicia", "Ally")]
MISSING = [change(20, 1, "Alice", "Alicia")]
UNRELATED = [change(40, 2, "Bob", "Bobby")]


def run(shop: Shop) -> RunReport:
    """Run once. The `warn` of the spec overrides the `block` of the project."""
    blocking = replace(shop.project, quality=QualitySpec("block"))
    return catch_up(blocking, [shop.spec()], shop.spark, checks=checks_of_run)


def checked(report: RunReport) -> Mapping[str, str]:
    (table,) = report.tables
    assert table.checks is not None, table.error
    return {one.check: one.status for one in table.checks}


def gaps(shop: Shop) -> list[Gap]:
    return gaps_of(open_catalog(shop.project.catalog), shop.project.namespace)


def completeness(shop: Shop, table: str = "shop_things") -> Mapping[str, str]:
    """The table properties that record how far the table is complete."""
    found = open_catalog(shop.project.catalog).load_table(f"{shop.project.namespace}.{table}").properties
    return {name.removeprefix("siltstone."): found[name] for name in COMPLETENESS if name in found}


def at(second: int) -> str:
    return f"2024-01-01T00:00:{second:02d}.000000Z"


def test_a_missing_change_is_a_gap_until_it_arrives(shop: Shop) -> None:
    shop.write("a.jsonl", FIRST)
    first = run(shop)
    (opened,) = gaps(shop)
    assert (first.exit_code, checked(first)["chain_break"]) == (5, "failed")
    assert (opened.check, opened.status, opened.key, opened.opened_run) == ("chain_break", OPEN, ALICE, first.run_id)
    ends = [
        moment and int(moment.timestamp()) - START_MS // 1000 for moment in (opened.committed_from, opened.committed_to)
    ]
    assert ends == [10, 30]
    expected = {"complete-through": at(30), "complete-through-by": "last commit", "sealed-up-to": at(10)}
    assert (
        completeness(shop) == completeness(shop, "shop_things_h") == expected | {"open-gaps": "1", "checked-batch": "1"}
    )

    shop.write("b.jsonl", UNRELATED)
    second = run(shop)
    assert (second.exit_code, checked(second)["chain_break"]) == (5, "failed")
    seen = {"last_seen_run": second.run_id, "last_seen_at": gaps(shop)[0].last_seen_at, "since_batch": -1}
    assert gaps(shop) == [replace(opened, **seen)]

    end = {"status": "END", "id": "t1", "event_count": 1, "ts_ms": START_MS + 45_000}
    shop.write("c.jsonl", [*MISSING, json.dumps(end) + "\n"])
    third = run(shop)
    (healed,) = gaps(shop)
    assert (third.exit_code, checked(third)["chain_break"]) == (0, "passed")
    assert (healed.gap_id, healed.status, healed.healed_run) == (opened.gap_id, HEALED, third.run_id)
    assert completeness(shop)["sealed-up-to"] == completeness(shop)["complete-through"] == at(45)
    assert (completeness(shop)["complete-through-by"], completeness(shop)["open-gaps"]) == ("transaction end", "0")


@pytest.mark.slow
def test_an_acknowledged_gap_fails_no_run_and_can_still_heal(
    shop: Shop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "hanna")
    shop.write("a.jsonl", FIRST)
    assert run(shop).exit_code == 5
    (listed,) = json.loads(command(shop, capsys, "gaps", "list", "--json"))
    assert ALICE in command(shop, capsys, "gaps", "list")
    ack = ("gaps", "ack", listed["gap_id"][:6], "--reason", "the log of that hour is lost", "--json")
    acknowledgement = json.loads(command(shop, capsys, *ack))
    assert [acknowledgement[end] for end in ("shown_from", "shown_to")] == [listed["shown_from"], listed["shown_to"]]
    (known,) = gaps(shop)
    assert (known.status, known.acknowledged_by) == (ACKNOWLEDGED, "hanna")
    assert json.loads(command(shop, capsys, "gaps", "list", "--json")) == []
    assert "hanna" in command(shop, capsys, "gaps", "list", "--all")
    assert command(shop, capsys, "gaps", "ack", "nonsense", "--reason", "x", ends=2) == ""

    shop.write("b.jsonl", [insert(31, row(3, "Charlie")), *UNRELATED, change(50, 1, "Ally", "Al")])
    after = run(shop)
    assert (after.exit_code, gaps(shop)) == (0, [known])
    assert completeness(shop)["sealed-up-to"] == completeness(shop)["complete-through"]

    shop.write("c.jsonl", MISSING)
    assert run(shop).exit_code == 0
    assert [(gap.status, gap.acknowledged_by) for gap in gaps(shop)] == [(HEALED, "hanna")]


def command(shop: Shop, capsys: pytest.CaptureFixture[str], *arguments: str, ends: int = 0) -> str:
    """Run a command. Gives its standard output."""
    spec = shop.project.catalog
    file = shop.project.root / "siltstone.yaml"
    file.write_text(
        f"catalog: {{name: {spec.name}, type: jdbc, uri: '{spec.uri}', warehouse: '{spec.warehouse}'}}\n"
        f"namespace: {shop.project.namespace}\n"
        f"quality: {{data_docs: {str(shop.project.quality.data_docs).lower()}}}\n"
    )
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--project", str(file)])
    printed = capsys.readouterr()
    assert ended.value.code == ends, printed.err
    return printed.out


class Killed(BaseException):
    """A simulated kill of the process: no code catches it."""


def dies(*_: Any) -> None:
    raise Killed


@pytest.mark.slow
@pytest.mark.parametrize(("place", "step"), [(validate, "record"), (catch_up_module, "record_completeness")])
def test_the_next_run_completes_a_run_that_dies_before_it_writes_the_gaps(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, place: Any, step: str
) -> None:
    shop.write("a.jsonl", FIRST)
    with monkeypatch.context() as patch:
        patch.setattr(place, step, dies)
        with pytest.raises(Killed):
            run(shop)
    after = run(shop)
    (gap,) = gaps(shop)
    assert (after.tables[0].status, after.exit_code, gap.key, gap.status) == (NOTHING_NEW, 5, ALICE, OPEN)
    assert completeness(shop)["checked-batch"] == "1"
    quiet = run(shop)
    assert (quiet.exit_code, quiet.tables[0].checks, gaps(shop)) == (0, None, [gap])


@pytest.mark.slow
def test_a_user_and_a_run_that_write_at_the_same_time_lose_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("a.jsonl", FIRST)
    run(shop)
    (gap,) = gaps(shop)
    put, writes = gap_reader.put, []

    def meanwhile(*given: Any) -> None:
        if not writes:
            writes.append(
                update_gaps(shop.spark, shop.project, THINGS, lambda all_: [replace(all_[0], last_seen_run="x")])
            )
        put(*given)

    monkeypatch.setattr(gap_reader, "put", meanwhile)
    acknowledge(shop.project, gap.gap_id, "known", "hanna", gap.opened_at)
    (both,) = gaps(shop)
    assert (both.status, both.last_seen_run) == (ACKNOWLEDGED, "x")

    seen: list[str] = []

    def slow(found: Any) -> list[Gap]:
        seen.append(found[0].acknowledged_by)
        if len(seen) == 1:
            acknowledge(shop.project, gap.gap_id, "known", "ines", gap.opened_at)
        return [replace(found[0], last_seen_run="y")]

    update_gaps(shop.spark, shop.project, THINGS, slow)
    (both,) = gaps(shop)
    assert seen == ["hanna", "ines"]
    assert (both.acknowledged_by, both.last_seen_run) == ("ines", "y")


def test_the_report_shows_the_gap_and_no_masked_value(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop = replace(shop, project=replace(shop.project, quality=replace(shop.project.quality, data_docs=True)))
    keys, secret = ["anna@zqxj.example", "otto@zqxj.example"], "4711-ZQXJ"
    events = [event("c", 10, None, person(keys[0], secret, 1)), event("c", 11, None, person(keys[1], secret, 1))]
    broken = event("u", 30, person(keys[0], secret, 2), person(keys[0], "other-" + secret, 3))
    shop.write("a.jsonl", [*events, broken])
    (shop.project.root / "specs").mkdir()
    (shop.project.root / "specs" / "people.yaml").write_text(PEOPLE.format(namespace=shop.project.namespace))
    (spec,) = load_specs(None, shop.project)
    assert catch_up(shop.project, [spec], shop.spark, checks=checks_of_run).exit_code == 5

    (gap,) = gaps(shop)
    report = json.loads(command(shop, capsys, "report", "--json"))
    assert report["verdict"]["headline"] == "No, the data cannot be trusted"
    (table,) = report["tables"]
    (trouble,) = table["troubles"]
    assert (trouble["keys"], trouble["position_from"]) == ([gap.key], gap.position_from)
    assert re.fullmatch(r"binlog\.000001:\d+", trouble["shown_from"])
    assert (table["gaps"][0]["position_from"], table["gaps"][0]["shown_from"]) == (
        gap.position_from,
        trouble["shown_from"],
    )
    assert (table["rows"], table["versions"], table["changes"]) == (2, 3, 3)
    (run_fact,) = table["runs"]
    assert run_fact["outcomes"] == {"opened": 3}
    assert run_fact["lag_seconds"] > 86_400
    assert sum(table["log"]["counts"]) == 3
    summary = command(shop, capsys, "report", "--markdown")
    page = (shop.project.root / "report" / "index.html").read_text(encoding="utf-8")
    for text in (summary, page):
        assert trouble["shown_from"] in text
        assert hashlib.sha256(keys[0].encode()).hexdigest() in text
    assert "data-docs/index.html" in page
    everything = [path.read_bytes() for path in (shop.project.root / "report").rglob("*") if path.is_file()]
    output = "".join(
        [summary, json.dumps(report), command(shop, capsys, "gaps", "list"), json.dumps(ledger_rows(shop))]
    )
    assert not [text for text in [*everything, output.encode()] if b"zqxj" in text.lower()]
    assert "open gaps: 1" in shown(shop, capsys)


def person(mail: str, ssn: str, n: int) -> dict[str, Any]:
    return {"mail": mail, "ssn": ssn, "n": n}


PEOPLE = """
table: shop.things
source: {{format: debezium-json, path: events}}
keys: [mail]
columns: {{mail: {{type: string, mask: sha256}}, ssn: {{type: string, mask: redact}}, n: int}}
target: {{latest: {namespace}.people, history: {namespace}.people_h}}
quality: {{fresh_within: any}}
"""


def ledger_rows(shop: Shop) -> list[str]:
    """The rows of the ledgers, as text."""
    return [str(found) for name in ("runs", "checks", "gaps") for found in shop.rows(name)]


def shown(shop: Shop, capsys: pytest.CaptureFixture[str]) -> str:
    """What `siltstone show` prints on standard error."""
    with pytest.raises(SystemExit):
        main(["show", f"{shop.project.namespace}.people", "--project", str(shop.project.root / "siltstone.yaml")])
    return capsys.readouterr().err


def test_a_partitioned_stream_is_complete_through_its_slowest_partition(shop: Shop) -> None:
    def partition_record(partition: str, kind: str, **record: Any) -> str:
        return json.dumps({"partition_token": partition, kind: record}) + "\n"

    children = [{"token": token, "parent_partition_tokens": []} for token in "AB"]
    started = {"start_timestamp": at(1), "record_sequence": "1", "child_partitions": children}
    data = {
        "commit_timestamp": at(55),
        "record_sequence": "00000000",
        "server_transaction_id": "tx",
        "is_last_record_in_transaction_in_partition": True,
        "table_name": "Users",
        "column_types": [{"name": "id", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1}],
        "mods": [{"keys": {"id": "1"}, "new_values": {}, "old_values": {}}],
        "mod_type": "INSERT",
        "value_capture_type": "NEW_ROW",
        "number_of_records_in_transaction": 1,
        "number_of_partitions_in_transaction": 1,
    }
    slow = partition_record("B", "heartbeat_record", timestamp=at(40))
    first = partition_record("", "child_partitions_record", **started)
    lines = [first, partition_record("A", "data_change_record", **data), slow]
    shop.write("a.jsonl", lines)
    source = {"format": "spanner-json", "path": "events"}
    target = {"latest": f"{shop.project.namespace}.users", "history": f"{shop.project.namespace}.users_h"}
    spec = table_spec({"table": "Users", "source": source, "target": target}, shop.project)
    report = catch_up(shop.project, [spec], shop.spark, checks=checks_of_run)
    assert report.tables[0].error is None
    found = completeness(shop, "users")
    assert (found["complete-through"], found["complete-through-by"]) == (at(40), "partitions")

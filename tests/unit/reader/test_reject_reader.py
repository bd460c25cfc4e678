"""rejects list, show and dismiss: waiting, closed and masked rejects in the ledgers that runs write."""

import getpass
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from siltstone.engine.cli import main

SPEC = """\
table: shop.{name}
source: {{format: debezium-json, path: events}}
keys: [id]
columns: {{id: int, name: {{type: string{mask}}}}}
"""
AT = datetime(2024, 1, 1, tzinfo=UTC)
LEDGERS: dict[str, dict[str, pa.DataType]] = {
    "rejects": {
        "batch": pa.int64(), "consumer": pa.string(), "table": pa.string(), "file": pa.string(), "line": pa.int64(),
        "reason": pa.string(), "record": pa.string(), "rejected_at": pa.timestamp("us", "UTC"),
    },
    "replays": {
        "batch": pa.int64(), "consumer": pa.string(), "of_consumer": pa.string(), "of_batch": pa.int64(),
        "file": pa.string(), "line": pa.int64(), "outcome": pa.string(), "run_id": pa.string(),
        "replayed_at": pa.timestamp("us", "UTC"),
    },
    "inputs": {
        "batch": pa.int64(), "consumer": pa.string(), "path": pa.string(), "from_line": pa.int64(),
    },
    "control": {"batch": pa.int64()},
    "shop_things_changes": {"batch": pa.int64()},
    "shop_people_changes": {"batch": pa.int64()},
}  # fmt: skip


def reject(
    consumer: str, line: int, reason: str, record: str | bytes | None, batch: int = 1, table: str | None = None
) -> Any:
    table = None if consumer.startswith("control:") else table or consumer
    place = {"batch": batch, "consumer": consumer, "table": table, "file": "file:/events/a.jsonl", "line": line}
    return place | {"reason": reason, "record": record, "rejected_at": AT}


def arrow(values: list[Any], kind: pa.DataType) -> pa.Array:
    """A text given as bytes can be invalid UTF-8: Spark stores the bytes of the source."""
    if any(isinstance(value, bytes) for value in values):
        return pa.array([v.encode() if isinstance(v, str) else v for v in values], pa.binary()).view(kind)
    return pa.array(values, kind)


def mark(batch: int, of_batch: int, line: int, outcome: str) -> dict[str, Any]:
    of = {"consumer": "shop.things", "of_consumer": "shop.things", "of_batch": of_batch, "file": "file:/events/a.jsonl"}
    return of | {"batch": batch, "line": line, "outcome": outcome, "run_id": "r1", "replayed_at": AT}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two tables, one of them masked, whose newest real batch is 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "siltstone.yaml").write_text("namespace: silt\n")
    (tmp_path / "specs").mkdir()
    for name, mask in (("things", ""), ("people", ", mask: redact")):
        (tmp_path / "specs" / f"{name}.yaml").write_text(SPEC.format(name=name, mask=mask))
    (tmp_path / "lake").mkdir()
    settings = {"uri": f"sqlite:///{tmp_path}/lake/catalog.db", "warehouse": f"file://{tmp_path}/lake/warehouse"}
    catalog = SqlCatalog("lake", **settings)
    catalog.create_namespace("silt")
    control = f"control:{tmp_path}/events"
    rows: dict[str, list[dict[str, Any]]] = {
        "rejects": [
            reject("shop.things", 1, "bad n", '{"n": "x"}'),
            reject("shop.things", 2, "bad n", '{"n": "y"}'),
            reject("shop.things", 3, "bad m", '{"m": 1}'),
            reject("shop.things", 3, "worse m", '{"m": 1}', batch=2),
            reject("shop.things", 9, "of a run that died", "{}", batch=3),
            reject("shop.things", 6, "bad text", b'{"v":"caf\xe9 \xc3\xa9"}'),
            reject("shop.people", 4, "bad n", '{"name": "secret"}'),
            reject(control, 5, "not JSON", "{name: secret", batch=1),
            reject(control, 7, "not JSON", "{half", batch=1),
        ],
        "replays": [mark(2, 1, 2, "applied"), mark(2, 1, 3, "rejected"), mark(3, 1, 1, "applied")],
        "inputs": [{"batch": 2, "consumer": control, "path": "file:/events/a.jsonl", "from_line": 7}],
    }
    for name, columns in LEDGERS.items():
        table = catalog.create_table(f"silt.{name}", pa.schema(list(columns.items())))
        found = pa.table(
            {column: arrow([row[column] for row in rows.get(name, [])], columns[column]) for column in columns}
        )
        table.append(found, snapshot_properties={"siltstone.batch": "2"})
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out + printed.err


def test_the_list_counts_waiting_rejects_by_table_and_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "rejects", "list", "--json")
    groups = [(group["table"], group["reason"], group["count"], group["first_line"]) for group in json.loads(out)]
    waiting = [(None, "not JSON", 1, 5), ("shop.people", "bad n", 1, 4)]
    of_things = [("bad n", 1, 1), ("bad text", 1, 6), ("worse m", 1, 3)]
    assert (code, groups) == (0, [*waiting, *(("shop.things", *group) for group in of_things)])
    code, out = run(capsys, "rejects", "list", "shop.things", "--all")
    statuses = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.splitlines()]
    shown = {(cells[1], cells[2], cells[3]) for cells in statuses if cells and cells[0] == "shop.things"}
    assert shown == {("bad n", "waiting", "1"), ("bad n", "applied", "1"), ("bad m", "rejected", "1"),
                    ("worse m", "waiting", "1"), ("bad text", "waiting", "1")}  # fmt: skip
    assert out.splitlines()[-1] == "5 records"


def test_records_are_shown_unchanged_unless_they_can_have_masked_values(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = run(capsys, "rejects", "show", "things", "--reason", "bad n")
    assert "no spec has this name" in out  # the list has the full names of tables
    _, out = run(capsys, "rejects", "show", "shop.things", "--reason", "bad n")
    assert '/events/a.jsonl:1  shop.things  waiting: bad n\n    {"n": "x"}\n' in out
    _, out = run(capsys, "rejects", "show", "--reason", "bad text")
    assert '\n    {"v":"caf\\xe9 é"}\n' in out
    _, out = run(capsys, "rejects", "show", "--reason", "bad text", "--json")
    assert [record["record"] for record in json.loads(out)] == ['{"v":"caf\\xe9 é"}']
    _, out = run(capsys, "rejects", "show", "--all")
    assert "secret" not in out
    assert "/events/a.jsonl:7  (unknown table)  taken again: not JSON" in out
    assert out.count("(not stored, because it contains or may contain masked columns; see the file)") == 3
    _, out = run(capsys, "rejects", "show", "--json", "--limit", "2")
    assert [record["record"] for record in json.loads(out[: out.rindex("]") + 1])] == [None, None]


def test_dismissed_rejects_no_longer_wait_and_are_shown_on_demand(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = run(capsys, "rejects", "dismiss", "a.jsonl:1", "a.jsonl:5", "--reason", " fixed in b.jsonl ")
    assert (code, out) == (0, f"2 rejects are dismissed by {getpass.getuser()}\n")
    code, out = run(capsys, "rejects", "dismiss", "--table", "shop.things", "--matching", "worse", "--reason", "known")
    assert (code, out) == (0, f"1 reject is dismissed by {getpass.getuser()}\n")
    _, out = run(capsys, "rejects", "list", "--json")
    assert [(group["table"], group["first_line"]) for group in json.loads(out)] == [
        ("shop.people", 4), ("shop.things", 6),
    ]  # fmt: skip
    _, out = run(capsys, "rejects", "show", "--all")
    assert "/events/a.jsonl:1  shop.things  dismissed: bad n\n    dismissed at " in out
    assert out.count(f" by {getpass.getuser()}: fixed in b.jsonl\n") == 2
    _, out = run(capsys, "rejects", "show", "shop.things", "--all", "--json")
    dismissed = {each["line"]: each["dismissal"] for each in json.loads(out) if each["status"] == "dismissed"}
    assert {line: (each["by"], each["reason"]) for line, each in dismissed.items()} == {
        1: (getpass.getuser(), "fixed in b.jsonl"), 3: (getpass.getuser(), "known"),
    }  # fmt: skip
    assert "shop_things_changes" in run(capsys, "show", "nothing")[1]  # the other tables are unchanged


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--reason", "why"], 2, "choose rejects by"),
        (["a.jsonl", "--reason", "  "], 2, "the reason is empty"),
        (["a.jsonl:1", "b.jsonl", "a.jsonl:2", "--reason", "why"], 2, "waiting reject at b.jsonl, a.jsonl:2"),
        (["a.jsonl", "--matching", "no such reason", "--reason", "why"], 2, "none is waiting"),
        (["--table", "shop.nothing", "--reason", "why"], 2, "no spec has this name"),
    ],
)
def test_a_reject_that_is_not_waiting_cannot_be_dismissed(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    before = run(capsys, "rejects", "list", "--all")
    found, out = run(capsys, "rejects", "dismiss", *arguments)
    assert (found, words in " ".join(out.replace("│", " ").split())) == (code, True), out
    assert run(capsys, "rejects", "list", "--all") == before

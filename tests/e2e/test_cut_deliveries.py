"""A split delivery gives the tables of the whole, even if a transaction or a snapshot window is split."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
UNAVAILABLE = "__debezium_unavailable_value"
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """The lines of two batches, and the expected rows. `latest`: (id, v). `versions`: (id, v, second of the start)."""

    first: Sequence[str]
    second: Sequence[str]
    latest: list[tuple[Any, ...]]
    versions: list[tuple[Any, ...]] | None = None
    history: Row | None = None


def line(connector: str, op: str, second: int, before: Row | None, after: Row | None, **source_fields: Any) -> str:
    """One event of table `db.t`, or of its signal table. The headers of the message are in `headers`."""
    headers = source_fields.pop("headers", {})
    millis = START_MS + second * 1000
    table = "signals" if "type" in (after or {}) else "t"
    source = {"connector": connector, "name": "srv", "db": "db", "schema": "db", "table": table, "ts_ms": millis}
    value = {"before": before, "after": after, "source": source | source_fields, "op": op, "ts_ms": millis + 1}
    return json.dumps({"value": value, "headers": headers}) + "\n"


def marker(connector: str, word: str, second: int, **source_fields: Any) -> str:
    after = {"id": f"w1-{word}", "type": f"snapshot-window-{word}", "data": "{}"}
    return line(connector, "c", second, None, after, **source_fields)


def image(key: int, v: str) -> Row:
    return {"id": key, "s": "on", "v": v}


def postgresql(
    op: str, second: int, lsn: int, before: Row | None, after: Row | None, last: Any, **source_fields: Any
) -> str:
    sequence = json.dumps([last and str(last), str(lsn)])
    return line("postgresql", op, second, before, after, lsn=lsn, sequence=sequence, **source_fields)


def shift(reads: Sequence[tuple[int, str]]) -> tuple[list[str], list[str]]:
    """`UPDATE t SET id = id + 1` over three rows, and READs before it."""
    seen = [postgresql("r", 10, 1000, None, image(key, v), None, snapshot="true") for key, v in reads]
    steps = []
    for number, (key, v) in enumerate([(1, "A"), (2, "B"), (3, "C")]):
        transaction = {"last": 1500, "txId": 50}
        lsn, new, old = 2000 + 8 * number, {"__debezium.newkey": {"id": key + 1}}, {"__debezium.oldkey": {"id": key}}
        steps.append(postgresql("d", 5, lsn, image(key, v), None, headers=new, **transaction))
        steps.append(postgresql("c", 5, lsn, None, image(key + 1, v), headers=old, **transaction))
    return [*seen, *steps[:2]], steps[2:]


def moved(second: int, lsn: int, old: int, new: int, headers: bool) -> list[str]:
    """A key change whose halves have no value of `v`, and have one position. `headers`: whether headers link them."""
    gone = {"headers": {"__debezium.newkey": {"id": new}}} if headers else {}
    come = {"headers": {"__debezium.oldkey": {"id": old}}} if headers else {}
    return [
        postgresql("d", second, lsn, {"id": old, "s": None, "v": None}, None, lsn - 100, txId=lsn, **gone),
        postgresql("c", second, lsn, None, image(new, UNAVAILABLE), lsn - 100, txId=lsn, **come),
    ]


def key_changes(headers: bool) -> dict[str, Case]:
    """Key changes whose halves arrive in two batches: the delete half first, the insert half first, and a chain."""
    how = "with headers" if headers else "without headers"
    first = postgresql("c", 1, 900, None, image(1, "long"), 800)
    (gone, come), (on, there) = moved(5, 2000, 1, 2, headers), moved(6, 3000, 2, 3, headers)
    onward = moved(7, 4000, 3, 4, headers)
    moved_once = [(2, "long")], [(1, "long", 1), (1, None, 5), (2, "long", 5)]
    return {
        f"a key change {how}, its insert in another batch": Case([first, gone], [come], *moved_once),
        f"a key change {how}, its delete in another batch": Case([first, come], [gone], *moved_once),
        f"a key change {how}, its row in another batch": Case([first], [come, gone], *moved_once),
        f"three key changes {how}": Case([first, come, there, onward[0]], [gone, on, onward[1]], [(4, "long")]),
    }


def binlog(op: str, second: int, pos: int, after: Row | None, **source_fields: Any) -> str:
    return line("mysql", op, second, None, after, file="bin.000001", pos=pos, row=0, **source_fields)


def in_markers(connector: str, places: Sequence[Row]) -> list[str]:
    """A READ between markers, and a change in the window that supersedes it. The READ's time is a minute late."""
    old, new = image(7, "old"), image(7, "new")
    return [
        line(connector, "c", 1, None, old, **places[0]),
        marker(connector, "open", 60, **places[1]),
        line(connector, "u", 62, old, new, **places[2]),
        line(connector, "r", 124, None, old, snapshot="incremental", **places[3]),
        marker(connector, "close", 64, **places[3]),
    ]


def oracle(scn: int) -> Row:
    return {"scn": str(scn - 1), "commit_scn": str(scn), "rs_id": f"0x000001.{scn:08x}.0010", "ssn": 0}


def sqlserver(commit: int) -> Row:
    return {"commit_lsn": f"00000020:{commit:08x}:0003", "change_lsn": f"00000020:{commit - 1:08x}:0003"}


def cases() -> dict[str, Case]:
    shifted = [(2, "A"), (3, "B"), (4, "C")]
    untracked, overlapping = shift([(1, "A"), (2, "B"), (3, "C")]), shift(shifted)
    late_read = binlog("r", 64, 3000, image(7, "stale"), snapshot="incremental")
    truncated = [
        marker("mysql", "open", 60, file="bin.000001", pos=1000, row=0),
        binlog("t", 30, 2000, None),  # with the time at which its statement started
        marker("mysql", "close", 64, file="bin.000001", pos=3000, row=0),
    ]
    numbers = (500, 1000, 2000, 3000)
    later = [postgresql("c", 1, 900, None, image(1, "v1"), None)]
    later += [postgresql("r", 100, 5000, None, image(1, "v4"), 1000, snapshot="true")]
    streamed = [
        postgresql("u", 50 + 10 * n, 1900 + 1000 * n, image(1, f"v{n + 1}"), image(1, f"v{n + 2}"), 1000 * n + 1000)
        for n in range(3)
    ]
    versions = [(1, "v1", 1), (1, "v2", 50), (1, "v3", 60), (1, "v4", 70)]
    # A change that was committed after the snapshot, and before its READ was written: the READ does not undo it.
    unseen = postgresql("u", 80, 4900, image(1, "v4"), image(1, "v5"), 3950)
    return {
        "a key shift after READs": Case(*untracked, shifted, history={"track": ["s"]}),
        "a key shift that READs have seen": Case(*overlapping, shifted),
        "a truncate in the window": Case([*truncated, binlog("c", 70, 4000, image(99, "x"))], [late_read], [(99, "x")]),
        "a window of Oracle": split(in_markers("oracle", [oracle(n) for n in numbers]), [(7, "new")]),
        "a window of SQL Server": split(in_markers("sqlserver", [sqlserver(n) for n in numbers]), [(7, "new")]),
        "a snapshot before what is streamed": Case(later, streamed, [(1, "v4")], versions),
        "a snapshot that missed a change": Case(later, [*streamed, unseen], [(1, "v5")], [*versions, (1, "v5", 80)]),
        **key_changes(headers=True),
        **key_changes(headers=False),
    }


def split(lines: list[str], latest: list[tuple[Any, ...]]) -> Case:
    return Case(lines[:3], lines[3:], latest)


def spec_of(project: ProjectSpec, name: str, case: Case) -> TableSpec:
    source = {"format": "debezium-json", "path": str(project.root / name / "*.jsonl")}
    target = {part: f"{project.namespace}.{name}_{part}" for part in ("latest", "history", "changes")}
    columns = {"id": "int", "s": "string", "v": "string"}
    mapping = {"table": "db.t", "source": source, "keys": ["id"], "columns": columns, "target": target}
    return table_spec(mapping | ({"history": case.history} if case.history else {}), project)


@pytest.fixture(scope="module")
def delivered(
    spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, TableSpec]]:
    """Each case in one batch, in two, in two in reverse order, and in two where the second repeats the first."""
    project = a_project(catalog, tmp_path_factory.mktemp("cut"), "cut")
    specs: dict[str, dict[str, TableSpec]] = {}
    batches: list[list[tuple[TableSpec, Sequence[str]]]] = [[], []]
    for number, (name, case) in enumerate(cases().items()):
        ways = {"whole": [[*case.first, *case.second]], "split": [case.first, case.second]}
        ways["reversed"] = [case.second, case.first]
        ways["redelivered"] = [case.first, [*case.first, *case.second]]
        for way, parts in ways.items():
            spec = spec_of(project, f"{way}_{number}", case)
            specs.setdefault(name, {})[way] = spec
            for batch, part in zip(batches, parts, strict=False):
                batch.append((spec, part))
    for number, batch in enumerate(batches):
        for spec, part in batch:
            path = Path(spec.source.path.replace("*", str(number)))
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(part))
            report = catch_up(project, [spec], spark)
            assert [table.error for table in report.tables if table.error] == []
    return specs


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_a_split_delivery_gives_the_tables_of_the_whole(
    name: str, spark: SparkSession, delivered: dict[str, dict[str, TableSpec]]
) -> None:
    case, found = cases()[name], {}
    for way, spec in delivered[name].items():
        latest, history = spark.table(f"lake.{spec.target.latest}"), spark.table(f"lake.{spec.target.history}")
        assert sorted((row["id"], row["v"]) for row in latest.collect()) == case.latest, way
        found[way] = sorted(map(repr, history.drop("_batch").collect()))
        rows = [(row["id"], row["v"], row["_valid_from"].timestamp() - START_MS / 1000) for row in history.collect()]
        assert case.versions is None or sorted(rows, key=lambda row: (row[2], row[0])) == case.versions, way
    assert found["split"] == found["whole"]
    assert found["reversed"] == found["whole"]
    assert found["redelivered"] == found["whole"]

"""A rejected change of a line with many changes is stored with its whole line, and a replay applies it once."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.run import catch_up, replay
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.ledger import read_ledger

MANY = 3_000
"""With a copy of the line in each change, the changes would take a gigabyte."""


def canal() -> str:
    rows: list[dict[str, str]] = [{"id": str(key), "a": "x" * 100} for key in range(MANY)]
    rows[1], rows[-1] = {"a": "no key"}, {"id": "x", "a": "odd"}
    header = {"database": "shop", "table": "items", "type": "INSERT", "id": 1, "es": 1_700_000_000_000, "ts": 1}
    types = {"mysqlType": {"id": "int", "a": "varchar(100)"}, "pkNames": ["id"], "isDdl": False}
    return json.dumps(header | types | {"data": rows, "old": None})


def spanner(spelling: str) -> str:
    mods: list[dict[str, Any]] = [{"keys": {"id": str(key)}, "new_values": {"a": "x" * 100}} for key in range(MANY)]
    mods[1], mods[-1] = {"keys": {}, "new_values": {"a": "no key"}}, {"keys": {"id": "x"}, "new_values": {"a": "odd"}}
    types = [
        {"name": "id", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1},
        {"name": "a", "type": {"code": "STRING"}, "is_primary_key": False, "ordinal_position": 2},
    ]
    record = {
        "commit_timestamp": "2024-01-02T03:04:05.678901Z", "record_sequence": "00000000", "table_name": "items",
        "server_transaction_id": "t", "value_capture_type": "NEW_VALUES", "mod_type": "INSERT", "column_types": types,
        "mods": mods,
    }  # fmt: skip
    other = record | {"table_name": "others", "mods": mods[:1], "record_sequence": "00000001"}
    records = [{"data_change_record": [one]} for one in (other, record)]
    return json.dumps({"change_record": records}).replace("record_sequence", spelling)


@pytest.mark.parametrize(
    ("form", "table", "line", "misfit"),
    [
        ("canal-json", "shop.items", canal(), "int"),
        pytest.param("spanner-json", "items", spanner("record_sequence"), "bigint", marks=pytest.mark.slow),
        ("spanner-json", "items", spanner("recordSequence"), "bigint"),  # read field by field
    ],
)
def test_a_rejected_change_is_stored_with_its_whole_line(
    spark: SparkSession, project: ProjectSpec, form: str, table: str, line: str, misfit: str
) -> None:
    (project.root / "events").mkdir()
    (project.root / "events" / "one.jsonl").write_text(line + "\n")
    target = {"latest": f"{project.namespace}.items", "history": f"{project.namespace}.items_history"}
    rejects = {"max_fraction": 0.5}
    mapping = {"table": table, "source": {"format": form, "path": "events"}, "target": target, "rejects": rejects}
    report = catch_up(project, [table_spec(mapping, project)], spark)
    assert not report.exit_code, report.tables[0].error
    assert (report.tables[0].changes, report.tables[0].rejected) == (MANY - 2, 2)
    ledger = read_ledger(spark, project, names.REJECTS)
    assert ledger is not None
    stored = {found["reason"]: found["record"] for found in ledger.where(f"table = '{table}'").collect()}
    assert sorted(stored) == [f'column "id": the value does not fit {misfit}', 'key column "id" is missing']
    assert set(stored.values()) == {line}


def canal_message(kind: str, number: int, rows: Mapping[int, int]) -> str:
    """A Canal message with these keys and values. `kind`: INIT for a first load, or INSERT."""
    header = {"database": "shop", "table": "items", "type": kind, "isDdl": False, "pkNames": ["id"], "mysqlType": None}
    data = [{"id": str(key), "n": str(value)} for key, value in rows.items()]
    return json.dumps(header | {"id": number, "es": number, "ts": number, "data": data, "old": None}) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("narrow", ["n", "id"])
def test_a_replay_applies_only_the_rejected_changes_of_a_line(
    spark: SparkSession, project: ProjectSpec, narrow: str
) -> None:
    """READs of one message have no positions that distinguish them."""
    long, at = 3_000_000_000, 1_772_323_200_000
    values = {1: 1, 2: long, 3: 2, 4: long, 5: 1, 6: long}
    pairs = values if narrow == "n" else {value * 10 + key: key for key, value in values.items()}
    listed = list(pairs.items())
    (project.root / "events").mkdir()
    lines = [
        canal_message("INIT", at, dict(listed[:3])),
        canal_message("INIT", at + 1_000, dict(listed[3:4])),
        canal_message("INSERT", at + 2_000_000, dict(listed[4:])),
    ]
    (project.root / "events" / "a.jsonl").write_text("".join(lines))
    target = {"latest": f"{project.namespace}.items", "history": f"{project.namespace}.items_history"}
    source, rejects = {"format": "canal-json", "path": "events"}, {"max_fraction": 0.9}
    mapping = {"table": "shop.items", "source": source, "target": target, "rejects": rejects, "keys": ["id"]}
    wide = {"id": "bigint", "n": "bigint"}
    report = catch_up(project, [table_spec(mapping | {"columns": wide | {narrow: "int"}}, project)], spark)
    assert (report.tables[0].error, report.tables[0].changes, report.tables[0].rejected) == (None, 3, 3)
    fixed = table_spec(mapping | {"columns": wide}, project)
    first, second = (replay(project, [fixed], spark) for _ in range(2))
    assert [table.error for table in (*first.tables, *second.tables) if table.error] == []
    found = spark.table(f"lake.{target['latest']}").select("id", "n").collect()
    assert {row["id"]: row["n"] for row in found} == pairs
    assert spark.table(f"lake.{target['history']}").count() == len(pairs)
    assert spark.table(f"lake.{fixed.target.changes}").count() == len(pairs)

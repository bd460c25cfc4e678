"""`siltstone show` prints what Spark wrote, without a JVM."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.cli import main
from tests.e2e.conftest import PROPERTIES

Show = Callable[..., str]


@pytest.fixture
def show(shop_project: Path, capsys: pytest.CaptureFixture[str]) -> Show:
    """A function that runs `siltstone show` in this process and gives its output."""

    def run(*arguments: str, ends: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["show", *arguments, "--project", str(shop_project)])
        printed = capsys.readouterr()
        assert ended.value.code == ends, printed.err
        return printed.err if ends else printed.out

    return run


def rows(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text))


def test_the_tables_have_deletion_vectors(spark: SparkSession, shop: str) -> None:
    for table in ("customers", "customers_history"):
        formats = spark.sql(f"SELECT file_format FROM lake.shop.{table}.delete_files").collect()
        assert {row.file_format for row in formats} == {"PUFFIN"}


@pytest.mark.parametrize("name", ["shop.customers", "crm.clients", "people", "customers", "clients"])
def test_show_finds_a_table_by_each_of_its_names(show: Show, name: str) -> None:
    found = rows(show(name, "--json"))
    assert [(row["region"], row["id"]) for row in found] == [("eu", 1), ("us", 1)]


def test_json_has_all_values_of_latest(show: Show) -> None:
    assert rows(show("people", "--json")) == [
        {
            "id": 1,
            "region": "eu",
            "balance": "99.99",
            "photo": "AP8=",
            "seen": "2024-01-01T00:00:00.500000Z",
            "a.b c": "one",
            "tags": {"vip": 5},
        },
        {"id": 1, "region": "us", "balance": None, "photo": None, "seen": None, "a.b c": None, "tags": None},
    ]


def test_bookkeeping_columns_are_shown_on_request(show: Show) -> None:
    assert [row["_batch"] for row in rows(show("people", "--json", "--all"))] == [2, 1]


def test_a_key_shows_its_versions_oldest_first(show: Show) -> None:
    found = rows(show("people", "--key", "region=eu", "--key", "id=1", "--json"))
    assert [(row["_valid_from"], row["_valid_to"], row["_op"], row["balance"]) for row in found] == [
        ("2024-01-01T12:00:00Z", "2024-02-01T12:00:00.250000Z", "insert", "10.50"),
        ("2024-02-01T12:00:00.250000Z", None, "update", "99.99"),
    ]
    assert list(found[0])[:3] == ["_valid_from", "_valid_to", "_op"]


def test_any_column_of_any_type_can_be_a_key(show: Show) -> None:
    for key in ("balance=99.99", "a.b c=one"):
        assert [row["_op"] for row in rows(show("people", "--key", key, "--json"))] == ["update"]
    for key in ("balance=99.990", "photo=AP8=", "seen=2024-01-01T00:00:00.5+00:00"):
        assert rows(show("people", "--key", key, "--json"))


@pytest.mark.parametrize(
    ("moment", "alive"),
    [
        ("2024-01-01T11:59:59.999999Z", []),
        ("2024-01-01T12:00:00Z", [("eu", 1, "10.50"), ("eu", 2, "20.00"), ("us", 1, None)]),
        ("2024-02-01T12:00:00.249999", [("eu", 1, "10.50"), ("eu", 2, "20.00"), ("us", 1, None)]),
        ("2024-02-01T14:00:00.25+02:00", [("eu", 1, "99.99"), ("us", 1, None)]),
        ("now", [("eu", 1, "99.99"), ("us", 1, None)]),
    ],
)
def test_as_of_shows_the_rows_that_were_valid_at_that_time(
    show: Show, moment: str, alive: list[tuple[str, int, str | None]]
) -> None:
    found = rows(show("people", "--as-of", moment, "--json"))
    assert [(row["region"], row["id"], row["balance"]) for row in found] == alive


def test_as_of_with_a_key_shows_only_that_row(show: Show) -> None:
    found = rows(show("people", "--as-of", "2024-01-15", "--key", "id=2", "--json"))
    assert [row["a.b c"] for row in found] == ["two"]


@pytest.mark.parametrize("arguments", [("people", "--history"), ("shop.customers_history",)])
def test_history_shows_every_version_in_key_order(show: Show, arguments: tuple[str, ...]) -> None:
    found = rows(show(*arguments, "--json"))
    assert [(row["region"], row["id"], row["_op"]) for row in found] == [
        ("eu", 1, "insert"),
        ("eu", 1, "update"),
        ("eu", 2, "insert"),
        ("eu", 2, "delete"),
        ("us", 1, "insert"),
    ]


def test_csv_distinguishes_null_from_an_empty_string(show: Show) -> None:
    text = show("people", "--as-of", "2024-01-15", "--format", "csv")
    lines = list(csv.reader(io.StringIO(text)))
    assert lines[0] == ["id", "region", "balance", "photo", "seen", "a.b c", "tags"]
    assert lines[1] == ["1", "eu", "10.50", "AP8=", "2024-01-01T00:00:00.500000Z", "", '{"vip":0}']
    assert text.splitlines()[1].split(",")[5] == '""'
    assert text.splitlines()[3] == "1,us,,,,,"


def test_text_that_is_not_utf_8_is_shown_and_exported_with_escaped_bytes(
    spark: SparkSession, shop_project: Path, show: Show, tmp_path: Path
) -> None:
    values = "VALUES (CAST(X'636166E9' AS STRING), NULL, 'insert', NULL, '1'), ('é', NULL, 'insert', NULL, '2')"
    columns = f"SELECT * FROM {values} AS s(name, photo, _op, _valid_to, _position)"
    for table in ("texts", "texts_history"):
        cast = (
            "name, CAST(photo AS BINARY) AS photo, _op, now() AS _valid_from, CAST(_valid_to AS TIMESTAMP), _position"
        )
        spark.sql(f"CREATE TABLE lake.shop.{table} USING iceberg {PROPERTIES} AS SELECT {cast} FROM ({columns})")
    assert [row["name"] for row in rows(show("shop.texts", "--json"))] == ["caf\\xe9", "é"]
    assert "caf\\xe9" in show("shop.texts")
    assert [row["name"] for row in rows(show("shop.texts", "--key", "name=é", "--json"))] == ["é"]
    for form in ("jsonl", "csv", "parquet"):
        with pytest.raises(SystemExit) as ended:
            main(["export", "shop.texts", "-o", str(tmp_path / f"texts.{form}"), "--project", str(shop_project)])
        assert not ended.value.code
    exported = [json.loads(line)["name"] for line in (tmp_path / "texts.jsonl").read_text("utf-8").splitlines()]
    assert exported == ["caf\\xe9", "é"]
    assert "\ncaf\\xe9," in (tmp_path / "texts.csv").read_text("utf-8")
    assert b"caf\xe9" in (tmp_path / "texts.parquet").read_bytes()  # Parquet keeps the bytes


def test_text_output_has_column_names_and_values(show: Show) -> None:
    text = show("people")
    assert "a.b c" in text
    assert "99.99" in text
    assert "_batch" not in text


def test_limit_restricts_the_number_of_rows_and_zero_means_all(show: Show) -> None:
    assert len(rows(show("people", "--history", "--limit", "2", "--json"))) == 2
    assert len(rows(show("people", "--history", "--limit", "0", "--json"))) == 5


def test_an_error_suggests_the_nearest_name_for_a_misspelt_table(show: Show) -> None:
    assert "Did you mean shop.customers?" in show("shop.custmers", ends=2)


def test_an_error_suggests_the_nearest_name_for_a_misspelt_key_column(show: Show) -> None:
    assert "Did you mean region?" in show("people", "--key", "regoin=eu", ends=2)


@pytest.mark.parametrize("key", ["id=x", "balance=1.234", "photo=%"])
def test_a_key_of_the_wrong_type_is_an_error_and_not_an_empty_result(show: Show, key: str) -> None:
    assert "is not of type" in show("people", "--key", key, ends=2)


def test_show_imports_neither_spark_nor_great_expectations(shop_project: Path) -> None:
    program = (
        "import sys\nfrom siltstone.engine.cli import main\n"
        f"try:\n    main(['show', 'people', '--project', {str(shop_project)!r}])\n"
        "except SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "print(sorted({'pyspark', 'great_expectations'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"

"""How init guesses the types of values. If the name of the column confirms a guess, it is sure."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from siltstone.engine.init import find_tables, written_specs
from siltstone.engine.init.guessed_types import Evidence, Guess, names_date, names_time
from tests.recordings import DATA
from tests.unit.decode.given import event

MILLIS, MICROS, NANOS = 1_700_000_000_000, 1_700_000_000_123_456, 1_700_000_000_123_456_789
PG_INFINITY = 9_223_372_036_825_200_000
BYTES = base64.b64encode(b"__debezium_unavailable_value").decode()


def guess(name: str, *values: Any, is_key: bool = False) -> Guess | None:
    half = len(values) // 2
    one, other = Evidence(), Evidence()
    for value in values[:half]:
        one.add(value)
    for value in values[half:]:
        other.add(value)
    one.merge(other)
    return one.guess(name, is_key)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("birthday", (19_000,), "date"),
        ("BIRTHDATE", (-9_000, 400, 10_000), "date"),
        ("hireDate", (19_000, -2_147_472_692, 19_001), "date"),  # PostgreSQL's infinity is kept in _rescued
        ("created_at", (MILLIS,), "timestamp_ntz(3)"),
        ("birth_date", (-631_152_000_000,), "timestamp_ntz(3)"),  # Oracle's DATE
        ("gmt_modified", (MILLIS, 0, MILLIS), "timestamp_ntz(3)"),
        ("updated", (MICROS,), "timestamp_ntz(6)"),
        ("updated_at", (MICROS, PG_INFINITY, -2_204_706_790_501_430), "timestamp_ntz(6)"),
        ("loadTime", (NANOS,), "timestamp_ntz(9)"),
        ("ts", ("2024-01-01T00:00:00Z",), "timestamp"),
        ("ts", ("2024-01-01T00:00:00.123456+02:00", "infinity", "2024-01-01T00:00:00Z"), "timestamp"),
        ("day_on", ("2024-01-01Z",), "date"),  # time.precision.mode=isostring
    ],
)
def test_a_guess_is_sure_if_the_name_and_all_values_agree(name: str, values: tuple[Any, ...], kind: str) -> None:
    found = guess(name, *values)
    assert found is not None
    assert (found.kind, found.is_sure) == (kind, True)
    assert guess(name, *values, is_key=True) == Guess(found.what, kind, False, found.shown_by)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("price", ("AfQ=", "fw=="), "decimal(p,s)"),
        ("vb", ("BQ==", BYTES), "decimal(p,s)"),
        ("photo", ("", "AAECAw=="), "binary"),
        ("photo", (base64.b64encode(bytes(range(40))).decode(), BYTES), "binary"),
        ("n", (MILLIS,), "timestamp_ntz(3)"),
        ("time_id", (MICROS,), "timestamp_ntz(6)"),
        ("snowflake", (1_600_000_000_000_000_000,), "timestamp_ntz(9)"),
        ("v", ("2024-01-01T00:00:00Z",), "timestamp"),
        ("expires", (19_000, 19_001), "date"),
    ],
)
def test_a_guess_is_a_question_if_only_the_values_show_it(name: str, values: tuple[Any, ...], kind: str) -> None:
    found = guess(name, *values)
    assert found is not None
    assert not found.is_sure
    assert found.kind.startswith(kind)
    assert f"? then {kind}" in found.remark


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("amount", (19_000, 20_000)),
        ("birth_year", (1987, 2001)),
        ("birthday", (1987, 2001)),
        ("date", (20_240_101, 20_240_102)),  # digits of a date
        ("created_at", (1_700_000_000,)),  # seconds, which no type of the spec counts
        ("created_at", (MILLIS, MICROS)),
        ("created_at", (MILLIS, "2024-01-01T00:00:00Z")),
        ("created_at", (MILLIS, 1.5)),
        ("created_at", ("2024-01-01T00:00:00Z", "")),
        ("created_at", ("2024-01-01T00:00:00Z", "__debezium_unavailable_value")),
        ("time", (36_000_000_000, 1_000_000)),  # a time of day
        ("code", ("ABCD", "EFGH")),
        ("price", ("12.50", "7.00")),
        ("price", ("AfQ=", "12.50")),
        ("word", ("ab==",)),  # not base64 of a program: its last bits are not zero
        ("n", (36_000_000_000,)),
        ("n", ()),
        ("n", (True, [1], {"a": 1})),
    ],
)
def test_other_values_give_no_guess(name: str, values: tuple[Any, ...]) -> None:
    assert guess(name, *values) is None


def test_names_of_times_and_dates_are_detected_in_every_spelling() -> None:
    for name in ("createdAt", "CREATED_AT", "updatetime", "hire_date", "dt_updated", "valid_from", "ts3"):
        assert names_time(name), name
    for name in ("time_id", "amount", "statement", "datum_nr", "attempt_count", "", "日付"):
        assert not names_time(name), name
    for name in ("birthday", "dob", "date_of_birth", "ORDERDATE", "day"):
        assert names_date(name), name
    for name in ("update", "last_update", "price_per_day", "place_of_birth", "candidate", "expires", "paid_on"):
        assert not names_date(name), name


ROW = {
    "id": 1, "price": "AfQ=", "birthday": 19_000, "created_at": MILLIS, "updated": MICROS,
    "ts": "2024-01-01T00:00:00Z", "total": "12.50", "n": NANOS,
}  # fmt: skip


def test_a_spec_declares_sure_types_and_asks_about_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(event("c", after=ROW) + "\n")
    (spec,) = written_specs(find_tables([tmp_path]), tmp_path / "specs", tmp_path)
    assert yaml.safe_load(spec.text)["columns"] == {
        "id": "bigint", "price": "string", "birthday": "date", "created_at": "timestamp_ntz(3)",
        "updated": "timestamp_ntz(6)", "ts": "timestamp", "total": "string", "n": "bigint",
    }  # fmt: skip
    assert spec.unsure_columns == ("price", "n")
    assert "  birthday: date # days since 1970: the only value is of the year 2022\n" in spec.text
    assert "  price: string # numbers in base64? then decimal(p,s), with the scale of the source's column" in spec.text
    assert "; the only value is of 2 bytes\n" in spec.text
    assert "  total: string # numbers? then decimal(p,s), and decimals: string under source\n" in spec.text


def test_plain_rows_get_no_types_of_connectors(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW) + "\n")
    (spec,) = written_specs(find_tables([tmp_path]), tmp_path / "specs", tmp_path)
    assert spec.unsure_columns == ()
    assert yaml.safe_load(spec.text)["columns"]["birthday"] == "bigint"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
@pytest.mark.parametrize(
    "pair",
    [
        ("mariadb/debezium.noschema.jsonl.gz", "mariadb/debezium.schema.jsonl.gz"),
        ("postgresql/events.noschema.jsonl.gz", "postgresql/events.schema.jsonl.gz"),
    ],
)
def test_sure_guesses_equal_the_types_of_the_same_tables_with_schemas(pair: tuple[str, str]) -> None:
    bare, described = ({str(table.name): table.columns for table in find_tables([DATA / name])} for name in pair)
    checked = 0
    for name, columns in bare.items():
        types = described[name].types()
        for column, found in columns.guesses().items():
            kind = types[column]
            assert kind is not None
            is_right = kind.simpleString() == re.sub(r"\(\d\)", "", found.kind)
            assert is_right or not found.is_sure
            checked += is_right
    assert checked >= 5

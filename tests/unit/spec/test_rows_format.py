"""Settings of plain rows: what is understood, what is refused and where, conditions that are none."""

from typing import Any

import pytest

from siltstone.engine.spec import decode_fingerprints, fold_fingerprint
from siltstone.engine.spec.model import TrackSpec
from siltstone.engine.spec.predicates import (
    All,
    Compare,
    IsNull,
    Not,
    OneOf,
    PredicateError,
    Some,
    columns_of,
    parse_predicate,
)
from siltstone.engine.spec.rows_format import YEAR_2000, time_warning
from tests.unit.spec.cases import source, spec, violations

FEED = {"format": "rows", "path": "in/*.csv", "sequence_by": ["day", "n"]}


def feed(**settings: Any) -> dict[str, Any]:
    return {**FEED, **settings}


def test_the_settings_of_rows_come_with_the_types_of_the_sequence() -> None:
    told = spec(
        source=feed(delete_when="op = 'D'", ignore_nulls=["a"], columns={"except": ["op"]}, ties="upsert"),
        keys=["id"],
        columns={"n": "bigint", "a": "string"},
    ).source.rows
    assert told is not None
    assert told.table == "inventory.customers"
    assert told.sequence_by == (("day", "any"), ("n", "number"))
    assert told.delete_when == Compare("op", "=", "D")
    assert (told.ignores_null("a"), told.ignores_null("b")) == (True, False)
    assert (told.takes("a"), told.takes("op")) == (True, False)
    assert told.columns == TrackSpec("except", ("op",))
    timed = {"day": "timestamp(3)", "n": "timestamp", "t": "timestamp_ntz(6)", "other": "timestamp(9)"}
    digits = spec(source=feed(time_by="t"), keys=["id"], columns=timed).source.rows
    assert digits is not None
    assert digits.digits == (("day", 3), ("t", 6))
    asked = spec(source=feed(delete_when="day > '2024-01-01' AND n = 1 AND t"), keys=["id"], columns={"day": "date"})
    assert asked.source.rows is not None
    assert asked.source.rows.kinds == (("day", "time"),)


def test_a_feed_can_be_a_table() -> None:
    told = spec(source={"format": "rows", "table": "raw.feed", "sequence_by": "n"}, keys=["id"]).source
    assert (told.path, told.table) == ("table:raw.feed", "raw.feed")


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"source": source(sequence_by="n")}, "$.source.sequence_by", "is a setting of the format rows"),
    ({"source": source(table="raw.feed")}, "$.source.table", "is for the format rows"),
    ({"source": {"format": "rows", "path": "x"}, "keys": ["id"]}, "$.source.sequence_by", "is required"),
    ({"source": feed()}, "$.keys", "is required"),
    ({"source": feed(table="raw.feed"), "keys": ["id"]}, "$.source.path", "exactly one"),
    ({"source": feed(times="adaptive"), "keys": ["id"]}, "$.source.times", "times is no setting of rows"),
    ({"source": feed(columns={"except": ["id"]}), "keys": ["id"]}, "$.source.columns", "leaves out the key column"),
    ({"source": feed(columns=["a"]), "keys": ["id"]}, "$.source.columns", "leaves out the key column"),
    ({"source": feed(), "keys": ["id"], "columns": {"n": "array<int>"}}, "$.source.sequence_by", "without an order"),
    *[
        ({"source": feed(**{at: "t"}), "keys": ["id"], "columns": {"t": {"mask": mask}}}, f"$.source.{at}", "is masked")
        for at, mask in (("sequence_by", "sha256"), ("sequence_by", "drop"), ("time_by", "sha256"))
    ],
    ({"source": feed(delete_when="op = "), "keys": ["id"]}, "$.source.delete_when", "is not a condition"),
    ({"source": feed(ignore_when="kind is"), "keys": ["id"]}, "$.source.ignore_when", "is not a condition"),
    ({"source": source(ignore_when="a")}, "$.source.ignore_when", "is a setting of the format rows"),
    ({"source": feed(time_by=None), "keys": ["id"]}, "$.source.time_by", "has no value"),
    ({"source": feed(sequence_by=[]), "keys": ["id"]}, "$.source.sequence_by", "names no column"),
    ({"source": feed(sequence_by=["n", "n"]), "keys": ["id"]}, "$.source.sequence_by", "names a column twice"),
    ({"source": feed(ties="latest"), "keys": ["id"]}, "$.source.ties", "is not known"),
    ({"source": feed(delimiter=";;"), "keys": ["id"]}, "$.source.delimiter", "must be one character"),
    (
        {"source": feed(delimiter=";", file_type="json"), "keys": ["id"]},
        "$.source.delimiter",
        "is a setting of CSV files, and file_type says that these are none",
    ),
    (
        {"source": source(format="datastream-json", time_zone="UTC")},
        "$.source.time_zone",
        "time_zone is no setting of datastream-json",
    ),
    ({"source": source(format="canal-json", epoch=[{"gtid": "a"}])}, "$.source", "not of canal-json"),
    ({"source": source(format="shareplex-json", times="connect")}, "$.source.times", "in one way only"),
]


def test_of_a_format_that_is_not_known_only_that_is_said() -> None:
    more = {"delete_when": "gone", "ties": "order", "time_unit": "seconds"}
    for feed_source in (feed(format="row", **more), {"format": "row", "table": "raw.feed", "sequence_by": "n"}):
        found = violations(source=feed_source, keys=["id"])
        assert [(one.path, one.hint) for one in found] == [("$.source.format", "did you mean 'rows'?")]


@pytest.mark.parametrize(("settings", "path", "message"), WRONG)
def test_a_wrong_setting_is_named_with_its_place(settings: dict[str, Any], path: str, message: str) -> None:
    found = violations(**settings)
    assert [one.path for one in found] == [path]
    assert message in found[0].message


def test_what_orders_and_deletes_shapes_the_fold_and_how_files_are_written_does_not() -> None:
    told = {
        name: fold_fingerprint(spec(source=feed(**more), keys=["id"]))
        for name, more in {
            "plain": {},
            "tab": {"delimiter": "\t"},
            "deletes": {"delete_when": "op = 'D'"},
            "ignores": {"ignore_when": "op = 'D'"},
            "ties": {"ties": "order"},
        }.items()
    }
    assert told["plain"] == told["tab"]
    assert len(set(told.values())) == 4


def test_another_condition_for_rows_that_are_no_changes_needs_the_inputs_again() -> None:
    plain, ignoring, other = (
        decode_fingerprints(spec(source=feed(**more), keys=["id"]))["source"]
        for more in ({}, {"ignore_when": "op = 'P'"}, {"ignore_when": "op = 'Q'"})
    )
    assert len({plain, ignoring, other}) == 3


def test_what_a_condition_names_is_looked_at_and_named_with_its_setting() -> None:
    rows = spec(source=feed(ignore_when="kind = 'before' AND NOT b"), keys=["id"]).source.rows
    assert rows is not None
    assert rows.looked_at == ["day", "n", "kind", "b"]
    assert list(rows.named) == [("ignore_when", "kind"), ("ignore_when", "b")]


NUMBER = {"n": "bigint"}
DATED: list[tuple[dict[str, Any], int | None, str | None]] = [
    (NUMBER, None, "Only numbers order its changes."),
    ({}, None, None),
    ({"n": "timestamp(3)"}, None, None),
    (NUMBER, 7, "All its changes are dated before 2000."),
    ({}, YEAR_2000 - 1, "All its changes are dated before 2000."),
    (NUMBER, YEAR_2000, None),
    ({"n": "timestamp(3)"}, 7, None),
]


@pytest.mark.parametrize(("columns", "max_commit_us", "warning"), DATED)
def test_numbers_that_date_changes_are_warned_of_where_they_count_no_time(
    columns: dict[str, Any], max_commit_us: int | None, warning: str | None
) -> None:
    told = spec(source=feed(sequence_by="n"), keys=["id"], columns=columns)
    found = time_warning(told, max_commit_us)
    assert found is None if warning is None else (found or "").startswith(warning)
    for decided in ({"time_by": "t"}, {"time_unit": "microseconds"}):
        other = spec(source=feed(sequence_by="n", **decided), keys=["id"], columns=columns)
        assert time_warning(other, max_commit_us) is None


def test_naming_the_default_unit_changes_nothing_that_is_stored() -> None:
    plain, named = (spec(source=feed(**more), keys=["id"]) for more in ({}, {"time_unit": "microseconds"}))
    assert fold_fingerprint(plain) == fold_fingerprint(named)
    assert decode_fingerprints(plain) == decode_fingerprints(named)


def test_conditions_are_read_as_sql_reads_them() -> None:
    read = parse_predicate("a = 'it''s' OR NOT (b >= -1.5 AND `c d` NOT IN (1, 'x')) or e is not null AND f")
    assert isinstance(read, Some)
    first, second, third = read.parts
    assert first == Compare("a", "=", "it's")
    assert isinstance(second, Not)
    assert isinstance(second.part, All)
    assert isinstance(second.part.parts[1], Not)
    assert isinstance(second.part.parts[1].part, OneOf)
    assert third == All((Not(IsNull("e")), Compare("f", "=", True)))
    assert list(columns_of(read)) == ["a", "b", "c d", "e", "f"]


@pytest.mark.parametrize(
    "text",
    ["", "a =", "= 1", "a = null", "a = 1 b", "(a", "a in ()", "a like 'x'", "upper(a) = 'X'", "a and", "not",
     f"a = {'1' * 256}"],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        parse_predicate(text)

"""Settings of plain rows: valid ones, violations with their places, and texts that are not conditions."""

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


def test_the_settings_of_rows_include_the_types_of_the_sequence() -> None:
    rows = spec(
        source=feed(delete_when="op = 'D'", ignore_nulls=["a"], columns={"except": ["op"]}, ties="upsert"),
        keys=["id"],
        columns={"n": "bigint", "a": "string"},
    ).source.rows
    assert rows is not None
    assert rows.table == "inventory.customers"
    assert rows.sequence_by == (("day", "any"), ("n", "number"))
    assert rows.delete_when == Compare("op", "=", "D")
    assert (rows.ignores_null("a"), rows.ignores_null("b")) == (True, False)
    assert (rows.takes("a"), rows.takes("op")) == (True, False)
    assert rows.columns == TrackSpec("except", ("op",))
    timed = {"day": "timestamp(3)", "n": "timestamp", "t": "timestamp_ntz(6)", "other": "timestamp(9)"}
    digits = spec(source=feed(time_by="t"), keys=["id"], columns=timed).source.rows
    assert digits is not None
    assert digits.digits == (("day", 3), ("t", 6))
    conditional = spec(
        source=feed(delete_when="day > '2024-01-01' AND n = 1 AND t"), keys=["id"], columns={"day": "date"}
    )
    assert conditional.source.rows is not None
    assert conditional.source.rows.kinds == (("day", "time"),)


def test_a_feed_can_be_a_table() -> None:
    table = spec(source={"format": "rows", "table": "raw.feed", "sequence_by": "n"}, keys=["id"]).source
    assert (table.path, table.table) == ("table:raw.feed", "raw.feed")


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"source": source(sequence_by="n")}, "$.source.sequence_by", "is a setting of the format rows"),
    ({"source": source(table="raw.feed")}, "$.source.table", "is for the format rows"),
    ({"source": {"format": "rows", "path": "x"}, "keys": ["id"]}, "$.source.sequence_by", "is required"),
    ({"source": feed()}, "$.keys", "is required"),
    ({"source": feed(table="raw.feed"), "keys": ["id"]}, "$.source.path", "exactly one"),
    ({"source": feed(times="adaptive"), "keys": ["id"]}, "$.source.times", "times is not a setting of rows"),
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
        "is a setting of CSV files, and file_type is another type",
    ),
    (
        {"source": source(format="datastream-json", time_zone="UTC")},
        "$.source.time_zone",
        "time_zone is not a setting of datastream-json",
    ),
    ({"source": source(format="canal-json", epoch=[{"gtid": "a"}])}, "$.source", "canal-json has none"),
    ({"source": source(format="shareplex-json", times="connect")}, "$.source.times", "in one way only"),
]


def test_an_unknown_format_is_the_only_violation_of_its_source() -> None:
    more = {"delete_when": "gone", "ties": "order", "time_unit": "seconds"}
    for feed_source in (feed(format="row", **more), {"format": "row", "table": "raw.feed", "sequence_by": "n"}):
        found = violations(source=feed_source, keys=["id"])
        assert [(one.path, one.hint) for one in found] == [("$.source.format", "did you mean 'rows'?")]


@pytest.mark.parametrize(("settings", "path", "message"), WRONG)
def test_a_wrong_setting_is_named_with_its_place(settings: dict[str, Any], path: str, message: str) -> None:
    found = violations(**settings)
    assert [one.path for one in found] == [path]
    assert message in found[0].message


def test_order_and_deletes_shape_the_fold_and_the_encoding_of_files_does_not() -> None:
    fingerprints = {
        name: fold_fingerprint(spec(source=feed(**more), keys=["id"]))
        for name, more in {
            "plain": {},
            "tab": {"delimiter": "\t"},
            "deletes": {"delete_when": "op = 'D'"},
            "ignores": {"ignore_when": "op = 'D'"},
            "ties": {"ties": "order"},
        }.items()
    }
    assert fingerprints["plain"] == fingerprints["tab"]
    assert len(set(fingerprints.values())) == 4


def test_another_condition_for_ignored_rows_needs_a_reread() -> None:
    plain, ignoring, other = (
        decode_fingerprints(spec(source=feed(**more), keys=["id"]))["source"]
        for more in ({}, {"ignore_when": "op = 'P'"}, {"ignore_when": "op = 'Q'"})
    )
    assert len({plain, ignoring, other}) == 3


def test_the_columns_of_a_condition_are_read_and_named_with_its_setting() -> None:
    rows = spec(source=feed(ignore_when="kind = 'before' AND NOT b"), keys=["id"]).source.rows
    assert rows is not None
    assert rows.looked_at == ["day", "n", "kind", "b"]
    assert list(rows.named) == [("ignore_when", "kind"), ("ignore_when", "b")]


NUMBER = {"n": "bigint"}
DATED: list[tuple[dict[str, Any], int | None, str | None]] = [
    (NUMBER, None, "Only numbers order its changes."),
    ({}, None, None),
    ({"n": "timestamp(3)"}, None, None),
    (NUMBER, 7, "All its changes have a time before 2000."),
    ({}, YEAR_2000 - 1, "All its changes have a time before 2000."),
    (NUMBER, YEAR_2000, None),
    ({"n": "timestamp(3)"}, 7, None),
]


@pytest.mark.parametrize(("columns", "max_commit_us", "warning"), DATED)
def test_numbers_used_as_times_give_a_warning_if_they_do_not_look_like_times(
    columns: dict[str, Any], max_commit_us: int | None, warning: str | None
) -> None:
    numbered = spec(source=feed(sequence_by="n"), keys=["id"], columns=columns)
    found = time_warning(numbered, max_commit_us)
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
def test_a_text_that_is_not_a_condition_is_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        parse_predicate(text)

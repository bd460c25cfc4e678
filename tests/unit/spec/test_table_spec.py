"""Specs as values: the defaults, and every accepted setting."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from siltstone.engine.spec import (
    CHECK_NAMES,
    ChecksSpec,
    ColumnSpec,
    HistorySpec,
    SnapshotSpec,
    SourceSpec,
    TargetSpec,
    TrackSpec,
    fold_fingerprint,
    load_project,
    table_spec,
)
from siltstone.engine.spec.model import QualitySpec, RegistrySpec
from tests.unit.spec.cases import project, source, spec, values, violation


def test_the_smallest_spec_takes_every_default() -> None:
    small = spec()
    assert small.source == SourceSpec("debezium-json", "/project/events/*.jsonl", several="disjoint")
    assert (small.keys, small.columns, small.lateness, small.evolution) == (None, None, None, "additive")
    assert small.target == TargetSpec(
        "inventory.customers", "inventory.customers_history", "silt.inventory_customers_changes", 3
    )
    assert small.history == HistorySpec(TrackSpec("all", ()))
    assert small.snapshot == SnapshotSpec(timedelta(minutes=15), timedelta(seconds=5), timedelta(seconds=10))
    assert small.rejects_max_fraction == 0.01
    assert small.quality.checks == CHECK_NAMES
    assert small.quality.on_failure == "warn"


def test_schemas_come_from_a_registry_or_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "secret")
    declared = {"url": "https://registry:8081", "user": "me", "password": "${env:PASSWORD}"}
    registry = spec(source=source(format="debezium-avro", registry=declared)).source.registry
    assert registry == RegistrySpec("https://registry:8081", "me", "secret")
    assert "secret" not in repr(registry)
    assert spec(source=source(format="debezium-avro", schemas="s.json")).source.schemas == "/project/s.json"
    assert spec(source=source(format="dts-avro")).source.format == "dts-avro"


def test_the_targets_follow_the_last_two_parts_of_the_table() -> None:
    assert spec(table="main.inventory.customers").target == TargetSpec(
        "inventory.customers", "inventory.customers_history", "silt.main_inventory_customers_changes", 3
    )


def test_the_name_of_history_follows_the_name_of_latest() -> None:
    assert spec(target={"latest": "a.b"}).target.history == "a.b_history"


def test_columns_have_a_short_and_a_long_form() -> None:
    columns = spec(
        columns={
            "balance": "decimal(12,2)",
            "ssn": {"type": "string", "mask": "sha256", "salt": "s"},
            "note": {"mask": "drop"},
            "country": {"type": "string", "default": "unknown"},
            "level": {"type": "decimal(5,2)", "default": "1.25"},
        }
    ).columns
    assert columns == {
        "balance": ColumnSpec("decimal(12,2)"),
        "ssn": ColumnSpec("string", "sha256", None, "s"),
        "note": ColumnSpec("string", "drop"),
        "country": ColumnSpec("string", None, "unknown"),
        "level": ColumnSpec("decimal(5,2)", None, "1.25"),
    }


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("all", TrackSpec("all", ())),
        (["a", "b"], TrackSpec("columns", ("a", "b"))),
        ({"except": ["a"]}, TrackSpec("except", ("a",))),
    ],
)
def test_tracked_columns_are_all_or_named_or_all_but_named(written: object, expected: TrackSpec) -> None:
    assert spec(history={"track": written}).history.track == expected


def test_changes_are_kept_forever_or_for_a_duration() -> None:
    assert spec(retain_changes="forever").retain_changes is None
    kept = spec(retain_changes="400d", lateness="2d")
    assert (kept.retain_changes, kept.accepts_within) == (timedelta(days=400), timedelta(days=2))
    assert spec(retain_changes="400d").accepts_within == timedelta(days=400)


def test_lateness_is_unbounded_or_a_duration() -> None:
    assert spec(lateness="unbounded").lateness is None
    assert spec(lateness="2d").lateness == timedelta(days=2)


def test_a_severity_replaces_the_usual_one_of_that_check_only() -> None:
    quality = spec(quality={"checks": ["orphan", "open_window"], "severity": {"orphan": "info"}}).quality
    assert quality == ChecksSpec(("orphan", "open_window"), {"orphan": "info", "open_window": "warn"}, "warn")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+08:00", "-03:30"])
def test_a_time_zone_is_a_name_or_an_offset(zone: str) -> None:
    assert spec(source=source(time_zone=zone)).source.time_zone == zone


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("events", "/project/events"),
        ("../shared/*.gz", "/shared/*.gz"),
        ("/data/e.jsonl", "/data/e.jsonl"),
        ("s3://bucket/x/*.gz", "s3://bucket/x/*.gz"),
        ("file:///x", "file:///x"),
    ],
)
def test_a_relative_path_starts_at_the_root_of_the_project(written: str, expected: str) -> None:
    assert spec(source=source(path=written)).source.path == expected


def test_the_default_names_of_history_can_be_declared() -> None:
    assert spec(history={"names": {"valid_from": "_valid_from"}}) == spec()


def test_columns_of_history_can_have_other_names() -> None:
    renamed = spec(history={"names": {"valid_from": "__START_AT", "valid_to": "__END_AT"}})
    assert renamed.history.renamed == {"_valid_from": "__START_AT", "_valid_to": "__END_AT"}
    assert fold_fingerprint(renamed) != fold_fingerprint(spec())


def test_a_table_can_have_no_key() -> None:
    assert spec(keys=[]).keys == ()


def test_specs_are_frozen_and_equal_by_value() -> None:
    assert spec() == spec()
    with pytest.raises(AttributeError):
        spec().table = "x"  # type: ignore[misc]


def test_a_project_can_name_the_registry_of_sources_that_name_none(tmp_path: Path) -> None:
    (tmp_path / "siltstone.yaml").write_text('registry: {url: "https://registry:8081", token: t}')
    project = load_project(tmp_path)
    known = RegistrySpec("https://registry:8081", token="t")
    kind = {"format": "debezium-avro", "path": "x"}

    def registry(**more: Any) -> RegistrySpec | None:
        return table_spec({"table": "shop.items", "source": kind | more}, project).source.registry

    assert project.registry == known
    assert registry() == known
    assert registry(schemas="s.json") is None
    assert registry(registry={"url": "http://own"}) == RegistrySpec("http://own")
    assert registry(format="dts-avro") is None


def test_fresh_within_of_a_table_overrides_the_projects() -> None:
    of_project = replace(project(), quality=QualitySpec(fresh_within=timedelta(days=2)))
    for settings, expected in (
        ({}, timedelta(days=2)),
        ({"fresh_within": "1h30m"}, timedelta(minutes=90)),
        ({"fresh_within": "any"}, "any"),
    ):
        assert table_spec(values(quality=settings), of_project).quality.fresh_within == expected
    assert spec().quality.fresh_within is None
    assert "no data has an age of 0" in violation(quality={"fresh_within": "0s"}).message
    assert "is not a duration" in violation(quality={"fresh_within": "never"}).message

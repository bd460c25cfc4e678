"""All violations are reported at once, each with its place and the nearest valid word."""

from typing import Any

import pytest

from tests.unit.spec.cases import source, violation, violations

ALL_WAYS = {"url": "http://r", "user": "a", "password": "b", "token": "c"}


def avro(**settings: Any) -> dict[str, Any]:
    return source(format="debezium-avro", **settings)


KAFKA = {"bootstrap": "broker:9092", "topics": "a"}


def topics(**settings: Any) -> dict[str, Any]:
    kafka = {name: value for name, value in (KAFKA | settings).items() if value is not None}
    return {"source": {"format": "debezium-json", "kafka": kafka}}


CASES: list[tuple[dict[str, Any], str, str, str | None]] = [
    ({"table": "customers"}, "$.table", "does not name a schema or a database", "inventory.customers"),
    ({"table": "a..b"}, "$.table", "not a name with dots", None),
    ({"table": "a.b\0"}, "$.table", "not a name with dots", None),
    ({"source": "events"}, "$.source", "must be a mapping, not 'events'", None),
    ({"source": source(epoch={"until": "2026-01-01"})}, "$.source.epoch", "must be a list, not a mapping", None),
    ({"source": {"format": "debezium-json"}}, "$.source.path", "is required", None),
    (topics(bootstrap="broker"), "$.source.kafka.bootstrap", "is not the address of a broker", "broker:9092"),
    (topics(bootstrap="kafka://b:1"), "$.source.kafka.bootstrap", "is not the address of a broker", "broker:9092"),
    (topics(topics=["a", "a"]), "$.source.kafka.topics", "names a topic twice", None),
    (topics(topics="a,b"), "$.source.kafka.topics", "is not a valid topic name", "a list"),
    (topics(pattern="x"), "$.source.kafka", "exactly one of topics and pattern is required", None),
    (topics(topics=None, pattern="a("), "$.source.kafka.pattern", "is not a regular expression", None),
    (topics(starting="latst"), "$.source.kafka.starting", "is not known", "'latest'"),
    (topics(starting={"time": "2026-03-01"}), "$.source.kafka.starting", "has no time zone", None),
    (topics(starting={"offsets": {"0": -1}}), "$.source.kafka.starting", "must be a whole number", None),
    (topics(topics=["a", "b"], starting={"offsets": {"0": 1}}), "$.source.kafka", "those of one topic", "at a time"),
    (topics(max_records=0), "$.source.kafka.max_records", "must be above zero", None),
    (topics(options={"isolation.level": "x"}), "$.source.kafka.options", "siltstone sets isolation.level itself", None),
    (topics(topcs="a"), "$.source.kafka", "the key 'topcs' is not known", "'topics'"),
    ({"source": source(kafka=KAFKA)}, "$.source.path", "exactly one of source.path and source.kafka", None),
    ({"source": {"format": "spanner-avro", "kafka": KAFKA}}, "$.source.kafka", "is for files only", "source.path"),
    (
        {"keys": ["id"], "source": {"format": "rows", "sequence_by": "n", "file_type": "csv", "kafka": KAFKA}},
        "$.source.file_type",
        "is a setting of files",
        None,
    ),
    ({"source": source(path="")}, "$.source.path", "must not be empty", None),
    ({"source": source(format="debezim-json")}, "$.source.format", "is not known", "'debezium-json'"),
    ({"source": source(time_zone="Europe/Berln")}, "$.source.time_zone", "not a time zone", "'Europe/Berlin'"),
    ({"source": source(decimals="presice")}, "$.source.decimals", "is not known", "'precise'"),
    (
        {"source": source(times="nano")},
        "$.source.times",
        "is not known",
        "adaptive, adaptive_time_microseconds, connect",
    ),
    ({"source": source(images="swapped")}, "$.source", "images is a setting of canal-json, not of debezium-json", None),
    (
        {"source": source(format="spanner-json", times="adaptive")},
        "$.source",
        "times is not a setting of spanner-json",
        None,
    ),
    (
        {"source": source(format="canal-json", order="scn")},
        "$.source",
        "order is a setting of debezium-json",
        None,
    ),
    ({"source": source(format="maxwell-json", order="scn")}, "$.source", "order: scn is not for maxwell-json", None),
    ({"source": source(format="goldengate-json", times="connect")}, "$.source", "written in one way only", None),
    ({"table": "t", "source": source(format="canal-json")}, "$.table", "does not name a schema", None),
    ({"sorce": {}}, "$", "the key 'sorce' is not known", "'source'"),
    ({"snapshot": {"gard": "15m"}}, "$.snapshot", "the key 'gard' is not known", "'guard'"),
    ({"keys": "id"}, "$.keys", "must be a list of columns", "[id]"),
    ({"keys": ["id", "ID"]}, "$.keys", "names the column 'ID' twice", None),
    ({"keys": ["_source"]}, "$.keys", "is reserved", None),
    ({"columns": {"_Op": "string"}}, "$.columns._Op", "is reserved", None),
    ({"columns": {"a": "strng"}}, "$.columns.a", "is not a column type", "'string'"),
    ({"columns": {"a": {"typ": "string", "mask": "drop"}}}, "$.columns.a", "the key 'typ' is not known", "'type'"),
    ({"columns": {"a": 5}}, "$.columns.a", "must be a type", None),
    ({"columns": {"a": {"default": 1}}}, "$.columns.a", "has no type", None),
    ({"columns": {"a": {"mask": "sha265"}}}, "$.columns.a.mask", "is not known", "'sha256'"),
    ({"columns": {"a": {"type": "int", "mask": "sha256"}}}, "$.columns.a", "results in a text", "type string"),
    ({"columns": {"a": {"type": "string", "salt": "x"}}}, "$.columns.a", "a salt is for mask sha256 only", None),
    ({"columns": {"a": {"type": "int", "default": "x"}}}, "$.columns.a", "does not fit the type int", None),
    ({"columns": {"a": {"type": "boolean", "default": 1}}}, "$.columns.a", "does not fit", None),
    ({"columns": {"a": {"type": "array<int>", "default": 1}}}, "$.columns.a", "cannot have a default", None),
    *[
        ({"columns": {"a": {"type": t, "default": v}}}, "$.columns.a", f"does not fit the type {t}", None)
        for t, v in (
            ("int", 99999999999),
            ("tinyint", 300),
            ("int unsigned", -1),
            ("bigint unsigned", -1),
            ("decimal(4,2)", 123.45),
            ("decimal(4,2)", 1.234),
            ("decimal(38,0)", 10**38),
            ("float", 1e39),
            ("date", "2020-02-30"),
            ("bit(3)", "1"),
            ("time", "25:00"),
            ("timestamp", "yesterday"),
            ("timestamp_ntz", "2020-01-01T00:00:00Z"),
        )
    ],
    (
        {
            "source": source(time_zone="Europe/Berlin"),
            "columns": {"a": {"type": "timestamp", "default": "0001-01-01"}},
        },
        "$",
        "column 'a': the default '0001-01-01' does not fit",
        None,
    ),
    ({"columns": {"a": "int", "A": "int"}}, "$.columns.A", "only in upper and lower case", None),
    ({"keys": ["a"], "columns": {"a": {"mask": "redact"}}}, "$.columns.a.mask", "cannot be redacted", "sha256"),
    ({"keys": ["a"], "columns": {"a": {"mask": "drop"}}}, "$.columns.a.mask", "cannot be dropped", "sha256"),
    ({"keys": ["a"], "columns": {"a": {"type": "int", "default": 0}}}, "$.columns.a.default", "cannot have", None),
    ({"target": {"latest": "customers"}}, "$.target.latest", "does not name a namespace", None),
    ({"target": {"format_version": 4}}, "$.target.format_version", "must be 2 or 3, not 4", None),
    ({"target": {"history": "inventory.customers"}}, "$.target.history", "is already written", None),
    ({"target": {"latest": "silt.run_lease"}}, "$.target.latest", "siltstone's own ledger", None),
    ({"target": {"changes": "silt.runs"}}, "$.target.changes", "siltstone's own ledger", None),
    ({"target": {"partition": ["bucket(16", "id)"]}}, "$.target.partition", "is incomplete", "put it in quotes"),
    ({"target": {"partition": ["week(at)"]}}, "$.target.partition", "'week' is not known", "bucket, truncate, year"),
    ({"target": {"partition": ["mnth(at)"]}}, "$.target.partition", "is not known", "'month'"),
    ({"target": {"partition": ["bucket(id)"]}}, "$.target.partition", "is not a transform", "bucket(16, id)"),
    ({"target": {"partition": ["bucket(0, id)"]}}, "$.target.partition", "is not a transform", None),
    ({"target": {"partition": ["bucket(9999999999, id)"]}}, "$.target.partition", "is not a transform", None),
    (
        {"target": {"partition": ["month(at)", "day(at)"]}},
        "$.target.partition",
        "has 'month(at)' and 'day(at)'",
        "the finer one",
    ),
    (
        {"target": {"partition": {"history": ["day(_valid_to)"]}}},
        "$.target.partition",
        "already partitioned by months(_valid_to)",
        "leave 'day(_valid_to)' out",
    ),
    ({"target": {"partition": ["month(4, at)"]}}, "$.target.partition", "is not a transform", "month(created_at)"),
    ({"target": {"partition": ["month()"]}}, "$.target.partition", "names no column", None),
    ({"target": {"partition": ["id)"]}}, "$.target.partition", "is not a transform", None),
    ({"target": {"partition": ["id", "id"]}}, "$.target.partition", "names 'id' twice", None),
    ({"target": {"partition": {"lates": ["id"]}}}, "$.target.partition", "must name latest, history or both", None),
    ({"target": {"partition": 5}}, "$.target.partition", "must be a list, not 5", None),
    ({"target": {"sort": ["month(at)"]}}, "$.target.sort", "is not a column to sort by", "created_at desc"),
    ({"target": {"sort": ["id desc", "id"]}}, "$.target.sort", "names 'id' twice", None),
    (
        {"target": {"properties": {"siltstone.batch": "1"}}},
        "$.target.properties['siltstone.batch']",
        "it is siltstone's own",
        None,
    ),
    (
        {"target": {"properties": {"format-version": "2"}}},
        "$.target.properties.format-version",
        "target.format_version sets it",
        None,
    ),
    (
        {"target": {"properties": {"write.distribution-mode": "hash"}}},
        "$.target.properties['write.distribution-mode']",
        "siltstone does not shuffle",
        None,
    ),
    (
        {"target": {"partition": ["a"]}, "columns": {"a": {"type": "string", "mask": "sha256"}}},
        "$.target.partition",
        "the column 'a' is masked",
        None,
    ),
    (
        {"target": {"sort": ["a"]}, "columns": {"a": {"mask": "drop"}}},
        "$.target.sort",
        "the column 'a' is dropped",
        None,
    ),
    (
        {"target": {"partition": ["b"]}, "columns": {"a": {"renamed_from": "B"}}},
        "$.target.partition",
        "'b' is the old name of 'a'",
        "write the new name",
    ),
    ({"columns": {"a": {"renamed_from": "A"}}}, "$.columns.a.renamed_from", "from its own name", None),
    ({"columns": {"a": {"renamed_from": ["b", "B"]}}}, "$.columns.a.renamed_from", "names 'b' twice", None),
    (
        {"columns": {"a": {"renamed_from": "b"}, "b": "int"}},
        "$.columns.a.renamed_from",
        "is another column",
        None,
    ),
    (
        {"keys": ["b"], "columns": {"a": {"renamed_from": "b"}}},
        "$.columns.a.renamed_from",
        "is another column",
        None,
    ),
    (
        {"columns": {"a": {"renamed_from": "c"}, "b": {"renamed_from": "c"}}},
        "$.columns.b.renamed_from",
        "two columns are renamed from 'c'",
        None,
    ),
    (
        {"history": {"track": {"except": ["c"]}}, "columns": {"a": {"renamed_from": "c"}}},
        "$.history.track",
        "'c' is the old name of 'a'",
        "write the new name",
    ),
    (
        {
            "keys": ["id"],
            "source": source(format="rows", sequence_by=["a"]),
            "columns": {"a": {"type": "int", "renamed_from": "c"}},
        },
        "$.source.sequence_by",
        "'a' orders rows",
        "leave renamed_from out",
    ),
    ({"columns": {"a": {"renamed_from": "c", "default": "x"}}}, "$.columns.a", "a default needs a type", None),
    ({"history": {"track": ["_file"]}}, "$.history.track", "is reserved", None),
    ({"history": {"track": []}}, "$.history.track", "names no column", None),
    ({"history": {"names": {"valid_to": "_op"}}}, "$.history.names.valid_to", "is another column of history", None),
    ({"history": {"names": {"valid_to": "_valid_from"}}}, "$.history.names", "gives two columns one name", None),
    ({"history": {"names": {"valid_to": "_file"}}}, "$.history.names.valid_to", "or of Iceberg", None),
    (
        {"history": {"names": {"valid_from": "_valid_to", "valid_to": "_valid_from"}}},
        "$.history.names",
        "renames",
        None,
    ),
    ({"keys": ["a"], "history": {"names": {"valid_to": "A"}}}, "$.history.names.valid_to", "is a column", None),
    ({"history": {"track": {"exept": ["a"]}}}, "$.history.track", "the columns that open a version", "except"),
    ({"snapshot": {"guard": 15}}, "$.snapshot.guard", "15 has no unit", "15s"),
    ({"snapshot": {"guard": "15 min"}}, "$.snapshot.guard", "is not a duration", "15m"),
    ({"lateness": "unbouded"}, "$.lateness", "is not known", "'unbounded'"),
    ({"lateness": "0s"}, "$.lateness", "a bound of 0", None),
    ({"retain_changes": "for ever"}, "$.retain_changes", "is not known", "'forever'"),
    ({"retain_changes": "0s"}, "$.retain_changes", "no change would be kept", None),
    ({"retain_changes": "1d", "lateness": "2d"}, "$", "lateness is longer than retain_changes", None),
    ({"retain_changes": "1d", "keys": []}, "$", "a table without a key needs all changes", "forever"),
    ({"evolution": "aditive"}, "$.evolution", "is not known", "'additive'"),
    ({"rejects": {"max_fraction": 1.5}}, "$.rejects.max_fraction", "from 0 to 1", None),
    ({"quality": {"checks": ["orphans"]}}, "$.quality.checks", "is not known", "'orphan'"),
    ({"quality": {"severity": {"orphn": "warn"}}}, "$.quality.severity.orphn", "is not known", "'orphan'"),
    ({"quality": {"severity": {"orphan": "warning"}}}, "$.quality.severity.orphan", "is not known", "'warn'"),
    ({"quality": {"checks": ["orphan"], "severity": {"sums_close": "info"}}}, "$.quality", "leaves out", None),
    ({"quality": {"on_failure": "blok"}}, "$.quality.on_failure", "is not known", "'block'"),
    ({"source": avro()}, "$.source", "exactly one of", None),
    ({"source": avro(schemas="s.json", registry={"url": "http://r"})}, "$.source", "exactly one of", None),
    ({"source": avro(registry={"url": "registry:8081"})}, "$.source.registry.url", "not an HTTP address", "https://"),
    (
        {"source": avro(registry={"url": "http://a:b@r"})},
        "$.source.registry.url",
        "has a user or a password",
        "under user",
    ),
    ({"source": avro(registry={"url": "http://r", "user": "a"})}, "$.source.registry", "go together", None),
    ({"source": avro(registry=ALL_WAYS)}, "$.source.registry", "has both a user and a token", "leave one"),
    ({"source": avro(schemas="s.json", times="isostring")}, "$.source", "the schemas define it", "leave times out"),
    ({"source": source(schemas="s.json")}, "$.source", "schemas is a setting of debezium-avro", "leave"),
    ({"source": source(format="dts-avro", decimals="string")}, "$.source", "written in one way only", "leave"),
    ({"source": source(format="canal-json", several="shards")}, "$.source", "that name their source", "its own tables"),
    ({"source": source(format="dts-avro", several="disjoint")}, "$.source", "that name their source", "leave it out"),
]


def test_a_violation_of_an_address_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY", "http://me:secret@registry")
    assert "secret" not in str(violation(source=avro(registry={"url": "${env:REGISTRY}"})))


@pytest.mark.parametrize(("settings", "path", "message", "hint"), CASES)
def test_a_wrong_setting_is_named_with_its_place(
    settings: dict[str, Any], path: str, message: str, hint: str | None
) -> None:
    found = violation(**settings)
    assert found.path.startswith(path)
    assert message in found.message
    assert hint is None or hint in (found.hint or "")


def test_violations_of_all_sections_are_reported_together() -> None:
    found = violations(
        source=source(format="x", time_zone="y"),
        keys=["a", "a"],
        columns={"a": "strng", "b": {"type": "nope", "mask": "no"}},
        lateness=5,
        unknown=1,
    )
    assert len(found) == 8


def test_sections_are_checked_against_each_other_even_if_single_values_are_wrong() -> None:
    found = violations(keys=["a"], columns={"a": {"mask": "drop"}}, evolution="x", history={"track": ["a"]})
    assert {one.path for one in found} == {"$.columns.a.mask", "$.evolution", "$.history.track[0]"}


def test_each_column_that_is_renamed_in_a_circle_is_named() -> None:
    swap = violations(columns={"a": {"renamed_from": "b"}, "b": {"renamed_from": "a"}})
    assert [(one.path, "are renamed from each other" in one.message) for one in swap] == [
        ("$.columns.a.renamed_from", True),
        ("$.columns.b.renamed_from", True),
    ]
    circle = {"a": {"renamed_from": "b"}, "b": {"renamed_from": "c"}, "c": {"renamed_from": "a"}}
    assert all("is another column" in one.message for one in violations(columns=circle))

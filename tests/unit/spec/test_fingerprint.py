"""Fingerprints change with the settings that they cover, and with no other setting."""

from typing import Any

import pytest

from siltstone.engine.spec import decode_fingerprints, fold_fingerprint
from tests.unit.spec.cases import source, spec

BASE: dict[str, Any] = {"keys": ["id"], "columns": {"id": "int", "a": "timestamp"}}

SHAPES_THE_FOLD: list[dict[str, Any]] = [
    {"keys": ["id", "a"]},
    {"columns": {"id": "bigint", "a": "timestamp"}},
    {"columns": {"id": "int", "a": "timestamp(3)"}},
    {"columns": {"id": "int", "a": {"type": "timestamp", "default": "2020-01-01 00:00:00"}}},
    {"history": {"track": ["a"]}},
    {"history": {"track": {"except": ["a"]}}},
    {"snapshot": {"guard": "16m"}},
    {"snapshot": {"skew": "6s"}},
    {"snapshot": {"margin": "11s"}},
    {"lateness": "1d"},
]
DOES_NOT: list[dict[str, Any]] = [
    {"source": source(path="elsewhere")},
    {"target": {"latest": "other.name"}},
    {"target": {"partition": ["id"], "sort": ["a"], "properties": {"team": "shop"}}},
    {"comment": "x", "columns": {"id": "int", "a": {"type": "timestamp", "comment": "y"}, "b": {"comment": "z"}}},
    {"keys": ["key"], "columns": {"key": {"type": "int", "renamed_from": "id"}, "a": "timestamp"}},
    {"columns": {"id": "int", "at": {"type": "timestamp", "renamed_from": ["a", "b"]}}},
    {"evolution": "strict"},
    {"rejects": {"max_fraction": 0.5}},
    {"quality": {"checks": ["orphan"]}},
    {"snapshot": {"guard": "900s"}},
    {"columns": {"id": "INTEGER", "a": "timestamp"}},
    {"columns": {"a": "timestamp", "id": "int"}},
]
DECODED_DIFFERENTLY: list[tuple[dict[str, Any], set[str]]] = [
    ({"source": source(time_zone="Europe/Berlin")}, {"source"}),
    ({"source": source(decimals="string")}, {"source"}),
    ({"columns": {"id": "int", "a": "timestamp(3)"}}, {"column a"}),
    ({"columns": {"id": "string", "a": "timestamp"}}, {"column id"}),
    ({"columns": {"id": "bigint", "a": "timestamp"}}, set()),  # the stored type becomes wider
    ({"columns": {"id": "int", "a": {"type": "timestamp", "default": "2020-01-01 00:00:00"}}}, set()),
    ({"source": source(path="elsewhere")}, set()),
    ({"columns": {"id": "int", "at": {"type": "timestamp", "renamed_from": "a"}}}, set()),
    ({"columns": {"id": "int", "at": {"type": "timestamp(3)", "renamed_from": "a"}}}, {"column a"}),
]


@pytest.mark.parametrize("change", SHAPES_THE_FOLD)
def test_a_setting_that_shapes_the_fold_changes_its_fingerprint(change: dict[str, Any]) -> None:
    assert fold_fingerprint(spec(**BASE)) != fold_fingerprint(spec(**{**BASE, **change}))


@pytest.mark.parametrize("change", DOES_NOT)
def test_a_setting_that_does_not_shape_the_fold_leaves_its_fingerprint(change: dict[str, Any]) -> None:
    assert fold_fingerprint(spec(**BASE)) == fold_fingerprint(spec(**{**BASE, **change}))


@pytest.mark.parametrize(("change", "differ"), DECODED_DIFFERENTLY)
def test_the_decoding_of_events_has_separate_fingerprints(change: dict[str, Any], differ: set[str]) -> None:
    one, other = decode_fingerprints(spec(**BASE)), decode_fingerprints(spec(**{**BASE, **change}))
    assert {name for name in one if one[name] != other[name]} == differ


def test_a_new_epoch_at_the_end_leaves_the_fingerprints_of_earlier_epochs() -> None:
    ended, restored = {"until": "2026-03-01T04:00:00Z"}, {"path": "restored/*.jsonl"}

    def fingerprint(*epochs: dict[str, str]) -> str:
        return decode_fingerprints(spec(source=source(epoch=list(epochs))))["epochs"]

    assert fingerprint(ended, restored).startswith(fingerprint(ended))
    assert fingerprint(ended).startswith(fingerprint())
    assert not fingerprint(restored, ended).startswith(fingerprint(ended))


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    assert fold_fingerprint(spec()) == "17fb3a8a543b71f103133a7c1f7e66a5"

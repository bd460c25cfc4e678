"""References to the environment and to the project. Values of the environment are never shown."""

import copy
import pickle
from pathlib import Path

import pytest

from siltstone.engine.errors import SpecError
from siltstone.engine.spec import load_project
from siltstone.engine.spec.interpolation import FromEnvironment, Interpolation
from tests.unit.spec.cases import source, spec, violation

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", SECRET)
    monkeypatch.setenv("VERSION", "2")
    monkeypatch.delenv("ABSENT", raising=False)


def test_references_are_filled_in_anywhere_in_a_text() -> None:
    filling = Interpolation(Path("/p"), {"A": "1"})
    assert filling.fill({"x": ["${project}/a-${env:A}", "$${env:A}", 5]}) == {"x": ["/p/a-1", "${env:A}", 5]}
    assert filling.problems == []


def test_a_variable_that_is_not_set_is_a_violation() -> None:
    found = violation(evolution="${env:ABSENT}")
    assert (found.path, found.message) == ("$.evolution", "the environment variable ABSENT is not set")


def test_a_reference_that_is_not_known_gets_the_nearest() -> None:
    assert violation(source=source(path="${projet}/x")).hint == "did you mean ${project}?"


def test_numbers_and_words_may_come_from_the_environment() -> None:
    assert spec(target={"format_version": "${env:VERSION}"}).target.format_version == 2


def test_a_value_of_the_environment_is_used_and_never_shown() -> None:
    made = spec(
        source=source(path="s3://${env:SECRET}/x"),
        columns={"a": {"mask": "sha256", "salt": "${env:SECRET}"}},
        target={"latest": "a.${env:SECRET}"},
    )
    assert made.columns is not None
    assert made.columns["a"].salt == SECRET
    assert made.source.path == f"s3://{SECRET}/x"
    assert SECRET not in repr(made)


@pytest.mark.parametrize(
    "settings",
    [
        {"evolution": "${env:SECRET}"},
        {"lateness": "${env:SECRET}"},
        {"keys": ["_${env:SECRET}", "_${env:SECRET}"]},
        {"columns": {"a": "${env:SECRET}"}},
        {"columns": {"a": "array<int> ${env:SECRET}"}},
        {"columns": {"a": {"type": "int", "default": "${env:SECRET}"}}},
        {"source": "${env:SECRET}"},
        {"source": source(time_zone="${env:SECRET}", decimals="${env:SECRET}", format="${env:SECRET}")},
        {"rejects": {"max_fraction": "${env:SECRET}"}, "target": {"format_version": "${env:SECRET}"}},
        {"quality": {"checks": ["${env:SECRET}"], "on_failure": "${env:SECRET}"}},
        {"history": {"track": "${env:SECRET}"}},
        {"target": {"latest": "a.${env:SECRET}", "history": "a.${env:SECRET}"}},
        {"table": "${env:SECRET}"},
    ],
)
def test_no_message_shows_a_value_of_the_environment(settings: dict[str, object]) -> None:
    with pytest.raises(SpecError) as caught:
        spec(**settings)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)


def test_a_project_file_keeps_its_secrets(tmp_path: Path) -> None:
    (tmp_path / "siltstone.yaml").write_text(
        "catalog:\n  type: rest\n  uri: https://u:${env:SECRET}@host\n  properties: {token: '${env:SECRET}'}\n"
        "spark: {conf: {spark.password: '${env:SECRET}', spark.plain: true}}\n",
        encoding="utf-8",
    )
    project = load_project(start=tmp_path)
    assert project.catalog.properties == {"token": SECRET}
    assert project.spark.conf == {"spark.password": SECRET, "spark.plain": "true"}
    assert SECRET not in repr(project)


def test_a_secret_stays_one_through_copies() -> None:
    secret = FromEnvironment(SECRET, "${env:SECRET}")
    for copied in (copy.deepcopy(secret), pickle.loads(pickle.dumps(secret))):
        assert copied == SECRET
        assert repr(copied) == "'${env:SECRET}'"

"""The JSON Schemas for editors, and the examples in specs/."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from siltstone.engine.spec import load_project, load_specs, project_json_schema, spec_json_schema
from siltstone.engine.spec.editors import schema_text
from siltstone.engine.spec.yaml_document import read_document
from tests.unit.spec.cases import source, values

SPECS = Path(__file__).parents[3] / "specs"
EXAMPLES = sorted(SPECS.glob("*.yaml"))


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(spec_json_schema())


@pytest.mark.parametrize(
    ("name", "schema"), [("spec", spec_json_schema()), ("project", project_json_schema())], ids=["spec", "project"]
)
def test_the_schemas_in_specs_are_the_ones_generated(name: str, schema: dict[str, Any]) -> None:
    stored = (SPECS / f"{name}.schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(schema), f"run `siltstone schema {name} > specs/{name}.schema.json`"


@pytest.mark.parametrize("schema", [spec_json_schema(), project_json_schema()], ids=["spec", "project"])
def test_a_schema_is_valid_and_every_key_but_sections_has_a_description(schema: dict[str, Any]) -> None:
    assert schema["$id"].startswith("urn:siltstone:")
    jsonschema.Draft202012Validator.check_schema(schema)
    described = {**schema["properties"]}
    for section in schema["$defs"].values():
        assert section["description"]
        described |= section["properties"]
    assert [key for key, value in described.items() if "description" not in value and "$ref" not in value] == []


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_editors_accept_every_example(file: Path) -> None:
    validator().validate(read_document(file).value)


def test_every_example_loads_and_its_events_are_there() -> None:
    specs = load_specs([SPECS], load_project(start=SPECS.parent))
    assert len(specs) == len(EXAMPLES) > 0
    for spec in specs:
        assert Path(spec.source.path).is_file()


@pytest.mark.parametrize(
    "settings",
    [
        {"evolution": "${env:X}", "snapshot": {"guard": "${env:X}"}},
        {"columns": {"a": "string", "b": {"mask": "drop"}}, "history": {"track": {"except": ["a"]}}},
        {"keys": ["_id"], "columns": {"_id": "string", "_a": "int"}, "history": {"track": ["_a"]}},
        {"lateness": "2d", "quality": {"checks": ["orphan"], "severity": {"orphan": "warn"}}},
    ],
)
def test_editors_accept_what_the_engine_accepts(settings: dict[str, Any]) -> None:
    validator().validate(values(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"unknown": 1},
        {"source": source(format="nope")},
        {"keys": [""]},
        {"columns": {"a": {"default": 1}}},
        {"columns": {"_op": "string"}},
        {"keys": ["_file"]},
        {"snapshot": {"guard": 15}},
        {"lateness": "soon"},
        {"rejects": {"max_fraction": 2}},
        {"compacted": "maybe"},
        {"history": {"names": {"valid_form": "x"}}},
    ],
)
def test_editors_mark_what_the_engine_refuses(settings: dict[str, Any]) -> None:
    assert not validator().is_valid(values(**settings))

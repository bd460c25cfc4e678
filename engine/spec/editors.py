"""The JSON Schemas of a table spec and of the project file. Editors use them to complete and check keys."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import BaseModel

from siltstone.engine.spec.project_config import ProjectConfig
from siltstone.engine.spec.table_config import TableConfig

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
SPEC_SCHEMA: Final = "spec.schema.json"
PROJECT_SCHEMA: Final = "project.schema.json"
"""The files to which `siltstone init` writes the schemas."""


def spec_json_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of one table spec, with a description for every key."""
    return _schema(TableConfig, "urn:siltstone:spec", "siltstone table spec")


def project_json_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of the project file, with a description for every key."""
    return _schema(ProjectConfig, "urn:siltstone:project", "siltstone project file")


def schema_text(schema: dict[str, Any]) -> str:
    """The text of a schema's file."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def schema_line(path: str) -> str:
    """The comment that names the schema of a YAML file for editors. `path`: of the schema, relative to the file."""
    return f"# yaml-language-server: $schema={path}"


def _schema(model: type[BaseModel], identifier: str, title: str) -> dict[str, Any]:
    head = {"$schema": DRAFT, "$id": identifier, "title": title}
    schema = model.model_json_schema(mode="validation")
    return head | {key: value for key, value in schema.items() if key not in head}

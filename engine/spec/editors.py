"""The JSON Schema of a table spec, from which editors complete and check."""

from __future__ import annotations

from typing import Any

from siltstone.engine.spec.config_models import TableConfig


def spec_json_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of one table spec, with a description for every key."""
    schema = TableConfig.model_json_schema(mode="validation")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "siltstone table spec"}
    return head | {key: value for key, value in schema.items() if key not in head}

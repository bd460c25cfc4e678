"""Small specs and projects to vary in tests."""

from pathlib import Path
from typing import Any

import pytest

from siltstone.engine.errors import SpecError, Violation
from siltstone.engine.spec import ProjectSpec, TableSpec, load_project, table_spec


def project(root: Path = Path("/project")) -> ProjectSpec:
    """A project without a file."""
    return load_project(start=root)


def spec(**settings: Any) -> TableSpec:
    """The smallest spec with these settings on top."""
    return table_spec(values(**settings), project())


def values(**settings: Any) -> dict[str, Any]:
    """The smallest spec as plain values."""
    return {"table": "inventory.customers", "source": source(), **settings}


def source(**settings: Any) -> dict[str, Any]:
    return {"format": "debezium-json", "path": "events/*.jsonl", **settings}


def violations(**settings: Any) -> list[Violation]:
    """The violations of the smallest spec with these settings."""
    with pytest.raises(SpecError) as caught:
        spec(**settings)
    return caught.value.violations


def violation(**settings: Any) -> Violation:
    """The only violation."""
    found = violations(**settings)
    assert len(found) == 1, [str(one) for one in found]
    return found[0]

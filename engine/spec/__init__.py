"""The spec: a project file and table specs in YAML, read into frozen values with every violation at once.

Names are loaded when they are first used: a task of Spark needs the values, not what reads YAML.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from engine.spec.checks import CHECK_NAMES
    from engine.spec.columns import ColumnType, SourceEncoding, parse_column_type
    from engine.spec.editors import spec_json_schema
    from engine.spec.fingerprint import decode_fingerprints, fold_fingerprint
    from engine.spec.load import load_project, load_spec, load_specs, registry_spec, table_spec, with_tables
    from engine.spec.model import (
        CatalogSpec,
        ChecksSpec,
        ColumnSpec,
        HistorySpec,
        ProjectSpec,
        QualitySpec,
        SnapshotSpec,
        SourceSpec,
        SparkSpec,
        TableSpec,
        TargetSpec,
        TrackSpec,
    )

_HOME: Final = {
    "CHECK_NAMES": "engine.spec.checks",
    "CatalogSpec": "engine.spec.model",
    "ChecksSpec": "engine.spec.model",
    "ColumnSpec": "engine.spec.model",
    "ColumnType": "engine.spec.columns",
    "HistorySpec": "engine.spec.model",
    "ProjectSpec": "engine.spec.model",
    "QualitySpec": "engine.spec.model",
    "SnapshotSpec": "engine.spec.model",
    "SourceEncoding": "engine.spec.columns",
    "SourceSpec": "engine.spec.model",
    "SparkSpec": "engine.spec.model",
    "TableSpec": "engine.spec.model",
    "TargetSpec": "engine.spec.model",
    "TrackSpec": "engine.spec.model",
    "decode_fingerprints": "engine.spec.fingerprint",
    "fold_fingerprint": "engine.spec.fingerprint",
    "load_project": "engine.spec.load",
    "load_spec": "engine.spec.load",
    "load_specs": "engine.spec.load",
    "parse_column_type": "engine.spec.columns",
    "registry_spec": "engine.spec.load",
    "spec_json_schema": "engine.spec.editors",
    "table_spec": "engine.spec.load",
    "with_tables": "engine.spec.load",
}

__all__ = [
    "load_project",
    "load_spec",
    "load_specs",
    "with_tables",
    "table_spec",
    "registry_spec",
    "spec_json_schema",
    "fold_fingerprint",
    "decode_fingerprints",
    "parse_column_type",
    "CHECK_NAMES",
    "ColumnType",
    "SourceEncoding",
    "CatalogSpec",
    "ChecksSpec",
    "ColumnSpec",
    "HistorySpec",
    "ProjectSpec",
    "QualitySpec",
    "SnapshotSpec",
    "SourceSpec",
    "SparkSpec",
    "TableSpec",
    "TargetSpec",
    "TrackSpec",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'engine.spec' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

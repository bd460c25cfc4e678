"""The spec: a project file and table specs in YAML, read into frozen values with every violation at once.

Names are imported on first use, because Spark tasks need the values but not the YAML reader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from siltstone.engine.spec.check_names import CHECK_NAMES
    from siltstone.engine.spec.columns import ColumnType, SourceEncoding, parse_column_type
    from siltstone.engine.spec.editors import spec_json_schema
    from siltstone.engine.spec.fingerprint import decode_fingerprints, fold_fingerprint
    from siltstone.engine.spec.load import load_project, load_spec, load_specs, registry_spec, table_spec, with_tables
    from siltstone.engine.spec.model import (
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
    "CHECK_NAMES": "siltstone.engine.spec.check_names",
    "CatalogSpec": "siltstone.engine.spec.model",
    "ChecksSpec": "siltstone.engine.spec.model",
    "ColumnSpec": "siltstone.engine.spec.model",
    "ColumnType": "siltstone.engine.spec.columns",
    "HistorySpec": "siltstone.engine.spec.model",
    "ProjectSpec": "siltstone.engine.spec.model",
    "QualitySpec": "siltstone.engine.spec.model",
    "SnapshotSpec": "siltstone.engine.spec.model",
    "SourceEncoding": "siltstone.engine.spec.columns",
    "SourceSpec": "siltstone.engine.spec.model",
    "SparkSpec": "siltstone.engine.spec.model",
    "TableSpec": "siltstone.engine.spec.model",
    "TargetSpec": "siltstone.engine.spec.model",
    "TrackSpec": "siltstone.engine.spec.model",
    "decode_fingerprints": "siltstone.engine.spec.fingerprint",
    "fold_fingerprint": "siltstone.engine.spec.fingerprint",
    "load_project": "siltstone.engine.spec.load",
    "load_spec": "siltstone.engine.spec.load",
    "load_specs": "siltstone.engine.spec.load",
    "parse_column_type": "siltstone.engine.spec.columns",
    "project_json_schema": "siltstone.engine.spec.editors",
    "registry_spec": "siltstone.engine.spec.load",
    "spec_json_schema": "siltstone.engine.spec.editors",
    "table_spec": "siltstone.engine.spec.load",
    "with_tables": "siltstone.engine.spec.load",
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

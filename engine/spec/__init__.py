"""The spec: a project file and table specs in YAML, read into frozen values with every violation at once."""

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

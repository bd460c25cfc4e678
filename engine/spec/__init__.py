"""The spec: a project file and table specs in YAML, read into frozen values with every violation at once."""

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

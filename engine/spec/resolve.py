"""From the spec as written to the values the engine works with: defaults filled in, paths made absolute."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from siltstone.engine.errors import SpecError
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.names import IS_CURRENT, TOPICS, VALID_FROM, VALID_TO
from siltstone.engine.spec.check_names import CHECK_SEVERITY, COMPACTED
from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.config_models import (
    ColumnConfig,
    HistoryNamesConfig,
    KafkaConfig,
    ProjectConfig,
    RegistryConfig,
    SourceConfig,
    TableConfig,
    TableQualityConfig,
    TargetConfig,
)
from siltstone.engine.spec.defaults import masked_default, stored_default
from siltstone.engine.spec.interpolation import FromEnvironment, like
from siltstone.engine.spec.layouts import TableLayout
from siltstone.engine.spec.model import (
    CatalogSpec,
    ChecksSpec,
    ColumnSpec,
    EpochSpec,
    HistorySpec,
    KafkaSpec,
    MaintenanceSpec,
    ProjectSpec,
    QualitySpec,
    RegistrySpec,
    SnapshotSpec,
    SourceSpec,
    SparkSpec,
    TableSpec,
    TargetSpec,
)
from siltstone.engine.spec.rows_format import RowsSpec, condition_columns, second_digits, sequence_kind
from siltstone.engine.storage import StoreSettings, completed, environment_settings, is_remote, of_stores, scheme_of


def project_values(face: ProjectConfig, root: Path, file: Path | None) -> ProjectSpec:
    """The project, with the embedded catalog under its root where no other is said."""
    return ProjectSpec(
        root=root,
        file=file,
        catalog=_catalog(face, root),
        namespace=face.namespace,
        spark=SparkSpec(face.spark.master, dict(face.spark.conf)),
        quality=QualitySpec(face.quality.on_failure, face.quality.fresh_within),
        registry=None if face.registry is None else registry_values(face.registry),
        maintenance=MaintenanceSpec(**face.maintenance.model_dump()),
        store=tuple(completed(_store(face.store)).items()),
        report=None if face.report is None else address_in(face.report, root),
    )


def _store(said: Mapping[str, str]) -> dict[str, str]:
    """The settings of stores: as they are said, else as the environment has them."""
    found = environment_settings(os.environ, said)
    return {name: FromEnvironment(value, "(environment)") for name, value in found.items()} | dict(said)


def address_in(text: str, root: Path) -> str:
    """A path in a project, absolute, or a URI as it is."""
    return text if scheme_of(text) else like(text, os.path.normpath(root / text))


def _addressable(root: Path) -> Path:
    """A folder whose tables can be found by their addresses.

    Raises: SpecError: its name has a sign that ends the path in an address.
    """
    if set("#?") & set(str(root)):
        raise SpecError(
            f"Cannot keep tables in {root}: in the address of a file a # or ? is no longer its path.",
            "rename the folder, or name another warehouse under catalog in siltstone.yaml",
        )
    return root


def _catalog(face: ProjectConfig, root: Path) -> CatalogSpec:
    uri, warehouse = face.catalog.uri, face.catalog.warehouse
    if face.catalog.type == "jdbc":
        uri = uri or f"jdbc:sqlite:{root}/lake/catalog.db"
        warehouse = warehouse or f"file://{_addressable(root)}/lake/warehouse"
    said = dict(face.catalog.properties)
    is_elsewhere = is_remote(warehouse or "") or face.catalog.type in ("rest", "glue")
    properties = completed(_store({**face.store, **said})) if is_elsewhere else said
    return CatalogSpec(face.catalog.name, face.catalog.type, uri, warehouse, properties)


def table_values(face: TableConfig, project: ProjectSpec, file: Path | None) -> TableSpec:
    """One table's spec."""
    return TableSpec(
        file=file,
        table=face.table,
        source=_source(face, project),
        keys=face.keys,
        columns=_columns(face),
        target=target_values(face.target, face.table, project.namespace),
        history=HistorySpec(face.history.track, _renamed(face.history.names), face.history.recorded),
        snapshot=SnapshotSpec(face.snapshot.guard, face.snapshot.skew, face.snapshot.margin),
        lateness=face.lateness,
        evolution=face.evolution,
        rejects_max_fraction=face.rejects.max_fraction,
        quality=_checks(face.quality, project.quality, face.compacted),
        compacted=face.compacted,
        renames={name: column.renamed_from for name, column in (face.columns or {}).items() if column.renamed_from},
        comment=face.comment,
        retain_changes=face.retain_changes,
        comments={name: column.comment for name, column in (face.columns or {}).items() if column.comment is not None},
    )


def _source(table: TableConfig, project: ProjectSpec) -> SourceSpec:
    face, root = table.source, project.root
    if face.path is not None:
        path = address_in(face.path, root)
    else:
        path = f"table:{face.table}" if face.kafka is None else topics_path(face.kafka)
    return SourceSpec(
        face.format,
        path,
        face.time_zone,
        face.decimals,
        face.binaries,
        face.times,
        face.table,
        _rows(face, table) if face.format == ROWS else None,
        face.images,
        face.order,
        tuple(EpochSpec(epoch.server_id, epoch.gtid, epoch.path, epoch.until) for epoch in face.epoch),
        face.several or format_of(face.format).several,
        _registry(face, project),
        None if face.schemas is None else like(face.schemas, os.path.normpath(root / face.schemas)),
        nulls=face.nulls,
        metadata_prefix=face.metadata_prefix,
        kafka=None if face.kafka is None else kafka_values(face.kafka),
        store=_store_of(path, face.table is not None, project),
    )


def kafka_values(face: KafkaConfig) -> KafkaSpec:
    """Topics of a cluster."""
    return KafkaSpec(
        face.bootstrap,
        face.topics or (),
        face.pattern,
        face.starting,
        face.group,
        face.max_records,
        tuple(sorted(face.options.items())),
    )


def topics_path(face: KafkaConfig) -> str:
    """The name of a source of topics: the same whatever the brokers and the settings are. The name of one topic begins
    the paths of its partitions; a pattern can begin as any does."""
    if face.topics is None:
        return f"{TOPICS}?{face.pattern}"
    return f"{TOPICS}{face.topics[0]}/*" if len(face.topics) == 1 else f"{TOPICS}{{{','.join(face.topics)}}}/*"


def _store_of(path: str, is_table: bool, project: ProjectSpec) -> StoreSettings:
    """The settings that reach a source's files: a table's lie where those of all tables do."""
    if is_table:
        return of_stores(project.catalog.properties)
    return project.store if is_remote(path) and not path.startswith(TOPICS) else ()


def _registry(face: SourceConfig, project: ProjectSpec) -> RegistrySpec | None:
    """The source's own, else the project's, where schemas are needed and nothing says where they are."""
    if face.registry is not None:
        return registry_values(face.registry)
    return project.registry if format_of(face.format).needs_schemas and face.schemas is None else None


def registry_values(face: RegistryConfig) -> RegistrySpec:
    """A schema registry."""
    return RegistrySpec(face.url, face.user, face.password, face.token)


def _rows(face: SourceConfig, table: TableConfig) -> RowsSpec:
    declared = {name: column.type for name, column in (table.typed or {}).items()}
    conditions = condition_columns(face.delete_when, face.truncate_when, face.ignore_when, face.snapshot_when)
    places = dict.fromkeys([*(face.sequence_by or ()), *([face.time_by] if face.time_by else []), *conditions])
    digits = {name: second_digits(declared[name]) for name in places if name in declared}
    return RowsSpec(
        table=table.table,
        sequence_by=tuple((name, sequence_kind(name, declared.get(name))) for name in face.sequence_by or ()),
        delete_when=face.delete_when,
        truncate_when=face.truncate_when,
        ignore_when=face.ignore_when,
        ignore_nulls=face.ignore_nulls,
        columns=face.columns,
        ties=face.ties,
        time_by=face.time_by,
        time_unit=face.time_unit,
        file_type=face.file_type,
        delimiter=face.delimiter,
        snapshot_when=face.snapshot_when,
        header=face.header,
        null_value=face.null_value,
        digits=tuple((name, number) for name, number in digits.items() if number is not None),
        kinds=tuple((name, sequence_kind(name, declared[name])) for name in conditions if name in declared),
        has_time_unit="time_unit" in face.model_fields_set,
    )


def _columns(table: TableConfig) -> dict[str, ColumnSpec] | None:
    if table.typed is None:
        return None
    return {name: _column(column, table.source.time_zone) for name, column in table.typed.items()}


def _column(face: ColumnConfig, time_zone: str) -> ColumnSpec:
    default = stored_default(face.default, parse_column_type(face.type), time_zone)
    return ColumnSpec(face.type, face.mask, masked_default(default, face.mask, face.salt), face.salt)


def target_values(face: TargetConfig, table: str, namespace: str) -> TargetSpec:
    """The tables that are written: as the section says, else by their default names."""
    named = ".".join(table.split(".")[-2:])
    latest = face.latest or (named if "." in named else like(table, f"{namespace}.{named}"))
    history = face.history or like(latest, f"{latest}_history")
    changes = face.changes or like(table, f"{namespace}.{table.replace('.', '_')}_changes")
    layouts = [TableLayout(*both) for both in zip(face.partition, face.sort, strict=True)]
    return TargetSpec(latest, history, changes, face.format_version, layouts[0], layouts[1], dict(face.properties))


def _renamed(face: HistoryNamesConfig) -> tuple[tuple[str, str], ...]:
    said = ((VALID_FROM, face.valid_from), (VALID_TO, face.valid_to), (IS_CURRENT, face.is_current))
    return tuple((name, to) for name, to in said if name != to)


def _checks(face: TableQualityConfig, project: QualitySpec, compacted: bool) -> ChecksSpec:
    usual = CHECK_SEVERITY | (COMPACTED if compacted else {})
    severity = {name: face.severity.get(name, usual[name]) for name in face.checks}
    return ChecksSpec(
        checks=face.checks,
        severity=severity,
        on_failure=face.on_failure or project.on_failure,
        grace=face.grace,
        expectations=face.expectations,
        fresh_within=face.fresh_within if face.fresh_within is not None else project.fresh_within,
    )

"""From the spec as written to the values that the engine uses: defaults filled in, paths made absolute."""

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
from siltstone.engine.spec.project_config import ProjectConfig
from siltstone.engine.spec.rows_format import RowsSpec, condition_columns, second_digits, sequence_kind
from siltstone.engine.spec.source_config import KafkaConfig, RegistryConfig, SourceConfig
from siltstone.engine.spec.table_config import (
    ColumnConfig,
    HistoryNamesConfig,
    TableConfig,
    TableQualityConfig,
    TargetConfig,
)
from siltstone.engine.storage import StoreSettings, completed, environment_settings, is_remote, of_stores, scheme_of


def project_values(config: ProjectConfig, root: Path, file: Path | None) -> ProjectSpec:
    """The project. Its default catalog is an embedded one under its root."""
    return ProjectSpec(
        root=root,
        file=file,
        catalog=_catalog(config, root),
        namespace=config.namespace,
        spark=SparkSpec(config.spark.master, dict(config.spark.conf)),
        quality=QualitySpec(**config.quality.model_dump()),
        registry=None if config.registry is None else registry_values(config.registry),
        maintenance=MaintenanceSpec(**config.maintenance.model_dump()),
        store=tuple(completed(_store(config.store)).items()),
        report=None if config.report is None else address_in(config.report, root),
    )


def _store(declared: Mapping[str, str]) -> dict[str, str]:
    """The settings of object stores: the declared ones, else those of the environment."""
    found = environment_settings(os.environ, declared)
    return {name: FromEnvironment(value, "(environment)") for name, value in found.items()} | dict(declared)


def address_in(text: str, root: Path) -> str:
    """A path of a project as an absolute path, or a URI unchanged."""
    return text if scheme_of(text) else like(text, os.path.normpath(root / text))


def _addressable(root: Path) -> Path:
    """A folder that a file: address can name.

    Raises: SpecError: its name has a character that ends the path of an address.
    """
    if set("#?") & set(str(root)):
        raise SpecError(
            f"Cannot keep tables in {root}: a # or ? ends the path in a file address.",
            "rename the folder, or set catalog.warehouse in siltstone.yaml",
        )
    return root


def _catalog(config: ProjectConfig, root: Path) -> CatalogSpec:
    uri, warehouse = config.catalog.uri, config.catalog.warehouse
    if config.catalog.type == "jdbc":
        uri = uri or f"jdbc:sqlite:{root}/lake/catalog.db"
        warehouse = warehouse or f"file://{_addressable(root)}/lake/warehouse"
    declared = dict(config.catalog.properties)
    is_elsewhere = is_remote(warehouse or "") or config.catalog.type in ("rest", "glue")
    properties = completed(_store({**config.store, **declared})) if is_elsewhere else declared
    return CatalogSpec(config.catalog.name, config.catalog.type, uri, warehouse, properties)


def table_values(config: TableConfig, project: ProjectSpec, file: Path | None) -> TableSpec:
    """One table's spec."""
    return TableSpec(
        file=file,
        table=config.table,
        source=_source(config, project),
        keys=config.keys,
        columns=_columns(config),
        target=target_values(config.target, config.table, project.namespace),
        history=HistorySpec(config.history.track, _renamed(config.history.names), config.history.recorded),
        snapshot=SnapshotSpec(config.snapshot.guard, config.snapshot.skew, config.snapshot.margin),
        lateness=config.lateness,
        evolution=config.evolution,
        rejects_max_fraction=config.rejects.max_fraction,
        quality=_checks(config.quality, project.quality, config.compacted),
        compacted=config.compacted,
        renames={name: column.renamed_from for name, column in (config.columns or {}).items() if column.renamed_from},
        comment=config.comment,
        retain_changes=config.retain_changes,
        comments={
            name: column.comment for name, column in (config.columns or {}).items() if column.comment is not None
        },
    )


def _source(table: TableConfig, project: ProjectSpec) -> SourceSpec:
    config, root = table.source, project.root
    if config.path is not None:
        path = address_in(config.path, root)
    else:
        path = f"table:{config.table}" if config.kafka is None else topics_path(config.kafka)
    return SourceSpec(
        config.format,
        path,
        config.time_zone,
        config.decimals,
        config.binaries,
        config.times,
        config.table,
        _rows(config, table) if config.format == ROWS else None,
        config.images,
        config.order,
        tuple(EpochSpec(epoch.server_id, epoch.gtid, epoch.path, epoch.until) for epoch in config.epoch),
        config.several or format_of(config.format).several,
        _registry(config, project),
        None if config.schemas is None else like(config.schemas, os.path.normpath(root / config.schemas)),
        nulls=config.nulls,
        metadata_prefix=config.metadata_prefix,
        kafka=None if config.kafka is None else kafka_values(config.kafka),
        store=_store_of(path, config.table is not None, project),
    )


def kafka_values(config: KafkaConfig) -> KafkaSpec:
    """Topics of a cluster."""
    return KafkaSpec(
        config.bootstrap,
        config.topics or (),
        config.pattern,
        config.starting,
        config.group,
        config.max_records,
        tuple(sorted(config.options.items())),
    )


def topics_path(config: KafkaConfig) -> str:
    """The name of a source of topics. It does not depend on the brokers or the settings.

    With one topic, it is the prefix of the paths of the partitions. The topics of a pattern can have any name.
    """
    if config.topics is None:
        return f"{TOPICS}?{config.pattern}"
    return f"{TOPICS}{config.topics[0]}/*" if len(config.topics) == 1 else f"{TOPICS}{{{','.join(config.topics)}}}/*"


def _store_of(path: str, is_table: bool, project: ProjectSpec) -> StoreSettings:
    """The store settings for a source's files. An Iceberg table uses those of the catalog."""
    if is_table:
        return of_stores(project.catalog.properties)
    return project.store if is_remote(path) and not path.startswith(TOPICS) else ()


def _registry(config: SourceConfig, project: ProjectSpec) -> RegistrySpec | None:
    """The source's own registry, else the project's if the format needs schemas and the source has no schema file."""
    if config.registry is not None:
        return registry_values(config.registry)
    return project.registry if format_of(config.format).needs_schemas and config.schemas is None else None


def registry_values(config: RegistryConfig) -> RegistrySpec:
    """A schema registry."""
    return RegistrySpec(config.url, config.user, config.password, config.token)


def _rows(config: SourceConfig, table: TableConfig) -> RowsSpec:
    declared = {name: column.type for name, column in (table.typed or {}).items()}
    conditions = condition_columns(config.delete_when, config.truncate_when, config.ignore_when, config.snapshot_when)
    places = dict.fromkeys([*(config.sequence_by or ()), *([config.time_by] if config.time_by else []), *conditions])
    digits = {name: second_digits(declared[name]) for name in places if name in declared}
    return RowsSpec(
        table=table.table,
        sequence_by=tuple((name, sequence_kind(name, declared.get(name))) for name in config.sequence_by or ()),
        delete_when=config.delete_when,
        truncate_when=config.truncate_when,
        ignore_when=config.ignore_when,
        ignore_nulls=config.ignore_nulls,
        columns=config.columns,
        ties=config.ties,
        time_by=config.time_by,
        time_unit=config.time_unit,
        file_type=config.file_type,
        delimiter=config.delimiter,
        snapshot_when=config.snapshot_when,
        header=config.header,
        null_value=config.null_value,
        digits=tuple((name, number) for name, number in digits.items() if number is not None),
        kinds=tuple((name, sequence_kind(name, declared[name])) for name in conditions if name in declared),
        has_time_unit="time_unit" in config.model_fields_set,
    )


def _columns(table: TableConfig) -> dict[str, ColumnSpec] | None:
    if table.typed is None:
        return None
    return {name: _column(column, table.source.time_zone) for name, column in table.typed.items()}


def _column(config: ColumnConfig, time_zone: str) -> ColumnSpec:
    default = stored_default(config.default, parse_column_type(config.type), time_zone)
    return ColumnSpec(config.type, config.mask, masked_default(default, config.mask, config.salt), config.salt)


def target_values(config: TargetConfig, table: str, namespace: str) -> TargetSpec:
    """The target tables: with the names of the section, else with their default names."""
    named = ".".join(table.split(".")[-2:])
    latest = config.latest or (named if "." in named else like(table, f"{namespace}.{named}"))
    history = config.history or like(latest, f"{latest}_history")
    changes = config.changes or like(table, f"{namespace}.{table.replace('.', '_')}_changes")
    layouts = [TableLayout(*both) for both in zip(config.partition, config.sort, strict=True)]
    return TargetSpec(latest, history, changes, config.format_version, layouts[0], layouts[1], dict(config.properties))


def _renamed(config: HistoryNamesConfig) -> tuple[tuple[str, str], ...]:
    given = ((VALID_FROM, config.valid_from), (VALID_TO, config.valid_to), (IS_CURRENT, config.is_current))
    return tuple((name, to) for name, to in given if name != to)


def _checks(config: TableQualityConfig, project: QualitySpec, compacted: bool) -> ChecksSpec:
    usual = CHECK_SEVERITY | (COMPACTED if compacted else {})
    severity = {name: config.severity.get(name, usual[name]) for name in config.checks}
    return ChecksSpec(
        checks=config.checks,
        severity=severity,
        on_failure=config.on_failure or project.on_failure,
        grace=config.grace,
        expectations=config.expectations,
        fresh_within=config.fresh_within if config.fresh_within is not None else project.fresh_within,
    )

"""The project file as users write it: one model per section. Editors show the description of each key."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from siltstone.engine.spec import value_checks
from siltstone.engine.spec.config_section import OnFailureWord, Section
from siltstone.engine.spec.model import (
    MaintenanceSpec,
)
from siltstone.engine.spec.source_config import RegistryConfig
from siltstone.engine.spec.value_types import (
    Address,
    ByteCount,
    CatalogName,
    DottedName,
    Duration,
    FreshWithin,
    Setting,
    Text,
    Truth,
    words,
)

_MAINTENANCE = MaintenanceSpec()


class CatalogConfig(Section):
    """The Iceberg catalog."""

    name: CatalogName = Field(default="lake", description="The catalog's name in Spark. Default: lake.")
    type: Annotated[str, *words("jdbc", "rest", "glue", "hive", "hadoop")] = Field(
        default="jdbc",
        description="The type of the catalog. jdbc without a uri is an embedded SQLite database. Default: jdbc.",
    )
    uri: Text | None = Field(
        default=None,
        description="The catalog's address. Required for rest and hive. Default for jdbc: lake/catalog.db in the"
        " project's folder.",
    )
    warehouse: Address | None = Field(
        default=None,
        description="Where Iceberg stores the tables' files: a path, a URI, or the name of a warehouse. Required for"
        " hadoop. Default for jdbc: lake/warehouse in the project's folder.",
    )
    properties: dict[Text, Setting] = Field(
        default_factory=dict, description="Properties of the catalog, passed to Iceberg unchanged."
    )

    @model_validator(mode="after")
    def _has_its_address(self) -> CatalogConfig:
        if self.type in ("rest", "hive") and self.uri is None:
            value_checks.refuse(f"a catalog of type {self.type} needs a uri")
        if self.type == "hadoop" and self.warehouse is None:
            value_checks.refuse("a catalog of type hadoop needs a warehouse")
        return self


class SparkConfig(Section):
    """The Spark session. `conf` also applies to a session of spark-submit, `master` does not."""

    master: Text = Field(default="local[*]", description="The URL of Spark's master. Default: local[*].")
    conf: dict[Text, Setting] = Field(
        default_factory=dict,
        description="Settings of Spark, such as spark.driver.memory. They override siltstone's own.",
    )


class ProjectQualityConfig(Section):
    """What failed checks do, and how old data may be, in specs that do not set it themselves."""

    on_failure: OnFailureWord = Field(
        default="warn",
        description="warn reports failed checks. block publishes a batch only if its checks pass. Default: warn.",
    )
    fresh_within: FreshWithin | None = Field(
        default=None,
        description="How old the data may be before the report calls it old: a duration, or any. Default: 36h, or"
        " longer if the pauses between runs are longer.",
    )
    data_docs: Truth = Field(
        default=False,
        description="true: each check also writes Great Expectations' own pages to report/data-docs. Default: false.",
    )


class MaintenanceConfig(Section):
    """How `siltstone maintain` and the end of each catch-up keep tables small."""

    retain: Duration = Field(
        default=_MAINTENANCE.retain,
        description="How long snapshots stay readable before they expire. Default: 3d.",
    )
    ledgers: Duration = Field(
        default=_MAINTENANCE.ledgers,
        description="How long the ledgers keep runs, results of checks and healed gaps. Default: 400d.",
    )
    file_size: ByteCount = Field(
        default=_MAINTENANCE.file_size,
        description="The target size of compacted data files, such as 128MB; a number without a unit is in bytes."
        " Default: 128MB.",
    )
    automatic: Truth = Field(
        default=True, description="true: each catch-up ends with the maintenance that is due. Default: true."
    )
    budget: Duration = Field(
        default=_MAINTENANCE.budget,
        description="How long the maintenance at the end of a catch-up may take. Default: 1m.",
    )


class ProjectConfig(Section):
    """The project file."""

    catalog: CatalogConfig = Field(default_factory=lambda: CatalogConfig())
    namespace: DottedName = Field(
        default="silt",
        description="The namespace of the tables with changes, and of the ledgers such as rejects and runs. Default:"
        " silt.",
    )
    spark: SparkConfig = Field(default_factory=lambda: SparkConfig())
    quality: ProjectQualityConfig = Field(default_factory=lambda: ProjectQualityConfig())
    registry: RegistryConfig | None = Field(
        default=None, description="The schema registry of debezium-avro specs that name neither registry nor schemas."
    )
    maintenance: MaintenanceConfig = Field(default_factory=lambda: MaintenanceConfig())
    store: dict[Text, Setting] = Field(
        default_factory=dict,
        description="Settings of object stores by Iceberg's names, such as s3.endpoint or client.region. siltstone also"
        " reads the environment variables AWS_*.",
    )
    report: Address | None = Field(
        default=None,
        description="A URI or folder to which the report's pages are copied, such as s3://bucket/folder. Default: they"
        " are only in report/ of the project's folder.",
    )

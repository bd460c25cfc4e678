"""How history's rows lie in its table: under other names, or with the times when the table knew them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.names import quoted

RECORDED = (names.RECORDED_FROM, names.RECORDED_TO)


@dataclass(frozen=True)
class Layout:
    """`renamed`: columns that are called otherwise in the table, and how.

    `recorded`: no row is changed or deleted; it is told until when the table said it, and another one is added. `at` is
    the moment that a run writes down for both.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    recorded: bool = False
    at: datetime | None = None

    def now(self) -> "Layout":
        """The layout as a run that begins now writes it."""
        return replace(self, at=datetime.now(UTC))

    def name(self, own: str) -> str:
        """What a column is called in the table."""
        return self.renamed.get(own, own)

    def schema(self, own: T.StructType) -> T.StructType:
        """The columns of the table."""
        columns = [T.StructField(self.name(column.name), column.dataType) for column in own]
        times = [T.StructField(name, T.TimestampType()) for name in RECORDED] if self.recorded else []
        return T.StructType([*columns, *times])

    def partition_columns(self) -> list[str]:
        """The columns whose months are partitions: open versions lie in one of their own, and so do those that the
        table says now."""
        return [self.name(names.VALID_TO), *([names.RECORDED_TO] if self.recorded else [])]

    def partitioning(self) -> str:
        """How the table is partitioned without being asked, as SQL."""
        return ", ".join(f"months({quoted(column)})" for column in self.partition_columns())

    def loaded(self, rows: DataFrame) -> DataFrame:
        """The rows that the table says now, under their own names."""
        known = rows.where(F.col(names.RECORDED_TO).isNull()).drop(*RECORDED) if self.recorded else rows
        return known.withColumnsRenamed({stored: own for own, stored in self.renamed.items()})

    def stored(self, rows: DataFrame) -> DataFrame:
        """New rows as the table holds them."""
        told = rows.withColumnsRenamed(dict(self.renamed))
        if not self.recorded:
            return told
        return told.withColumns({names.RECORDED_FROM: self.moment(), names.RECORDED_TO: self.never()})

    def moment(self) -> Column:
        """The run's moment, to the microsecond."""
        return F.timestamp_micros(F.lit(self.micros()))

    def never(self) -> Column:
        """No moment."""
        return F.lit(None).cast("timestamp")

    def micros(self) -> int:
        """The run's moment as microseconds since 1970."""
        assert self.at is not None  # only a run writes
        return int(self.at.timestamp()) * 1_000_000 + self.at.microsecond

    def properties(self) -> dict[str, str]:
        """The table property that tells how columns are called."""
        return {names.PROPERTY_NAMES: json.dumps(dict(self.renamed), sort_keys=True)}


PLAIN = Layout()


def stored_names(properties: Mapping[str, str]) -> dict[str, str]:
    """The columns that are called otherwise, read back from a table's properties."""
    found = properties.get(names.PROPERTY_NAMES, "{}")
    return {str(own): str(stored) for own, stored in json.loads(found).items()}

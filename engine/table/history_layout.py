"""How the table stores the rows of history: with other column names, or with the times when they were recorded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.names import quoted
from siltstone.engine.schema.column_comments import commented
from siltstone.engine.schema.comments import HISTORY

RECORDED = (names.RECORDED_FROM, names.RECORDED_TO)


@dataclass(frozen=True)
class Layout:
    """How a table stores rows.

    `renamed`: the names in the table of columns that have other names there. `recorded`: the table keeps earlier rows.
    Instead of changing or deleting a row, a run ends it and adds another one, both at its time `at`.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    recorded: bool = False
    at: datetime | None = None

    def now(self) -> "Layout":
        """The layout for a run that begins now."""
        return replace(self, at=datetime.now(UTC))

    def name(self, own: str) -> str:
        """The name of a column in the table."""
        return self.renamed.get(own, own)

    def schema(self, own: T.StructType) -> T.StructType:
        """The columns of the table."""
        columns = [T.StructField(self.name(one.name), one.dataType, one.nullable, one.metadata) for one in own]
        times = [T.StructField(name, T.TimestampType()) for name in RECORDED] if self.recorded else []
        return T.StructType([*columns, *commented(T.StructType(times), HISTORY)])

    def partition_columns(self) -> list[str]:
        """The columns whose months are partitions. Null has its own partition: open versions, and rows not ended."""
        return [self.name(names.VALID_TO), *([names.RECORDED_TO] if self.recorded else [])]

    def partitioning(self) -> str:
        """The default partitioning of the table, in SQL."""
        return ", ".join(f"months({quoted(column)})" for column in self.partition_columns())

    def loaded(self, rows: DataFrame) -> DataFrame:
        """The current rows, with siltstone's own column names."""
        known = rows.where(F.col(names.RECORDED_TO).isNull()).drop(*RECORDED) if self.recorded else rows
        return known.withColumnsRenamed({stored: own for own, stored in self.renamed.items()})

    def stored(self, rows: DataFrame) -> DataFrame:
        """New rows as the table stores them."""
        named = rows.withColumnsRenamed(dict(self.renamed))
        if not self.recorded:
            return named
        return named.withColumns({names.RECORDED_FROM: self.moment(), names.RECORDED_TO: self.never()})

    def moment(self) -> Column:
        """The run's time, to the microsecond."""
        return F.timestamp_micros(F.lit(self.micros()))

    def never(self) -> Column:
        """No time."""
        return F.lit(None).cast("timestamp")

    def micros(self) -> int:
        """The run's time in microseconds since 1970."""
        assert self.at is not None  # only a run writes
        return int(self.at.timestamp()) * 1_000_000 + self.at.microsecond

    def properties(self) -> dict[str, str]:
        """The table property with the names of columns."""
        return {names.PROPERTY_NAMES: json.dumps(dict(self.renamed), sort_keys=True)}


PLAIN = Layout()


def stored_names(properties: Mapping[str, str]) -> dict[str, str]:
    """The names of renamed columns, from the properties of a table."""
    found = properties.get(names.PROPERTY_NAMES, "{}")
    return {str(own): str(stored) for own, stored in json.loads(found).items()}

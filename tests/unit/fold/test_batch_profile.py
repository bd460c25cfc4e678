"""The checks and defaults of the profile before a fold."""

from dataclasses import replace
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.errors import SpecError
from siltstone.engine.fold.batch_profile import default_values, refuse_unknown_tracked
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.row_states import shown
from siltstone.engine.spec.model import HistorySpec, TrackSpec
from siltstone.engine.spec.yaml_document import WrittenNumber
from tests.unit.decode.given import spec
from tests.unit.spec import cases


@pytest.mark.parametrize("mode", ["columns", "except"])
def test_a_tracked_column_that_the_table_does_not_have_is_refused(mode: str) -> None:
    table_spec = replace(spec({"id": "int"}), history=HistorySpec(TrackSpec(mode, ("a", "amuont"))))  # type: ignore[arg-type]
    refuse_unknown_tracked(table_spec, ("id", "a", "amuont"))
    with pytest.raises(SpecError, match="names amuont") as refused:
        refuse_unknown_tracked(table_spec, ("id", "a", "amount"))
    assert "did you mean amount?" in str(refused.value)


def test_a_default_has_the_type_and_the_mask_of_its_column(spark: SparkSession) -> None:
    table_spec = cases.spec(
        source=cases.source(time_zone="Europe/Berlin"),
        columns={
            "money": {"type": "decimal(20,2)", "default": 0.5},
            "exact": {"type": "decimal(38,10)", "default": WrittenNumber("1234567890.1234567891")},
            "count": {"type": "bigint unsigned", "default": 5.0},
            "at": {"type": "timestamp", "default": "2020-01-01 00:00:00"},
            "secret": {"mask": "sha256", "salt": "s", "default": "x"},
            "hidden": {"mask": "redact", "default": "x"},
        },
    )
    row = T.StructType.fromDDL(
        "money decimal(20,2), exact decimal(38,10), count decimal(20,0), at timestamp, secret string, hidden string"
    )
    rules = FoldRules((), tuple(row.names), (), defaults=default_values(table_spec, row))
    kept = [Decimal("123456789012345678.91"), Decimal(0), Decimal(2**64 - 1), None, "y", "z"]
    frame = spark.createDataFrame(
        [tuple((known, value) for value in kept) for known in (True, False)],
        ", ".join(f"{field.name} struct<known: boolean, value: {field.dataType.simpleString()}>" for field in row),
    )
    hashed = F.sha2(F.concat(F.lit("s"), F.lit("x")), 256)
    found = frame.select(*[shown(F.col(name), name, rules).alias(name) for name in row.names], hashed.alias("hash"))
    assert [field.dataType for field in found.schema][:-1] == [field.dataType for field in row]
    one, other = found.withColumn("at", F.unix_seconds("at")).collect()
    assert list(one)[:-1] == kept
    assert (other["money"], other["exact"]) == (Decimal("0.50"), Decimal("1234567890.1234567891"))
    assert (other["count"], other["at"]) == (Decimal(5), 1577833200)
    assert (other["secret"], other["hidden"]) == (other["hash"], "***")

"""A recorded stream, complete and with one change removed."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.quality.findings import KEY_CHECKS, find
from tests import recordings
from tests.quality.stage import Row, Stage
from tests.recorded_tables import MARIADB
from tests.unit.spec.cases import spec

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=f"the recordings are not there: {recordings.DATA}")
TABLE = MARIADB["shop.orders"]
CHECKS = (*sorted(KEY_CHECKS), "positions_backwards", "open_window")
SIMPLE = {"int": T.IntegerType(), "bigint": T.LongType()}
ROW = T.StructType([T.StructField(name, SIMPLE.get(c.type, T.StringType())) for name, c in TABLE.columns.items()])


@pytest.fixture(scope="module")
def recording() -> recordings.Recording:
    recording = recordings.read(recordings.DATA / "mariadb/debezium.noschema.jsonl.gz", {TABLE.name: TABLE})
    return replace(recording, changes={TABLE.name: [stored(one) for one in recording.changes[TABLE.name]]})


def stored(change: Row) -> Row:
    """The change with values that a table can hold; columns that an older table lacks are not present."""

    def values(row: Row | None) -> Row | None:
        return None if row is None else {name: value(name, row[name]) for name in row}

    def value(name: str, given: object) -> object:
        return str(given) if given is not None and isinstance(ROW[name].dataType, T.StringType) else given

    row = None if change["op"] == "truncate" else values(change["row"])
    present = set(row) if row is not None and set(row) != set(ROW.names) else change["present"]
    return change | {"row": row, "present": present, "before": values(change["before"])}


def observed(spark: SparkSession, recording: recordings.Recording, changes: list[Row]) -> dict[str, int]:
    tables = Stage(spark, ROW, TABLE.keys).tables(changes, recording.windows, defaults=TABLE.defaults)
    found = find(tables, spec(), 0, CHECKS)
    assert not [what.unavailable for what in found.values() if what.unavailable]
    return {check: what.observed for check, what in found.items() if what.observed}


def test_a_recording_with_snapshots_key_changes_and_a_truncate_has_no_finding(
    spark: SparkSession, recording: recordings.Recording
) -> None:
    assert observed(spark, recording, recording.changes[TABLE.name]) == {}


def test_an_update_removed_from_a_recording_breaks_one_chain(
    spark: SparkSession, recording: recordings.Recording
) -> None:
    changes = recording.changes[TABLE.name]
    lost = next(n for n, one in enumerate(changes) if n > 300 and is_followed(n, changes))
    assert observed(spark, recording, changes[:lost] + changes[lost + 1 :]) == {"chain_break": 1}


def is_followed(number: int, changes: list[Row]) -> bool:
    """An update whose key's next change is an update too."""
    one, later = changes[number], changes[number + 1 :]
    following = next((other for other in later if other["key"] in (one["key"], None)), None)
    return one["op"] == "update" and following is not None and following["op"] == "update"

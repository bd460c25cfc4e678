"""Spanner's data records in the Avro files of Dataflow's template, and in its text files.

https://github.com/GoogleCloudPlatform/DataflowTemplates (datachangerecord.avsc)
"""

import io
import json
from typing import Any

import fastavro

from siltstone.engine.decode.avro_files import read_header, read_records
from siltstone.engine.decode.avro_records import RecordTexts
from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.event_schemas import key_columns, row_columns
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec

CODES = ["TYPE_CODE_UNSPECIFIED", "BOOL", "INT64", "FLOAT64", "TIMESTAMP", "DATE", "STRING", "BYTES", "ARRAY"]
CODES += ["STRUCT", "NUMERIC", "JSON"]
COMMIT = 1_664_287_200_123_456  # 2022-09-27T14:00:00.123456Z
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


def fields(**kinds: Any) -> list[dict[str, Any]]:
    """The fields of a record. A kind in a tuple is a type with its logical type next to it, where Avro ignores it."""
    return [
        {"name": name} | ({"type": kind[0]["type"]} | kind[0] if isinstance(kind, tuple) else {"type": kind})
        for name, kind in kinds.items()
    ]


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, **more}


OPTIONAL: list[Any] = ["null", "string"]
COLUMN = named(
    "record",
    "ColumnType",
    fields=fields(
        name="string",
        Type=named("enum", "TypeCode", symbols=CODES),
        arrayElementType=["null", "com.google.cloud.teleport.v2.TypeCode"],
        isPrimaryKey="boolean",
        ordinalPosition="long",
    ),
)
MOD = named("record", "Mod", fields=fields(keysJson="string", oldValuesJson=OPTIONAL, newValuesJson=OPTIONAL))
METADATA = named(
    "record", "ChangeStreamRecordMetadata", fields=fields(partitionToken="string", recordTimestamp=(MICROS,))
)
SCHEMA = named(
    "record",
    "DataChangeRecord",
    namespace="com.google.cloud.teleport.v2",
    fields=fields(
        partitionToken="string",
        commitTimestamp=(MICROS,),
        serverTransactionId="string",
        isLastRecordInTransactionInPartition="boolean",
        recordSequence="string",
        tableName="string",
        rowType={"type": "array", "items": COLUMN},
        mods={"type": "array", "items": MOD},
        modType=named("enum", "ModType", symbols=["INSERT", "UPDATE", "DELETE"]),
        valueCaptureType=named("enum", "ValueCaptureType", symbols=["OLD_AND_NEW_VALUES", "NEW_ROW", "NEW_VALUES"]),
        numberOfRecordsInTransaction="long",
        numberOfPartitionsInTransaction="long",
        metadata=["null", METADATA],
        spannerDatabaseId=OPTIONAL,
        spannerInstanceId=OPTIONAL,
        outputMessageMetadata=OPTIONAL,
    ),
)


def column(name: str, code: str, place: int, items: str | None = None, is_key: bool = False) -> dict[str, Any]:
    return {
        "name": name, "Type": code, "arrayElementType": items, "isPrimaryKey": is_key, "ordinalPosition": place
    }  # fmt: skip


COLUMNS = [
    column("SingerId", "INT64", 2, is_key=True),
    column("Region", "STRING", 1, is_key=True),
    column("Names", "ARRAY", 3, "STRING"),
    column("Score", "TYPE_CODE_UNSPECIFIED", 4),
]
MODS = [
    {
        "keysJson": json.dumps({"SingerId": "1", "Region": "eu"}),
        "oldValuesJson": "",
        "newValuesJson": json.dumps({"Names": ["Ada"], "Score": 1.5}),
    }
]


def record(**changed: Any) -> dict[str, Any]:
    made = {
        "partitionToken": "AUKm", "commitTimestamp": COMMIT, "serverTransactionId": "NTQ5MTAx",
        "isLastRecordInTransactionInPartition": True, "recordSequence": "00000001", "tableName": "Singers",
        "rowType": COLUMNS, "mods": MODS, "modType": "INSERT", "valueCaptureType": "NEW_VALUES",
        "numberOfRecordsInTransaction": 2, "numberOfPartitionsInTransaction": 1,
        "metadata": {"partitionToken": "AUKm", "recordTimestamp": COMMIT}, "spannerDatabaseId": None,
        "spannerInstanceId": None, "outputMessageMetadata": None,
    }  # fmt: skip
    return made | changed


def read(*records: dict[str, Any]) -> list[Event]:
    """The events of records, which are written to an Avro file first."""
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(SCHEMA), records)
    header = read_header(file)
    texts = RecordTexts(header.schema, is_event=True)
    found = [one for block in read_records(file, header) for one in block]
    messages = [Message("a.avro", number, texts.text(one), texts.row_schema) for number, one in enumerate(found, 1)]
    return decode_messages(messages, SourceSpec("spanner-avro", "x"), {})


def as_text(record: dict[str, Any]) -> str:
    """The same record in the form in which Gson writes Beam's class."""
    seconds, micros = divmod(record["commitTimestamp"], 1_000_000)
    items = {"ARRAY": {"array_element_type": {"code": "STRING"}}}
    types = [
        {"name": one["name"], "type": {"code": json.dumps({"code": one["Type"]} | items.get(one["Type"], {}))}}
        | {name: one[name] for name in ("isPrimaryKey", "ordinalPosition")}
        for one in record["rowType"]
    ]
    mods = [{name: part for name, part in mod.items() if part} for mod in record["mods"]]
    stamp = {"seconds": seconds, "nanos": micros * 1_000}
    more = {
        "commitTimestamp": stamp,
        "rowType": types,
        "mods": mods,
        "transactionTag": "",
        "isSystemTransaction": False,
    }
    return json.dumps({name: value for name, value in (record | more).items() if value is not None})


def test_a_record_is_read_with_its_keys_and_types() -> None:
    (event,) = read(record())
    assert (event.kind, event.op, event.table, event.reason) == ("change", "insert", "Singers", None)
    assert json.loads(event.after or b"") == {"SingerId": "1", "Region": "eu", "Names": ["Ada"], "Score": 1.5}
    assert key_columns(event.key_schema or "") == ("Region", "SingerId")
    kinds = {name: kind.simpleString() for name, (kind, _) in row_columns(event.row_schema or "").items()}
    assert kinds == {"SingerId": "bigint", "Region": "string", "Names": "array<string>", "Score": "string"}
    assert (event.connector, event.source, event.tx_id, event.tx_order) == (
        *["dataflow-spanner"] * 2, "NTQ5MTAx", 1
    )  # fmt: skip
    announced = event.announced
    assert announced is not None
    assert (announced.size, announced.partitions, announced.partition, announced.is_last) == (2, 1, "AUKm", True)


def test_positions_have_the_order_of_commits_records_and_mods() -> None:
    earlier, first, second = read(
        record(commitTimestamp=COMMIT - 1, serverTransactionId="z"), record(mods=MODS * 2)
    )  # fmt: skip
    assert earlier.position is not None
    assert first.position is not None
    assert second.position is not None
    assert earlier.position < first.position < second.position
    assert (earlier.commit_us, first.commit_us) == (COMMIT - 1, COMMIT)


def test_a_delete_has_its_old_values() -> None:
    mod = MODS[0] | {"oldValuesJson": MODS[0]["newValuesJson"], "newValuesJson": ""}
    (event,) = read(record(modType="DELETE", valueCaptureType="OLD_AND_NEW_VALUES", mods=[mod]))
    assert (event.op, event.after) == ("delete", None)
    assert json.loads(event.before or b"")["Names"] == ["Ada"]


def test_a_bad_record_is_rejected() -> None:
    reasons = [event.reason for event in read(record(mods=[]), record(tableName=""), record(recordSequence="x"))]
    assert reasons == [
        "a data change record without mods",
        "table_name is missing",
        "record_sequence is missing or not a number",
    ]


def test_the_text_files_of_the_template_have_the_same_changes() -> None:
    (in_avro,) = read(record())
    (in_text,) = decode_messages(
        [Message("a.txt", 1, as_text(record()).encode())], SourceSpec("spanner-json", "x"), {}
    )  # fmt: skip
    for name in ("op", "table", "position", "commit_us", "tx_id", "tx_order", "announced"):
        assert getattr(in_avro, name) == getattr(in_text, name), name
    assert json.loads(in_avro.after or b"") == json.loads(in_text.after or b"")
    assert row_columns(in_avro.row_schema or "") == row_columns(in_text.row_schema or "")
    assert key_columns(in_avro.key_schema or "") == key_columns(in_text.key_schema or "")

"""Spanner's data records in the Avro files of Dataflow's template, in random order."""

import json
import random
from pathlib import Path

import fastavro

from tests.conformance.encode_spanner import SpannerRecords
from tests.conformance.workload import Row, Step, Workload
from tests.unit.decode.formats.test_spanner_avro import CODES, SCHEMA


class SpannerAvro(SpannerRecords):
    """No heartbeats, times in microseconds, and no code for a type that the template's schema does not know."""

    format = "spanner-avro"
    misnamed = frozenset({"float"})

    def __init__(self, capture: str) -> None:
        super().__init__(capture, "array")
        self.name = f"spanner_avro_{capture.lower()}"

    def deliver(self, workload: Workload, folder: Path) -> None:
        records = self.records(workload)
        draw = random.Random(3)
        records += draw.sample(records, len(records) // 5)
        draw.shuffle(records)
        for number in range(2):
            with (folder / f"output-{number:05}-of-00002.avro").open("wb") as out:
                fastavro.writer(out, fastavro.parse_schema(SCHEMA), records[number::2], codec="deflate")

    def records(self, workload: Workload) -> list[Row]:
        found = []
        for step in self.steps(workload):
            runs = list(self.runs([half for event in step.events for half in self.halves(event)]))
            found += [self.in_avro(step, self.record(step, run, at, len(runs))) for at, run in enumerate(runs)]
        return found

    def in_avro(self, step: Step, record: Row) -> Row:
        """The record in the form that the template's class writes."""
        return {
            "partitionToken": "AUKm",
            "commitTimestamp": step.at + step.number,
            "serverTransactionId": record["server_transaction_id"],
            "isLastRecordInTransactionInPartition": record["is_last_record_in_transaction_in_partition"],
            "recordSequence": record["record_sequence"],
            "tableName": record["table_name"],
            "rowType": [
                {
                    "name": one["name"],
                    "Type": code_of(one["type"]),
                    "arrayElementType": code_of(one["type"].get("array_element_type")),
                    "isPrimaryKey": one["is_primary_key"],
                    "ordinalPosition": one["ordinal_position"],
                }
                for one in record["column_types"]
            ],
            "mods": [
                {
                    "keysJson": json.dumps(mod["keys"], ensure_ascii=False),
                    "oldValuesJson": text_of(mod["old_values"]),
                    "newValuesJson": text_of(mod["new_values"]),
                }
                for mod in record["mods"]
            ],
            "modType": record["mod_type"],
            "valueCaptureType": record["value_capture_type"],
            "numberOfRecordsInTransaction": record["number_of_records_in_transaction"],
            "numberOfPartitionsInTransaction": record["number_of_partitions_in_transaction"],
            "metadata": None,
        }


def code_of(kind: Row | None) -> str | None:
    if kind is None:
        return None
    return kind["code"] if kind["code"] in CODES else CODES[0]


def text_of(values: Row) -> str:
    """The values as JSON text. Without values, it is an empty text, not a null."""
    return json.dumps(values, ensure_ascii=False) if values else ""

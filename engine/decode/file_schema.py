"""The columns of rows from the schema of their file, as JSON next to each record.

JSON events have Kafka Connect's schemas. The schemas of a registry, of Avro and Parquet files and of Iceberg tables are
converted once to this shorter form: names, stored types, encodings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import types as T

from siltstone.engine.decode.connect import Typed
from siltstone.engine.decode.row_shape import Encoding


def file_schema(columns: Mapping[str, Typed]) -> str:
    """The JSON text of columns."""
    listed = [[name, kind.jsonValue(), _written(encoding)] for name, (kind, encoding) in columns.items()]
    return json.dumps({"columns": listed}, separators=(",", ":"))


def file_columns(schema_json: str) -> dict[str, Typed]:
    """The columns of a schema in this form, in their order."""
    return {
        name: (T._parse_datatype_json_string(json.dumps(kind)), _read(encoding))
        for name, kind, encoding in json.loads(schema_json)["columns"]
    }


def file_keys(names: Iterable[str]) -> str:
    """The JSON text of the names of a key's columns."""
    return json.dumps({"keys": list(names)}, separators=(",", ":"))


def _written(encoding: Encoding) -> list[Any]:
    return [encoding.kind, encoding.size, None if encoding.items is None else _written(encoding.items)]


def _read(written: list[Any]) -> Encoding:
    kind, size, items = written
    return Encoding(kind, size, None if items is None else _read(items))

"""Records of CSV files as JSON texts. All values are text, and a missing value is null."""

from __future__ import annotations

from typing import Final

import msgspec
from pyspark.sql import types as T

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.file_schema import file_schema
from siltstone.engine.decode.json_value import NOT_TEXT
from siltstone.engine.decode.row_shape import Encoding
from siltstone.engine.inputs.csv_records import CsvLayout, has_escaped_quote, values_of

WRONG_WIDTH: Final = "not as many values as the file has columns"
OPEN_QUOTE: Final = "a quote is not closed before the end of the file"
STRAY_QUOTE: Final = "a quote at the beginning of a value is not closed"
ESCAPED_QUOTE: Final = "a quote is escaped with a backslash; it must be doubled"


class CsvTexts:
    """Makes the JSON texts of the records of a CSV file. `row_schema` describes its columns."""

    def __init__(self, layout: CsvLayout) -> None:
        self._layout = layout
        self.row_schema = csv_schema(layout.columns)

    def message(self, record: Message) -> Message:
        """A record as JSON. An invalid record keeps its text and gets the problem."""
        try:
            values = values_of(record.text, self._layout)
        except UnicodeDecodeError:
            return self._described(record, record.text, NOT_TEXT)
        if has_escaped_quote(record.text, self._layout):
            return self._described(record, record.text, ESCAPED_QUOTE)
        if values is None:
            return self._described(record, record.text, OPEN_QUOTE if record.is_last else STRAY_QUOTE)
        if len(values) != len(self._layout.columns):
            return self._described(record, record.text, WRONG_WIDTH)
        row = dict(zip(self._layout.columns, values, strict=True))
        return self._described(record, msgspec.json.encode(row), None)

    def _described(self, record: Message, text: bytes, problem: str | None) -> Message:
        return msgspec.structs.replace(record, text=text, row_schema=self.row_schema, problem=problem)


def csv_schema(columns: tuple[str, ...]) -> str:
    """The description of the columns of a CSV file."""
    return file_schema({name: (T.StringType(), Encoding("text")) for name in columns})

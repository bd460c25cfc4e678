"""Converts the values of events to stored values. Encoding, stored type and settings select one converter per column.

    reader = column_reader(column, schema_hash, is_mysql=False, time_zone="UTC", is_key=False)
    reader.convert_all(["BNI=", None])  # [Decimal("12.34"), None]

`encodings` selects the converter. `numbers`, `decimals`, `binary`, `text`, `dates_and_times`, `time_texts`, `clocks`
and `arrays` contain the converters. `unrepresentable` explains why a value is not stored.
"""

from siltstone.engine.decode.types.column_reader import ColumnReader, column_reader

__all__ = ["ColumnReader", "column_reader"]

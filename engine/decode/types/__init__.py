"""Values: from what an event carries to what is stored, chosen once a column by encoding, stored type and settings.

    reader = column_reader(column, schema_hash, is_mysql=False, time_zone="UTC", is_key=False)
    reader.convert_all(["BNI=", None])  # [Decimal("12.34"), None]

`encodings` chooses the converter; `numbers`, `decimals`, `binary`, `text`, `times`, `clocks` and `arrays` hold them.
`misfits` says why a value is not stored.
"""

from siltstone.engine.decode.types.column_reader import ColumnReader, column_reader

__all__ = ["ColumnReader", "column_reader"]

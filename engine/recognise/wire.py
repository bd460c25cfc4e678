"""One Avro record in bytes without a file around them, read to its last byte or not at all."""

import io
from typing import Any

UNREAD = "unread"
"""Stands for a message that could not be read: it is of no format."""


def body(data: bytes, schema: Any, kinds: bool = False) -> Any:
    """The record; UNREAD where the bytes do not fit the schema. `kinds`: with the name of a record beside it, where a
    value may be one of several.
    """
    import fastavro

    stream = io.BytesIO(data)
    try:
        found = fastavro.schemaless_reader(stream, schema, None, return_record_name=kinds)
    except (EOFError, ValueError, LookupError, ArithmeticError, TypeError, MemoryError):
        return UNREAD  # any bytes at all may be read with any schema: these are the ways in which that ends
    return found if stream.tell() == len(data) else UNREAD

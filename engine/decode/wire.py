"""Avro bodies without a file around them: read by Spark to their last byte, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from engine.errors import SourceError, SpecError
from engine.jars import SPARK_AVRO
from engine.jvm import BETWEEN_WORDS, CATALOG

AVRO_JSON: Final = f"{CATALOG}.avro_json"
AVRO_STRUCT: Final = f"{CATALOG}.avro_struct"
END: Final = bytes(range(16))
"""Goes behind every body, so that reading it back tells whether the body was used up, no byte less and none more."""
END_SIZE: Final = 8
_WITHOUT_READER: Final = "AVRO_NOT_LOADED"
_PERMISSIVE: Final = {"mode": "PERMISSIVE"}


def end_field(size: int = END_SIZE) -> dict[str, Any]:
    """The field that reads what goes behind a body."""
    return {"name": "end", "type": {"type": "fixed", "name": "siltstone_end", "size": size}}


def ended(body: Column) -> Column:
    """The body with END behind it."""
    return F.concat(body, F.lit(bytearray(END)))


def from_avro(body: Column, schema: Any) -> Column:
    """A struct of the record's fields; a struct of nulls where the bytes do not fit the schema."""
    options = F.create_map(*[F.lit(text) for option in _PERMISSIVE.items() for text in option])
    return F.call_function("from_avro", body, F.lit(_compact(schema)), options)


def _compact(schema: Any) -> str:
    return json.dumps(schema, separators=(",", ":"))


def record_json(body: Column, number: Column, schemas: Mapping[int, Any]) -> Column:
    """The JSON text that `to_json` makes of what `from_avro` reads, nulls kept, sooner: by a reader of siltstone's own.
    Null where the record does not end where the body does, where its schema is not among these, and where that reader
    is not sure of it.

    `number`: that of the body's schema, a bigint.
    """
    return F.call_function(AVRO_JSON, body, number, _listed(schemas))


def record_struct(body: Column, number: Column, schemas: Mapping[int, Any], wanted: str) -> Column:
    """What Spark's JSON reader gives of that text as a `wanted` struct: of texts, bigints and such structs. Null where
    `record_json` gives null, and of records of whose types the reader is not sure."""
    return F.call_function(AVRO_STRUCT, body, F.lit(None).cast(wanted), number, _listed(schemas))


def _listed(schemas: Mapping[int, Any]) -> Column:
    return F.lit("\n".join(f"{number}{BETWEEN_WORDS}{_compact(schema)}" for number, schema in schemas.items()))


def can_read(spark: SparkSession, schema: Any) -> bool:
    """Whether Spark knows a type for the schema; Avro's own words against one come as any of Java's errors.

    Raises: SpecError: the session has no reader for Avro.
    """
    try:
        with readable():
            spark.range(1).select(from_avro(F.lit(bytearray()), schema))
    except SpecError:
        raise
    except Exception:  # noqa: BLE001  # of Spark, of Avro's parser, or of Java
        return False
    return True


@contextmanager
def readable() -> Iterator[None]:
    """Around the planning of `from_avro`: what Spark says against the schemas, as siltstone's errors.

    Raises: SpecError: the session has no reader for Avro. SourceError: Spark knows no type for a schema.
    """
    try:
        yield
    except AnalysisException as error:
        if _WITHOUT_READER in str(error):
            hint = f"start it with {SPARK_AVRO.file} (spark-submit --jars, or spark.jars)"
            raise SpecError("Cannot read Avro messages: the Spark session has no reader for them.", hint) from error
        reason = str(error).splitlines()[0][:300]
        raise SourceError(f"Cannot read Avro messages: Spark cannot use one of their schemas ({reason}).") from error

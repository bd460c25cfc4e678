"""One look at the changes of a table: the schemas they carry, their keys, and the types their values suggest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.connect import MAX_DIGITS, Typed
from engine.decode.schemas import TOLD_BY_VALUES, key_columns, row_columns
from engine.decode.shape import Encoding

LONG_DIGITS = 18
EXACT_IN_DOUBLES = 2**53
LONG_NUMBER = "BIGINT beyond doubles"
"""The kind of whole numbers that a bigint holds, but no double."""
DOUBLE_DIGITS = 17  # what a double prints at most: a number of more digits is a decimal
_ANY_SCALE = r'"([^"]+)":\{"scale":'  # a number that says its own scale


@dataclass(frozen=True, slots=True)
class Seen:
    """What the events say of their columns and keys."""

    schemas: tuple[tuple[int, dict[str, Typed]], ...]
    schemaless: bool
    inferred: dict[str, Typed]
    any_scale: frozenset[str]
    keys: tuple[tuple[str, ...], ...]

    @property
    def is_told(self) -> bool:
        """Whether every schema names columns: else nobody knows which fields its events have."""
        return all(columns for _, columns in self.schemas)

    @classmethod
    def nothing(cls) -> Seen:
        """What events say that `tell_types` tells nothing of: they have no schema, and no number says its scale."""
        return cls((), True, {}, frozenset(), ())

    @property
    def typed_fields(self) -> tuple[str, ...]:
        """Fields whose type is known, in order: the richest schema's first."""
        schemas = sorted(self.schemas, key=lambda item: (-len(item[1]), item[0]))
        return tuple(dict.fromkeys([*(name for _, fields in schemas for name in fields), *self.inferred]))


def tell_types() -> Column:
    """Whether a change says anything of its columns' types beside their values."""
    return F.col("schema_hash").isNotNull() | F.coalesce(_says_scale(), F.lit(False))


def look(envelopes: DataFrame, infer: bool, keys_wanted: bool) -> Seen:
    """Aggregate the changes of one table. `infer`: types of fields without a schema are wanted; `keys_wanted`: keys.

    What is not wanted is not looked for: it would parse every image, every key.

    Needs: op, key_json, key_schema_json, row_schema_json, schema_hash, before_json, after_json.
    """
    keyed = F.lit(keys_wanted) & F.col("key_json").isNotNull() & F.col("key_schema_json").isNull()
    ordered = F.lit(infer) & F.col("schema_hash").isNull()
    found = (
        envelopes.groupBy("schema_hash")
        .agg(
            F.first("row_schema_json", ignorenulls=True).alias("row_schema"),
            F.collect_set(F.when(F.col("row_schema_json").startswith(TOLD_BY_VALUES), F.col("row_schema_json"))).alias(
                "row_schemas"
            ),
            F.first("key_schema_json", ignorenulls=True).alias("key_schema"),
            F.collect_set(F.when(keyed, F.json_object_keys("key_json"))).alias("keys"),
            F.first(F.when(ordered, F.json_object_keys(_image())), ignorenulls=True).alias("order"),
            F.collect_set(F.when(_says_scale(), F.regexp_extract_all(_image(), F.lit(_ANY_SCALE)))).alias("any_scale"),
        )
        .collect()
    )
    schemas = tuple(
        (row.schema_hash, row_columns(row.row_schema, row.row_schemas)) for row in found if row.schema_hash is not None
    )
    keys = {tuple(key_columns(row.key_schema)) for row in found if row.key_schema and keys_wanted}
    keys |= {tuple(key) for row in found for key in row["keys"]}
    bare = [row for row in found if row.schema_hash is None]
    order = [name for row in bare for name in row.order or ()]
    inferred = _infer(envelopes, order) if bare and infer else {}
    any_scale = frozenset(name for row in bare for names in row.any_scale for name in names)
    return Seen(schemas, bool(bare), inferred, any_scale, tuple(sorted(key for key in keys if key)))


def other_fields(envelopes: DataFrame, names: Collection[str]) -> list[str]:
    """The fields of changes without a schema beside those named, in the order of their names.

    Needs: schema_hash, before_json, after_json.
    """
    bare = envelopes.where(F.col("schema_hash").isNull())
    fields = bare.select(F.explode(F.json_object_keys(_image())).alias("name")).where(~F.col("name").isin(*names))
    return sorted(row["name"] for row in fields.distinct().collect())


def _image() -> Column:
    return F.coalesce(F.col("after_json"), F.col("before_json"))


def _says_scale() -> Column:
    return _image().contains('{"scale":')


def _infer(envelopes: DataFrame, order: Iterable[str]) -> dict[str, Typed]:
    fields = F.explode(F.from_json(_image(), "map<string,variant>")).alias("name", "value")
    kind = F.regexp_extract(F.schema_of_variant("value"), "^[A-Z]+(?:[(][0-9,]+[)])?", 0)
    number = F.when(kind == "BIGINT", F.try_variant_get("value", "$", "bigint"))
    is_long = ~number.between(-EXACT_IN_DOUBLES, EXACT_IN_DOUBLES)
    rows = (
        envelopes.where(F.col("schema_hash").isNull())
        .select(fields)
        .groupBy("name")
        .agg(F.collect_set(F.when(is_long, LONG_NUMBER).otherwise(kind)).alias("kinds"))
        .collect()
    )
    kinds = {row["name"]: typed_of_kinds(set(row.kinds)) for row in rows}
    ordered = [*(name for name in order if name in kinds), *sorted(kinds)]
    return {name: kinds[name] for name in ordered}


def typed_of_kinds(kinds: set[str]) -> Typed:
    """One stored type for the JSON types met, which holds all digits. Objects, arrays and mixtures are kept as text."""
    kinds = kinds - {"VOID"}
    if kinds == {"BOOLEAN"}:
        return T.BooleanType(), Encoding("boolean")
    if kinds and kinds <= {"BIGINT", LONG_NUMBER}:
        return T.LongType(), Encoding("integer")
    if LONG_NUMBER in kinds:
        kinds = kinds - {LONG_NUMBER} | {f"DECIMAL({LONG_DIGITS + 1},0)"}
    decimals = [tuple(int(n) for n in re.findall(r"\d+", kind)) for kind in kinds if kind.startswith("DECIMAL")]
    if kinds and all(kind in ("BIGINT", "DOUBLE", "FLOAT") or kind.startswith("DECIMAL") for kind in kinds):
        if "DOUBLE" not in kinds and all(scale == 0 and digits > LONG_DIGITS for digits, scale in decimals):
            return T.DecimalType(38, 0), Encoding("decimal_text")
        places = max((scale for _, scale in decimals), default=0)
        whole = max(LONG_DIGITS if "BIGINT" in kinds else 0, *[digits - scale for digits, scale in decimals], 0)
        if any(digits > DOUBLE_DIGITS for digits, _ in decimals):
            if kinds & {"DOUBLE", "FLOAT"} or whole + places > MAX_DIGITS:
                return T.StringType(), Encoding("text")
            return T.DecimalType(MAX_DIGITS, places), Encoding("decimal_number")
        return T.DoubleType(), Encoding("floating")
    return T.StringType(), Encoding("text")

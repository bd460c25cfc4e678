"""Compare the settings of the stored changes' decoding with those of the spec.

A recomputation from `changes` cannot apply a setting that differs: the inputs have to be reread.
"""

import json
from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.decode.declared_types import stored_type
from siltstone.engine.fold.renamed_columns import other_names
from siltstone.engine.schema.evolve import promotes
from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.fingerprint import EPOCHS, SOURCE, decode_fingerprints, mask_fingerprints
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.spec.renamed_names import first_name, new_names
from siltstone.engine.steps.shards import SHARDS
from siltstone.engine.table.changes_table import has_begun, known_columns
from siltstone.engine.table.column_renames import stored_first_names
from siltstone.engine.table.commit import newest_summary


def decoded_otherwise(spark: SparkSession, catalog: str, spec: TableSpec) -> list[str]:
    """The settings of the spec that the stored changes were not decoded with. Empty if there are no changes."""
    if not has_begun(spark, catalog, spec.target.changes):
        return []
    by_old = new_names(spec)
    stored = known_columns(spark, catalog, spec.target.changes)[1]
    keys, row = known_columns(spark, catalog, spec.target.changes, by_old)
    summary = newest_summary(spark, catalog, spec.target.changes)
    wrong_names = list(other_names(spec, stored, stored_first_names(spark, catalog, spec.target.changes)))
    if wrong_names:
        return wrong_names
    return [*other_keys(spec, keys, row), *other_masks(spec, row, summary), *other_reading(spec, row, summary)]


def other_keys(spec: TableSpec, known: tuple[str, ...], row: T.StructType) -> Iterator[str]:
    """The key, if the spec names another one. In a keyless table the key is the whole row."""
    shard = (names.SOURCE,) if spec.source.several == SHARDS else ()
    keys = (*shard, *(spec.keys or ()))
    differ = set(known) != set(row.names) if spec.keys == () else bool(spec.keys) and keys != known
    if differ or (names.SOURCE in known) != bool(shard):
        yield f"keys ({', '.join(keys) or 'none'} instead of {', '.join(known)})"


def other_masks(spec: TableSpec, row: T.StructType, summary: Mapping[str, str]) -> Iterator[str]:
    """The stored columns whose mask differs from the spec's. `summary`: the newest marker of `changes`."""
    if names.SUMMARY_MASKS in summary:
        stored, declared = json.loads(summary[names.SUMMARY_MASKS]), mask_fingerprints(spec)
        firsts = {name: first_name(spec, name) for name in row.names}
        yield from (
            f"the mask of column {n}" for n, first in firsts.items() if stored.get(first) != declared.get(first)
        )


def other_reading(spec: TableSpec, row: T.StructType, summary: Mapping[str, str]) -> Iterator[str]:
    """The columns with another stored type or other decode settings, and the decode settings of the source."""
    for name, column in (spec.columns or {}).items():
        if name in row.names and column.mask is None:
            wanted, kept = stored_type(parse_column_type(column.type)), row[name].dataType
            if not promotes(kept, wanted):
                yield f"column {name} ({wanted.simpleString()} instead of {kept.simpleString()})"
    stored, declared = json.loads(summary.get(names.SUMMARY_DECODED, "{}")), decode_fingerprints(spec)
    what = {SOURCE: "how the source writes values, times or positions", EPOCHS: "the rules of source.epoch"}
    for name in sorted(stored.keys() & declared.keys()):
        is_same = declared[name].startswith(stored[name]) if name == EPOCHS else declared[name] == stored[name]
        if not is_same:
            yield what.get(name, f"how {name} is read")

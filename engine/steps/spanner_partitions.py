"""Read Spanner's partition records: which partitions start, with which parents, and which end.

Records spell their fields in two ways. Only this module knows both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

CHILDREN: Final = ("child_partitions", "childPartitions")
PARENTS: Final = ("parent_partition_tokens", "parentPartitionTokens")
STARTED: Final = ("partition_tokens", "partitionTokens")
ENDED: Final = ("partition_token", "partitionToken")
_CHILD: Final = f"struct<token string, {', '.join(f'{name} array<string>' for name in PARENTS)}>"
_PAYLOAD: Final = f"struct<{', '.join(f'{name}: array<{_CHILD}>' for name in CHILDREN)}>"


def children(payload: Column) -> Column:
    """The children that a record names: an array of (token, parents); null if it names none.

    The first query of a stream names its partitions with one parent that is null. They have no parents.
    """
    parsed = F.from_json(payload, _PAYLOAD)
    named = F.coalesce(*[parsed[name] for name in CHILDREN])

    def child(one: Column) -> Column:
        parents = F.coalesce(*[one[name] for name in PARENTS])
        return F.struct(one["token"].alias("token"), F.array_compact(parents).alias("parents"))

    return F.transform(named, child)


def started_partitions(payload: str) -> list[str]:
    """The new partitions that a record names: children, or partitions that start."""
    record = json.loads(payload)
    named = [child["token"] for child in _spelled(record, CHILDREN) or []]
    return [*named, *(_spelled(record, STARTED) or [])]


def ended(payload: str) -> str | None:
    """The partition whose end a record reports; None if it names none."""
    token = _spelled(json.loads(payload), ENDED)
    return None if token is None else str(token)


def _spelled(record: Mapping[str, Any], spellings: tuple[str, ...]) -> Any:
    return next((record[name] for name in spellings if name in record), None)

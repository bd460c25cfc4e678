"""The VGTID of Vitess: the JSON text of an array with the GTID set of every shard.

[{"keyspace": "commerce", "shard": "-80", "gtid": "MySQL56/a1:1-68,b2:1-3:5"}]    72 transactions
[{"keyspace": "commerce", "shard": "-80", "gtid": "MariaDB/0-54610504-47"}]       47: each domain counts its own

https://debezium.io/documentation/reference/stable/connectors/vitess.html
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse
from siltstone.engine.decode.position_text import number_at_end

_INTERVAL: Final = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_MARIADB: Final = "MariaDB"


@lru_cache(maxsize=1_000)
def number_of_transactions(vgtid: str, shard: str) -> int | None:
    """The number of transactions in the GTID set of a shard; None if the VGTID has no set of the shard."""
    try:
        sets = {str(one["shard"]): str(one["gtid"]) for one in parse(vgtid)}
    except (*PARSE_ERRORS, TypeError, KeyError):
        return None
    return _number_in_set(sets[shard]) if shard in sets else None


def _number_in_set(gtids: str) -> int | None:
    flavor, _, listed = gtids.partition("/")
    numbers = [_number_in_part(part, flavor) for part in listed.split(",")]
    return None if None in numbers else sum(number for number in numbers if number is not None)


def _number_in_part(part: str, flavor: str) -> int | None:
    """The number of transactions of a server or a domain."""
    if flavor == _MARIADB:
        return number_at_end(part)
    _, *intervals = part.split(":")
    found = [_INTERVAL.fullmatch(interval) for interval in intervals]
    if not found or None in found:
        return None
    return sum(int(one[2] or one[1]) - int(one[1]) + 1 for one in found if one is not None)

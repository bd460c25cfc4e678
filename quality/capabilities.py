"""Which checks a source can carry at all: one table, by the kind of source and check, with the reason where not.

A check that a source does not carry is not available, never passed. What a source could carry and did not (no before
images, no heartbeats) is found out from its changes, in `quality.scope`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from quality import catalogue as c

NO_BEFORE: Final = "its changes carry no row before"
NO_SIZE: Final = "its events do not say how much their transaction holds"
NO_FILES: Final = "its log has no numbered files"
MANY_LOGS: Final = "its records can come from several logs, and do not say from which"
NO_WINDOWS: Final = "it has no markers of snapshot windows"
NO_NOTICE: Final = "it does not tell when a snapshot has seen the whole table"
NO_READS: Final = "it has no snapshot READs"
NO_BEATS: Final = "it sends no heartbeats"
UPSERTS: Final = "rows do not say whether they are new"
NO_LANE: Final = "its files are in no order"
OWN_PLACE: Final = "its order is where events stand: it cannot go backwards"
OWN_TIME: Final = "its order is that of commit times"

_NO_SNAPSHOTS: Final = {
    c.OPEN_WINDOW: NO_WINDOWS,
    c.SHORT_SNAPSHOT: NO_NOTICE,
    c.GHOST_ROW: NO_NOTICE,
}
_DATASTREAM: Final = _NO_SNAPSHOTS | {
    c.CHAIN_BREAK: NO_BEFORE,
    c.INCOMPLETE_TRANSACTION: NO_SIZE,
    c.POSITIONS_BACKWARDS: NO_LANE,
    c.STALLED_SOURCE: NO_BEATS,
}

NOT_CARRIED: Final[dict[str, dict[str, str]]] = {
    "postgresql": {},
    "mysql": {},
    "mariadb": {},
    "oracle": {c.LOG_GAP: NO_FILES},
    "sqlserver": {c.LOG_GAP: NO_FILES},
    "datastream-mysql": _DATASTREAM,
    "datastream-oracle": _DATASTREAM | {c.LOG_GAP: NO_FILES},
    "datastream-postgresql": _DATASTREAM | {c.LOG_GAP: NO_FILES, c.TIME_AGAINST_ORDER: OWN_TIME},
    "datastream-sqlserver": _DATASTREAM | {c.LOG_GAP: NO_FILES, c.TIME_AGAINST_ORDER: OWN_TIME},
    "canal": _NO_SNAPSHOTS | {c.INCOMPLETE_TRANSACTION: NO_SIZE, c.LOG_GAP: NO_FILES, c.POSITIONS_BACKWARDS: OWN_PLACE},
    "spanner": _NO_SNAPSHOTS | {c.LOG_GAP: NO_FILES, c.TIME_AGAINST_ORDER: OWN_TIME, c.SNAPSHOT_READS: NO_READS},
    "shareplex": _NO_SNAPSHOTS | {c.LOG_GAP: NO_FILES, c.STALLED_SOURCE: NO_BEATS, c.SNAPSHOT_READS: NO_READS},
    "dts": _NO_SNAPSHOTS | {c.INCOMPLETE_TRANSACTION: NO_SIZE, c.LOG_GAP: MANY_LOGS},
    "rows": _NO_SNAPSHOTS
    | {
        c.CHAIN_BREAK: NO_BEFORE,
        c.ORPHAN: UPSERTS,
        c.DOUBLE_INSERT: UPSERTS,
        c.INCOMPLETE_TRANSACTION: NO_SIZE,
        c.LOG_GAP: NO_FILES,
        c.POSITIONS_BACKWARDS: NO_LANE,
        c.STALLED_SOURCE: NO_BEATS,
        c.SNAPSHOT_READS: NO_READS,
    },
}
"""Kind of source (how `source` begins, up to the colon) -> check -> why it cannot be carried. What is not here can."""

SHOWN: Final[tuple[tuple[str, str], ...]] = (
    ("debezium-json, debezium-avro: PostgreSQL", "postgresql"),
    ("debezium-json, debezium-avro: MySQL, MariaDB", "mysql"),
    ("debezium-json, debezium-avro: Oracle, SQL Server", "oracle"),
    ("datastream-json, datastream-avro: MySQL", "datastream-mysql"),
    ("datastream-json, datastream-avro: Oracle", "datastream-oracle"),
    ("datastream-json, datastream-avro: PostgreSQL, SQL Server", "datastream-postgresql"),
    ("canal-json", "canal"),
    ("spanner-json", "spanner"),
    ("shareplex-json", "shareplex"),
    ("dts-avro", "dts"),
    ("rows", "rows"),
)
"""The lines of the table for people: formats, and the kind of source whose checks they have."""


def not_carried(sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The checks that none of these sources can carry, each with the reason. An unknown source can carry all."""
    kinds = [NOT_CARRIED.get(kind_of(source), {}) for source in sources]
    for check in kinds[0] if kinds else ():
        if all(check in kind for kind in kinds):
            yield check, f"not available for this format: {kinds[0][check]}"


def kind_of(source: str) -> str:
    """How a source begins: up to the colon; of DTS, whatever database it reads."""
    kind = source.partition(":")[0]
    return "dts" if kind.startswith("dts-") else kind


def as_markdown() -> str:
    """The table as the documentation shows it: a line a format, the checks it cannot carry and why."""
    lines = ["| format | not available | because |", "|---|---|---|"]
    for formats, kind in SHOWN:
        reasons: dict[str, list[str]] = {}
        for check, why in NOT_CARRIED[kind].items():
            reasons.setdefault(why, []).append(f"`{check}`")
        cells = [(", ".join(checks), why) for why, checks in reasons.items()] or [("(all are)", "")]
        lines += [f"| {formats if n == 0 else ''} | {checks} | {why} |" for n, (checks, why) in enumerate(cells)]
    return "\n".join(lines) + "\n"

"""The statements that write `history` and `latest`: text a person can read."""

from collections.abc import Iterable, Sequence

from engine import names
from engine.names import quoted

OPEN_ROWS = "open"
CLOSED_ROWS = "closed"


def history_merge(target: str, source: str, keys: Sequence[str], columns: Sequence[str], rows: str) -> str:
    """Update or delete versions in place.

    `rows`: OPEN_ROWS touches the null partition only (a key has one open version there); CLOSED_ROWS the others, where
    a version is known by its key and the change that opened it. New versions are appended, not merged.
    """
    same = [f"t.{quoted(key)} = s.{quoted(key)}" for key in keys]
    if rows == OPEN_ROWS:
        same.append(f"t.{quoted(names.VALID_TO)} IS NULL")
    else:
        same += [f"t.{quoted(name)} <=> s.{quoted(name)}" for name in (names.POSITION, names.OP, names.CHANGE_HASH)]
        # READs without a position can be the same but for their time.
        same.append(
            f"(t.{quoted(names.POSITION)} IS NOT NULL OR t.{quoted(names.COMMIT_TS)} <=> s.{quoted(names.COMMIT_TS)})"
        )
        same.append(f"t.{quoted(names.VALID_TO)} IS NOT NULL")
    return (
        f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {' AND '.join(same)}\n"
        f"WHEN MATCHED AND s.change = 'delete' THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments(columns)}"
    )


def latest_merge(target: str, source: str, keys: Sequence[str], columns: Sequence[str]) -> str:
    """Make `latest` follow `history`: a key's open live version, or nothing."""
    same = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)
    listed = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    return (
        f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {same}\n"
        f"WHEN MATCHED AND NOT s.{quoted(names.IS_CURRENT)} THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments(columns)}\n"
        f"WHEN NOT MATCHED AND s.{quoted(names.IS_CURRENT)} THEN INSERT ({listed}) VALUES ({values})"
    )


def keys_delete(target: str, source: str, keys: Sequence[str]) -> str:
    """Remove all rows of some keys. `source`: one row a key."""
    same = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)
    return f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {same}\nWHEN MATCHED THEN DELETE"


def assignments(columns: Iterable[str]) -> str:
    """Every column from the source row."""
    return ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in columns)

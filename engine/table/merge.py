"""The SQL statements that write `history` and `latest`, in a form that people can read."""

from collections.abc import Iterable, Sequence

from siltstone.engine import names
from siltstone.engine.names import quoted
from siltstone.engine.table.history_layout import PLAIN, RECORDED, Layout

OPEN_ROWS = "open"
CLOSED_ROWS = "closed"


def history_merge(
    target: str,
    source: str,
    keys: Sequence[str],
    columns: Sequence[str],
    rows: str,
    with_nulls: bool = False,
    layout: Layout = PLAIN,
) -> str:
    """Update or delete versions in place.

    `rows`: OPEN_ROWS matches the null partition only, where a key has one open version. CLOSED_ROWS matches the other
    partitions, where the key and the opening change identify a version. New versions are appended, not merged.
    `layout`: how the target stores rows. If it keeps recorded rows, the statement only ends them, and the new state is
    appended.
    """
    valid_to = quoted(layout.name(names.VALID_TO))
    same = same_key(keys, with_nulls)
    if rows == OPEN_ROWS:
        same.append(f"t.{valid_to} IS NULL")
    else:
        same += [f"t.{quoted(name)} <=> s.{quoted(name)}" for name in (names.POSITION, names.OP, names.CHANGE_HASH)]
        # READs without a position can differ in nothing but their time.
        same.append(
            f"(t.{quoted(names.POSITION)} IS NOT NULL OR t.{quoted(names.COMMIT_TS)} <=> s.{quoted(names.COMMIT_TS)})"
        )
        same.append(f"t.{valid_to} IS NOT NULL")
    if layout.recorded:
        return ended(target, source, same, layout)
    return (
        f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {' AND '.join(same)}\n"
        f"WHEN MATCHED AND s.{names.CHANGE} = 'delete' THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments(columns, layout)}"
    )


def history_insert(target: str, source: str, columns: Sequence[str], layout: Layout = PLAIN) -> str:
    """Append the rows that `history_merge` does not write: new versions, and new states of ended rows."""
    stored, values, which = [layout.name(name) for name in columns], [quoted(name) for name in columns], "= 'insert'"
    if layout.recorded:
        stored += RECORDED
        values += [f"timestamp_micros({layout.micros()})", "CAST(NULL AS TIMESTAMP)"]
        which = "<> 'delete'"
    return (
        f"INSERT INTO {target} ({', '.join(quoted(name) for name in stored)})\n"
        f"SELECT {', '.join(values)} FROM {quoted(source)} WHERE {names.CHANGE} {which}"
    )


def ended(target: str, source: str, same: Sequence[str], layout: Layout) -> str:
    """End these rows in a table that keeps recorded rows: set the time until which they were valid."""
    condition = " AND ".join([*same, f"t.{quoted(names.RECORDED_TO)} IS NULL"])
    return (
        f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {condition}\n"
        f"WHEN MATCHED THEN UPDATE SET t.{quoted(names.RECORDED_TO)} = timestamp_micros({layout.micros()})"
    )


def all_recorded(target: str, layout: Layout) -> str:
    """End all rows of a table that keeps recorded rows."""
    column = quoted(names.RECORDED_TO)
    return f"UPDATE {target} SET {column} = timestamp_micros({layout.micros()}) WHERE {column} IS NULL"


def latest_merge(
    target: str, source: str, keys: Sequence[str], columns: Sequence[str], with_nulls: bool = False
) -> str:
    """Make `latest` follow `history`: the open live version of a key, or no row."""
    same = " AND ".join(same_key(keys, with_nulls))
    listed = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    return (
        f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {same}\n"
        f"WHEN MATCHED AND NOT s.{quoted(names.IS_CURRENT)} THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments(columns)}\n"
        f"WHEN NOT MATCHED AND s.{quoted(names.IS_CURRENT)} THEN INSERT ({listed}) VALUES ({values})"
    )


def latest_overwrite(target: str, source: str, columns: Sequence[str]) -> str:
    """Replace `latest` as a whole. `source`: the open versions."""
    listed = ", ".join(quoted(name) for name in columns)
    current = quoted(names.IS_CURRENT)
    return f"INSERT OVERWRITE {target} ({listed})\nSELECT {listed} FROM {quoted(source)} WHERE {current}"


def keys_delete(target: str, source: str, keys: Sequence[str], with_nulls: bool = False, layout: Layout = PLAIN) -> str:
    """Remove all rows of some keys. `source`: one row per key."""
    if layout.recorded:
        return ended(target, source, same_key(keys, with_nulls), layout)
    same = " AND ".join(same_key(keys, with_nulls))
    return f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {same}\nWHEN MATCHED THEN DELETE"


def changes_delete(target: str, source: str, columns: Sequence[str]) -> str:
    """Remove changes. `columns`: the columns that identify a change."""
    return f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {all_same(columns)}\nWHEN MATCHED THEN DELETE"


def base_update(target: str, source: str, columns: Sequence[str]) -> str:
    """Make changes the base states of their keys. `source`: their row and present; one row per change."""
    return (
        f"MERGE INTO {target} AS t\nUSING {quoted(source)} AS s\nON {all_same(columns)}\nWHEN MATCHED THEN UPDATE SET"
        f" t.origin = '{names.ORIGIN_BASE}', t.`row` = s.`row`, t.present = s.present"
    )


def all_same(columns: Iterable[str]) -> str:
    """The condition that a row of the target and one of the source are equal in these columns."""
    return " AND ".join(f"t.{quoted(name)} <=> s.{quoted(name)}" for name in columns)


def same_key(keys: Sequence[str], with_nulls: bool) -> list[str]:
    """The conditions that a row of the target and one of the source have one key. `with_nulls`: null equals null."""
    equal = "<=>" if with_nulls else "="
    return [f"t.{quoted(key)} {equal} s.{quoted(key)}" for key in keys]


def assignments(columns: Iterable[str], layout: Layout = PLAIN) -> str:
    """The assignment of every column from the source row."""
    return ", ".join(f"t.{quoted(layout.name(name))} = s.{quoted(name)}" for name in columns)

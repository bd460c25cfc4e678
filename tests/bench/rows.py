"""The rows of the benchmark: every column is a function of (id, version). Arrays are drawn and printed at once."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Longs = npt.NDArray[np.int64]

CREATED_MICROS = 1_600_000_000_000_000
UPDATED_SECOND = 1_790_000_000
FIRST_NAMES = ("Ana", "Bo", "Chloé", "Dmitri", "Eun-ji", "Fatima", "Grace", "Håkon", "Ines", "Jürgen", "Lê", "山田")
LAST_NAMES = ("Almeida", "O'Brien", "Castaño", "Dąbrowski", "Evans", "Fischer", "García", "Ito", "Kim", "Nguyen")
STATES = ("new", "active", "dormant", "suspended", "closed")
WORDS = ("called", "back", "on", "invoice", 'said "later"', "paid", "half", "tab\there", "naïve", "C:\\temp", "über")
ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)


def images(ids: Longs, versions: Longs) -> pa.StringArray:
    """The JSON text of each row."""
    updated = (UPDATED_SECOND + ids % 86_400 + versions * 3_600).astype("datetime64[s]")
    return joined(
        '{"id":',
        number(ids),
        ',"name":',
        _pick(NAMES, draw(1, ids)),
        ',"email":"user',
        number(ids),
        '@example.com","balance":"',
        base64_decimals(cents(ids, versions)),
        '","status":',
        _pick(STATUSES, draw(2, ids, versions)),
        ',"created_at":',
        number(CREATED_MICROS + ids * 1_000_003),
        ',"updated_at":"',
        text(np.datetime_as_string(updated, unit="s")),
        'Z","score":',
        pc.cast(pa.array((draw(3, ids, versions) % 1_000_000) / 1000), pa.string()),
        ',"note":',
        _pick(NOTES, draw(4, ids, versions // 3)),
        ',"qty":',
        number(draw(5, ids, versions) % 1000),
        "}",
    )


def cents(ids: Longs, versions: Longs) -> Longs:
    """The balance, unscaled: one to nine digits, one in twenty negative."""
    size = draw(6, ids, versions)
    value = draw(7, ids, versions) % 10 ** (1 + size % 9)
    return np.where(size // 9 % 20 == 0, -value, value)


def draw(column: int, ids: Longs, versions: Longs | int = 0) -> Longs:
    """A number from 0 to 2**62 - 1 for each (column, id, version). It is random but always the same (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed += np.asarray(versions).astype(np.uint64) * np.uint64(0xD1B54A32D192ED03) + np.uint64(column << 32)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


def base64_decimals(values: Longs) -> pa.StringArray:
    """Kafka Connect's Decimal: the shortest big-endian two's complement of the unscaled value, in base64."""
    width = np.ones(len(values), np.int64)
    for size in range(1, 5):
        width += (values >= 1 << (8 * size - 1)) | (values < -(1 << (8 * size - 1)))
    out = np.zeros((len(values), 8), np.uint8)
    for size in range(1, 6):
        mine = width == size
        padded = -size % 3
        bits = (values[mine] & ((1 << 8 * size) - 1)) << (8 * padded)
        letters = (size + padded) // 3 * 4
        block = np.stack([ALPHABET[bits >> 6 * (letters - 1 - at) & 63] for at in range(letters)], axis=1)
        block[:, letters - padded :] = ord("=")
        out[mine, :letters] = block
    return text(out.view("S8").ravel())


def number(values: Longs) -> pa.StringArray:
    """Whole numbers as text."""
    return pc.cast(pa.array(values), pa.string())


def text(values: npt.NDArray[np.str_] | npt.NDArray[np.bytes_]) -> pa.StringArray:
    """A numpy text array as an Arrow one."""
    return pa.array(values.astype("S")).cast(pa.string())


def unless(absent: npt.NDArray[np.bool_], values: pa.StringArray) -> pa.StringArray:
    """JSON null if absent, otherwise the value."""
    return pc.if_else(pa.array(absent), "null", values)


def joined(*parts: pa.StringArray | str) -> pa.StringArray:
    """The joined parts of each line. A plain string is part of every line."""
    return pc.binary_join_element_wise(*parts, "")


def _pick(pool: pa.StringArray, draws: Longs) -> pa.StringArray:
    return pool.take(pa.array(draws % len(pool)))


def _notes() -> list[str | None]:
    """Notes of one to nine words. A third of them are null."""
    chosen = np.random.default_rng(0)
    notes = [" ".join(chosen.choice(WORDS, chosen.integers(1, 10))) for _ in range(1024)]
    return [note if at % 3 else None for at, note in enumerate(notes)]


def _quoted(values: list[str | None]) -> pa.StringArray:
    return pa.array([json.dumps(value, ensure_ascii=False) for value in values])


NAMES = _quoted([f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES])
STATUSES = _quoted(list(STATES))
NOTES = _quoted(_notes())

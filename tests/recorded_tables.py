"""The tables of the recorded streams, and canonical values to compare events, true rows and stored rows.

Canonical values are: int, str, bool, Decimal, float (NaN and infinities as text), bytes, tuple. Timestamps, times of
day and intervals are microseconds, dates are days since 1970, bits are a number, JSON is sorted text. A value that no
stored type can hold (infinity, zero dates, years before 1 or after 9999) is None.
"""

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = dict[str, Any]


def micros(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def moment(text: str) -> int | None:
    try:
        return micros(datetime.fromisoformat(text))
    except ValueError:  # infinity, zero dates, years before 1 or after 9999
        return None


def day(text: str) -> int | None:
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    except ValueError:
        return None


def real_day(number: int) -> int | None:
    return number if -719_162 <= number <= 2_932_896 else None


def real_moment(number: int) -> int | None:
    return number if -62_135_596_800_000_000 <= number <= 253_402_300_799_999_999 else None


def clock(text: str) -> int:
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    hours, minutes, seconds = text.split(":")
    return sign * int(Decimal(seconds) * 1_000_000 + (int(minutes) + 60 * int(hours)) * 60_000_000)


def clock_utc(text: str) -> int:
    clock_text, zone = (text[:-1], "00:00") if text.endswith("Z") else (text[:-6], text[-6:].lstrip("+"))
    return (clock(clock_text) - clock(zone + ":00")) % 86_400_000_000


def interval(text: str) -> int:
    """PostgreSQL's interval in Debezium's microseconds: a month is a twelfth of 365.25 days."""
    total = Decimal(0)
    words = text.split()
    if words and ":" in words[-1]:
        total += clock(words.pop())
    unit = {"year": Decimal("365.25"), "mon": Decimal("30.4375"), "day": Decimal(1)}
    for number, name in zip(words[::2], words[1::2], strict=True):
        total += int(number) * unit[name.rstrip("s")] * 86_400_000_000
    return int(total)


def unscaled(scale: int) -> Callable[[str], Decimal]:
    return lambda text: Decimal(f"{int.from_bytes(base64.b64decode(text), 'big', signed=True)}E{-scale}")


def any_scale(value: dict[str, Any]) -> Decimal:
    return unscaled(value["scale"])(value["value"])


def single(value: Any) -> float | str:
    """A 4-byte float: the shortest text of the true row and the stored value round to the same number."""
    number = real(value)
    return struct.unpack("f", struct.pack("f", number))[0] if isinstance(number, float) else number


def real(value: Any) -> float | str:
    number = float(value)
    return number if abs(number) < float("inf") else str(number)


def document(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True)


def same(value: Any) -> Any:
    return value


def listed(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: tuple(None if v is None else of(v) for v in values)


@dataclass(frozen=True)
class Column:
    """A column: its type in a spec, and its canonical value from an event, from a true row and from a stored row."""

    type: str
    event: Callable[[Any], Any] = same
    truth: Callable[[Any], Any] = same
    stored: Callable[[Any], Any] = same


def decimal(precision: int, scale: int) -> Column:
    return Column(f"decimal({precision},{scale})", unscaled(scale), Decimal)


def stamp(type_: str, unit: int | None) -> Column:
    """`unit`: the microseconds of one unit in the event. None: the event has text."""
    return Column(type_, moment if unit is None else lambda n: real_moment(n * unit), moment, micros)


TEXT = Column("string")
FLAG = Column("boolean", bool, bool)
DATE = Column("date", real_day, day, lambda d: (d - date(1970, 1, 1)).days)
BYTES = Column(
    "binary", base64.b64decode, lambda t: bytes.fromhex(t[2:]), bytes
)  # PostgreSQL's true rows have \\x and hexadecimal
BASE64 = Column(
    "binary", base64.b64decode, lambda t: base64.b64decode(t[7:]), bytes
)  # MariaDB's true rows have base64:...


def json_of(truth: Callable[[Any], Any]) -> Column:
    return Column("json", document, lambda v: json.dumps(truth(v), sort_keys=True, default=float), document)


@dataclass(frozen=True)
class Table:
    name: str
    keys: tuple[str, ...]
    columns: dict[str, Column]
    defaults: Row = field(default_factory=dict)  # of columns that were added during the recording

    def canonical(self, row: Row, side: str) -> Row:
        """The row of the event, of the true rows or of the table, with canonical values. Absent columns stay absent."""
        values = {c: getattr(self.columns[c], side) for c in self.columns if c in row}
        return {c: None if row[c] is None else convert(row[c]) for c, convert in values.items()}


def sized(length: int) -> Column:
    """Bits of a fixed length: little-endian bytes in the event, a text of 0 and 1 in the table. One bit is a flag."""

    def event(value: Any) -> int:
        return int(value) if isinstance(value, bool) else int.from_bytes(base64.b64decode(value), "little")

    def truth(value: Any) -> int:
        return value if isinstance(value, int) else int(value, 2)

    return Column(
        "boolean" if length == 1 else f"bit({length})", event, truth, lambda v: int(v if length == 1 else int(v, 2))
    )


INTEGER, BIGINT, DOUBLE = Column("int"), Column("bigint"), Column("double", real, real, real)
UNSIGNED = Column("bigint unsigned", lambda n: n % 2**64, int, int)
POSTGRESQL = {
    table.name: table
    for table in (
        Table(
            "inventory.customers",
            ("id",),
            {
                "id": INTEGER,
                **dict.fromkeys(("first_name", "last_name", "email"), TEXT),
                "balance": decimal(12, 2),
                "vip": FLAG,
                "created_at": stamp("timestamp", None),
                "birthday": DATE,
                "tags": Column("array<string>", tuple, tuple, tuple),
                "profile": json_of(same),
                "blob": BYTES,
                "loyalty": INTEGER,
                "tier": TEXT,
            },
            {"tier": "std"},
        ),
        Table(
            "inventory.orders",
            ("order_id", "line"),
            {
                "order_id": BIGINT,
                "line": INTEGER,
                "sku": TEXT,
                "qty": BIGINT,
                "price": decimal(20, 6),
                "updated_at": stamp("timestamp_ntz(6)", 1),
            },
        ),
        Table(
            "inventory.wide_text",
            ("id",),
            {"id": BIGINT, "title": TEXT, "body": TEXT, "n": INTEGER, "late": TEXT},
            {"late": "dflt"},
        ),
        Table(
            "inventory.type_zoo",
            ("id",),
            {
                "id": Column("uuid"),
                "si": Column("smallint"),
                "bi": BIGINT,
                "r4": Column("float", single, single, single),
                "f8": DOUBLE,
                "num_any": Column("string", any_scale, Decimal, Decimal),
                "num_big": decimal(38, 10),
                "m": Column("enum"),
                "c": TEXT,
                "t": Column("time(6)", same, clock, clock),
                "ttz": Column("string", clock_utc, clock_utc, clock_utc),
                "ts3": stamp("timestamp_ntz(3)", 1000),
                "ts0": stamp("timestamp_ntz(0)", 1000),
                "iv": Column("bigint", same, interval),
                "b1": sized(1),
                "b8": sized(8),
                "vb": sized(16),
                "x": Column("xml"),
                **dict.fromkeys(("ip", "net", "mac"), TEXT),
                "ia": Column("array<int>", tuple, tuple, tuple),
                "ra": Column("array<decimal(10,2)>", listed(unscaled(2)), listed(Decimal), tuple),
                "r": TEXT,
                "pt": Column(
                    "string",
                    lambda p: (p["x"], p["y"]),
                    lambda p: tuple(float(x) for x in p[1:-1].split(",")),
                    lambda text: (json.loads(text)["x"], json.loads(text)["y"]),
                ),
                "mon": Column("decimal(19,2)", unscaled(2), lambda t: Decimal(t[1:])),
                "js": json_of(same),
                "oidc": Column("bigint", int, int),
                "body": TEXT,
            },
        ),
    )
}
MARIADB = {
    table.name: table
    for table in (
        Table(
            "shop.customers",
            ("id",),
            {
                "id": INTEGER,
                **dict.fromkeys(("name", "nick"), TEXT),
                "balance": decimal(16, 2),
                "created_at": stamp("timestamp_ntz(6)", 1),
                "updated_at": stamp("timestamp", None),
                "birth": DATE,
                "profile": json_of(json.loads),
                "tier": Column("enum"),
                "active": Column("smallint"),
                "photo": BASE64,
                "loyalty": BIGINT,
            },
            {"loyalty": 7},
        ),
        Table(
            "shop.orders",
            ("cust_id", "order_no"),
            {
                **dict.fromkeys(("cust_id", "order_no"), INTEGER),
                "status": TEXT,
                "amount": decimal(12, 2),
                "qty": INTEGER,
                "note": TEXT,
                "placed_at": stamp("timestamp_ntz(6)", 1),
                "channel": TEXT,
            },
            {"channel": "web"},
        ),
        Table(
            "shop.typezoo",
            ("id",),
            {
                "id": UNSIGNED,
                "f": Column("float", single, single, single),
                "d": DOUBLE,
                "bits": sized(10),
                "b1": sized(1),
                "yr": INTEGER,
                "tm": Column("time(3)", same, clock, clock),
                "tags": Column("enum"),
                "ch": TEXT,
                **dict.fromkeys(("vb", "bn"), BASE64),
                "mi": INTEGER,
                "bu": UNSIGNED,
                "iu": BIGINT,
                **dict.fromkeys(("tu", "t8"), Column("smallint")),
                "ts3": stamp("timestamp", None),
                "dt0": stamp("timestamp_ntz(0)", 1000),
                "dt3": stamp("timestamp_ntz(3)", 1000),
                "big": decimal(30, 10),
                "txt": TEXT,
                "zero_d": DATE,
            },
        ),
    )
}

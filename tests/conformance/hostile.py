"""Hostile records: valid records with changed bytes, and records with values that no source sends.

The values are drawn in plain Python, so that a seed reproduces them. A decoder gets hundreds of them in one pass.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from tests.conformance.encode_dts_avro import DtsAvro
from tests.conformance.encode_framed import Framed
from tests.conformance.encoder import Encoder
from tests.conformance.workload import Row

TOKENS = [b"null", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\u0000", b"\\ud800", b"\xff\xfe", b"\xc3"]
TOKENS += [b"\x00", b"1e999", b"-", b"9" * 40, b"0x", b"NaN", b"\r", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b" ", b"true"]
TOKENS += [b"''", b"/**/"]
WORDS = [
    "", " ", "\x00", "NaN", "-Infinity", "1e400", "1E-999999999", "1E999999999", "9" * 400, "0." + "0" * 400 + "1",
    "-0", "2024-02-30T25:61:61Z", "99999-01-01", "-0001-01-01", "0000-00-00", "24:00:00", "{", "[", "null", "\ud800",
    "x" * 70_000, "a.b.c.d", ".", "..", "`", '"', "\\", "%", "$1", "1/0", "FFFFFFFFF/FFFFFFFFF", "7fffffffffffffff",
    "mysql-bin.", "-1@-1", "decimal(99,98)", "decimal(-1)", "enum('", "varchar(99999999999)", '{"code":"ARRAY"}',
    '{"a": [', "\uff21", "\u0130", "\u00df",
]  # fmt: skip
NUMBERS = [0, -1, 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**40, 0.1, -0.0, 1e308, 5e-324]
HOSTILE: list[Any] = [None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["x", 1, {}]]
HOSTILE += [*NUMBERS, *WORDS]
MONSTERS = [
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"' + b"k" * 60_000 + b'": 1}',
    b'{"op": ' + b"9" * 5_000 + b"}",
    b'{"a": 1, "a": 2, "op": "c", "op": "d"}',
    b"\xff" * 100,
    b"\x00" * 48,
    b'"' + b"A" * 100_000 + b'"',
    b"\xef\xbb\xbf{}",
    b"{}",
    b"[]",
    b"[{}]",
    b"0",
    b"true",
    b'""',
    b"'",
    b"null null",
]


def hostile_lines(encoder: Encoder, lines: list[str], seed: int, many: int) -> list[bytes]:
    """Make `many` lines from good lines, and add lines that are invalid in every format. None has a line end."""
    draw = random.Random(f"{seed} {encoder.name}")
    variants: list[Callable[[random.Random, str], bytes]] = [with_changed_bytes, with_changed_values]
    if isinstance(encoder, DtsAvro):
        variants = [with_changed_bytes, in_base64, lambda draw, line: with_invalid_values(encoder, draw, line)]
    elif isinstance(encoder, Framed):
        variants = [with_changed_bytes, with_changed_values, in_base64]
    found = [variants[number % len(variants)](draw, draw.choice(lines)) for number in range(many)]
    return [line.replace(b"\n", b" ") or b" x" for line in [*found, *MONSTERS]]


def with_changed_bytes(draw: random.Random, line: str) -> bytes:
    """Change, remove, repeat, replace or insert some bytes."""
    return damaged_bytes(draw, line.encode("utf-8", "surrogatepass"), TOKENS)


def damaged_bytes(draw: random.Random, data: bytes, tokens: list[bytes]) -> bytes:
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(found) + 1)
        some = slice(at, at + draw.choice((1, 1, 2, 8, 100)))
        match draw.randrange(7):
            case 0:
                found[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del found[some]
            case 2:
                found[at:at] = found[some]
            case 3:
                found[at:at] = draw.choice(tokens)
            case 4:
                found[some] = draw.choice(tokens)
            case 5:
                found[at : at + 1] = bytes([(found[at] ^ (1 << draw.randrange(8))) if at < len(found) else 0])
            case 6:
                del found[at + 1 :]
        if not found:
            return b" "
    return bytes(found)


def with_changed_values(draw: random.Random, line: str) -> bytes:
    """Replace, remove, rename or nest one or two values of the record."""
    record = json.loads(line)
    for _ in range(draw.choice((1, 1, 2))):
        places = list(nested_values(record))
        if not places:
            break
        holder, name = draw.choice(places)
        match draw.randrange(6):
            case 0 if isinstance(holder, dict):
                del holder[name]
            case 1 if isinstance(holder, dict):
                holder[draw.choice((name.upper(), name + " ", "", "_" + name, name * 2))] = holder.pop(name)
            case 2 if isinstance(holder[name], (dict, list)):
                holder[name] = json.dumps(holder[name])
            case 3:
                holder[name] = [holder[name]]
            case _:
                holder[name] = deepcopy(draw.choice(HOSTILE))
    return json.dumps(record).encode()


def nested_values(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside a JSON value, as its container and its name or index."""
    names = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for name in names:
        yield value, name
        yield from nested_values(value[name])


def in_base64(draw: random.Random, line: str) -> bytes:
    """Change bytes of the message, not bytes of the line."""
    record = json.loads(line) if line.startswith("{") else {"value": line}
    if record["value"] is None:
        return with_changed_bytes(draw, line)
    changed = damaged_bytes(draw, base64.b64decode(record["value"]), [bytes([n] * 3) for n in (0, 1, 0x7F, 0x80, 0xFF)])
    text = base64.b64encode(changed).decode()
    return (json.dumps(record | {"value": text}) if line.startswith("{") else text).encode()


def with_invalid_values(encoder: DtsAvro, draw: random.Random, line: str) -> bytes:
    """A record with valid bytes and invalid values."""
    record = encoder.opened(line)
    for _ in range(draw.choice((1, 1, 2))):
        make_invalid(draw, record)
    return encoder.closed(record).encode()


def make_invalid(draw: random.Random, record: Row) -> None:
    word, number = draw.choice(WORDS).replace("\ud800", "?"), draw.choice((0, -1, 2**31 - 1, -(2**31), 61, 99))
    image = draw.choice(("beforeImages", "afterImages"))
    match draw.randrange(8):
        case 0:
            record[draw.choice(("sourcePosition", "sourceTxid", "objectName"))] = word
        case 1:
            record["tags"][draw.choice(("pk_uk_info", "l_db_name", "l_tb_name", "readerThroughoutTime"))] = word
        case 2:
            record[draw.choice(("sourceTimestamp", "id", "version"))] = number
        case 3:
            record["operation"] = draw.choice(("INSERT", "UPDATE", "DELETE", "INIT", "DDL", "NOOP", "FILL"))
        case 4:
            record[image] = draw.choice((None, word, [], [None]))
        case 5 if isinstance(record["fields"], list) and record["fields"]:
            draw.choice(record["fields"]).update(draw.choice(({"name": word}, {"dataTypeNumber": number})))
        case _ if isinstance(record[image], list) and record[image]:
            record[image][draw.randrange(len(record[image]))] = odd_value(draw, word, number)
        case _:
            record["source"]["sourceType"] = draw.choice(("Oracle", "PostgreSQL", "DRDS", "Redis", "OTHER"))


def odd_value(draw: random.Random, word: str, number: int) -> Any:
    """A value of the union, which can be wrong for the type of the column."""
    parts = dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "millis"), number)
    data = draw.choice((b"", b"\xff\xfe", b"\x01{", word.encode()))
    return draw.choice(
        [
            None, "NULL", "NONE",
            ("Integer", {"precision": number, "value": word}),
            ("Decimal", {"precision": number, "scale": draw.choice((number, 0, 50)), "value": word}),
            ("Character", {"charset": draw.choice(("utf8", "gbk", "", word)), "value": data}),
            ("Float", {"value": draw.choice((float("nan"), float("inf"), 1e308)), "precision": 0, "scale": 0}),
            ("Timestamp", {"timestamp": draw.choice((number, 2**63 - 1, -(2**63))), "millis": number}),
            ("DateTime", parts | {"year": draw.choice((None, number))}),
            ("TimestampWithTimeZone", {"value": parts, "timezone": word}),
            ("BinaryObject", {"type": word, "value": data}),
            ("TextObject", {"type": word, "value": word}),
            ("TextGeometry", {"type": word, "value": word}),
        ]
    )  # fmt: skip

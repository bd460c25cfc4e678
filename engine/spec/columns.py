"""The language of column types: Spark SQL types, and words that also name the source's encoding of a value.

`parse_column_type("timestamp(3)")` gives the Spark type that is stored (`timestamp`) and the encoding the events use
(milliseconds). Needs no JVM; `ColumnType.data_type()` gives the pyspark value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from siltstone.engine.spec.wording import nearest, shown

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

Kind = Literal[
    "boolean", "integer", "floating", "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz",
    "time", "unsigned", "bits", "json", "uuid", "enum", "xml", "array", "map", "struct",
]  # fmt: skip


class ColumnTypeError(ValueError):
    """A text that is not a column type: what is wrong, and what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class SourceEncoding:
    """How events encode the value. `precision`: digits of a second, bits, or decimal digits; None if not declared."""

    kind: Kind
    precision: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A parsed column type: the text as written, the stored Spark type, the encoding, and the inner types.

    `children` are `(("element", t),)` of an array, `(("key", k), ("value", v))` of a map, the fields of a struct.
    """

    text: str
    spark_type: str
    source_encoding: SourceEncoding
    children: tuple[tuple[str, ColumnType], ...] = ()

    def data_type(self) -> DataType:
        """The type as a pyspark value, built without a session."""
        from pyspark.sql import types as T

        parts = [child.data_type() for _, child in self.children]
        match self.source_encoding.kind:
            case "array":
                return T.ArrayType(parts[0])
            case "map":
                return T.MapType(parts[0], parts[1])
            case "struct":
                return T.StructType(
                    [T.StructField(name, part) for (name, _), part in zip(self.children, parts, strict=True)]
                )
        if self.spark_type.startswith("decimal"):
            precision, scale = (int(digits) for digits in re.findall(r"\d+", self.spark_type))
            return T.DecimalType(precision, scale)
        plain: dict[str, DataType] = {
            "boolean": T.BooleanType(), "int": T.IntegerType(), "bigint": T.LongType(), "float": T.FloatType(),
            "double": T.DoubleType(), "string": T.StringType(), "binary": T.BinaryType(), "date": T.DateType(),
            "timestamp": T.TimestampType(), "timestamp_ntz": T.TimestampNTZType(),
        }  # fmt: skip
        return plain[self.spark_type]


_PLAIN: Final[dict[str, tuple[str, Kind]]] = {
    "boolean": ("boolean", "boolean"), "bool": ("boolean", "boolean"),
    "tinyint": ("int", "integer"), "byte": ("int", "integer"),
    "smallint": ("int", "integer"), "short": ("int", "integer"),
    "int": ("int", "integer"), "integer": ("int", "integer"),
    "bigint": ("bigint", "integer"), "long": ("bigint", "integer"),
    "float": ("float", "floating"), "real": ("float", "floating"), "double": ("double", "floating"),
    "string": ("string", "string"), "date": ("date", "date"),
    "binary": ("binary", "binary"), "bytes": ("binary", "binary"),
    "json": ("string", "json"), "uuid": ("string", "uuid"), "enum": ("string", "enum"), "xml": ("string", "xml"),
}  # fmt: skip
_UNSIGNED: Final[dict[str, tuple[str, Kind]]] = {
    "tinyint": ("int", "integer"),
    "smallint": ("int", "integer"),
    "int": ("bigint", "integer"),
    "integer": ("bigint", "integer"),
    "bigint": ("decimal(20,0)", "unsigned"),
}
_TIMED: Final[dict[str, tuple[str, Kind]]] = {
    "timestamp": ("timestamp", "timestamp"),
    "timestamp_ltz": ("timestamp", "timestamp"),
    "timestamp_ntz": ("timestamp_ntz", "timestamp_ntz"),
    "time": ("string", "time"),
}
_MADE_OF: Final = ("decimal", "numeric", "varchar", "char", "bit", "array", "map", "struct")
_REFUSED: Final = {
    "variant": "declare json: siltstone stores its text.",
    "interval": "declare string, or bigint if the source sends microseconds.",
    "void": "leave the column out.",
}
_OF_DATABASES: Final = {
    "timestamp": ("timestamptz", "datetimeoffset"),
    "timestamp_ntz": ("datetime", "datetime2", "smalldatetime"),
    "time": ("timetz",),
    "string": (
        "text", "tinytext", "mediumtext", "longtext", "ntext", "citext", "nvarchar", "varchar2", "nvarchar2", "nchar",
        "bpchar", "clob", "nclob", "inet", "cidr", "macaddr", "set", "str",
    ),
    "json": ("jsonb", "document", "super"),
    "int": ("int2", "int4", "int32", "serial", "mediumint", "year"),
    "bigint": ("int8", "int64", "bigserial"),
    "float": ("float4", "float32"),
    "double": ("float8", "float64", "binary_double"),
    "decimal(38,9)": ("number", "bignumeric"),
    "decimal(19,4)": ("money", "smallmoney"),
    "binary": ("bytea", "blob", "tinyblob", "mediumblob", "longblob", "varbinary", "image", "raw", "bytestring"),
    "uuid": ("uniqueidentifier", "guid"),
}  # fmt: skip
_SUGGESTED: Final = {name: ours for ours, names in _OF_DATABASES.items() for name in names}
"""Types of databases and languages, with the type to write instead."""
TYPE_WORDS: Final = (*dict.fromkeys([*_PLAIN, *_TIMED, *_MADE_OF]), "bigint unsigned")

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|(\w+)|([<>(),:]))")


def parse_column_type(text: str) -> ColumnType:
    """Parse a column type.

    Raises: ColumnTypeError with the reason, and the nearest type as a hint.
    """
    parser = _Parser(text, _tokens(text))
    parsed = parser.column_type()
    if parser.ahead():
        raise ColumnTypeError(f"{shown(text)} has more text after the type, at {shown(parser.ahead())}")
    return ColumnType(text, parsed.spark_type, parsed.source_encoding, parsed.children)


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ColumnTypeError(f"{shown(text)} is not a column type, at {shown(text[at:].strip())}")
        tokens.append(match.group().strip())
        at = match.end()
    return tokens


@dataclass
class _Parser:
    """Reads tokens from left to right, with one method per construct."""

    text: str
    tokens: list[str]
    at: int = 0

    def ahead(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.ahead()
        self.at += 1
        return token

    def expect(self, wanted: str) -> None:
        found = self.take()
        if found != wanted:
            where = shown(found) if found else "its end"
            raise ColumnTypeError(f"{shown(self.text)} is not a column type: '{wanted}' is missing before {where}")

    def column_type(self) -> ColumnType:
        start = self.at
        word = self.take().lower()
        parsed = self._after(word)
        return ColumnType(" ".join(self.tokens[start : self.at]), *parsed)

    def _after(self, word: str) -> _Parsed:
        constructs: dict[str, Callable[[], _Parsed]] = {
            "decimal": self._decimal, "numeric": self._decimal, "dec": self._decimal,
            "varchar": self._text, "char": self._text, "bit": self._bits,
            "array": self._array, "map": self._map, "struct": self._struct,
        }  # fmt: skip
        if word in constructs:
            return constructs[word]()
        if word in _TIMED:
            return self._timed(word)
        if word in _PLAIN and self.ahead().lower() == "unsigned":
            return self._unsigned(word)
        if word in _PLAIN:
            spark_type, kind = _PLAIN[word]
            return spark_type, SourceEncoding(kind), ()
        raise self._unknown(word)

    def _unknown(self, word: str) -> ColumnTypeError:
        if word in _REFUSED:
            return ColumnTypeError(f"columns of type {word} cannot be stored", _REFUSED[word])
        match = _SUGGESTED.get(word) or nearest(word, TYPE_WORDS)
        hint = f"did you mean '{match}'?" if match else "docs/reference/spec.md lists the types."
        return ColumnTypeError(f"{shown(self.text)} is not a column type", hint)

    def _numbers(self, word: str, low: int, high: int) -> list[int]:
        """The numbers in parentheses after the word, or none."""
        if self.ahead() != "(":
            return []
        self.expect("(")
        found: list[int] = []
        while True:
            token = self.take()
            if not token.isascii() or not token.isdigit() or not low <= int(token) <= high:
                raise ColumnTypeError(f"{shown(self.text)}: {word} takes numbers from {low} to {high}")
            found.append(int(token))
            if self.ahead() != ",":
                break
            self.expect(",")
        self.expect(")")
        return found

    def _one_number(self, word: str, low: int, high: int) -> int | None:
        numbers = self._numbers(word, low, high)
        if len(numbers) > 1:
            raise ColumnTypeError(f"{shown(self.text)}: {word} takes one number")
        return numbers[0] if numbers else None

    def _decimal(self) -> _Parsed:
        numbers = self._numbers("decimal", 0, 38)
        if len(numbers) not in (1, 2):
            raise ColumnTypeError(f"{shown(self.text)} has no number of digits", "write decimal(12,2).")
        precision, scale = numbers[0], numbers[1] if len(numbers) == 2 else 0
        if precision == 0 or scale > precision:
            raise ColumnTypeError(
                f"{shown(self.text)}: decimal needs 1 to 38 digits, and a scale not greater than that"
            )
        return f"decimal({precision},{scale})", SourceEncoding("decimal", precision), ()

    def _text(self) -> _Parsed:
        self._one_number("varchar", 1, 2**31 - 1)
        return "string", SourceEncoding("string"), ()

    def _bits(self) -> _Parsed:
        return "string", SourceEncoding("bits", self._one_number("bit", 1, 2**31 - 1) or 1), ()

    def _timed(self, word: str) -> _Parsed:
        spark_type, kind = _TIMED[word]
        return spark_type, SourceEncoding(kind, self._one_number(word, 0, 9)), ()

    def _unsigned(self, word: str) -> _Parsed:
        self.take()
        if word not in _UNSIGNED:
            raise ColumnTypeError(f"{shown(self.text)}: only whole numbers are unsigned", "use bigint unsigned.")
        spark_type, kind = _UNSIGNED[word]
        return spark_type, SourceEncoding(kind), ()

    def _array(self) -> _Parsed:
        self.expect("<")
        element = self.column_type()
        self.expect(">")
        return f"array<{element.spark_type}>", SourceEncoding("array"), (("element", element),)

    def _map(self) -> _Parsed:
        self.expect("<")
        key = self.column_type()
        self.expect(",")
        value = self.column_type()
        self.expect(">")
        if key.source_encoding.kind == "map":
            raise ColumnTypeError(f"{shown(self.text)}: a map cannot be the key of a map")
        return f"map<{key.spark_type},{value.spark_type}>", SourceEncoding("map"), (("key", key), ("value", value))

    def _struct(self) -> _Parsed:
        self.expect("<")
        fields = [self._field()]
        while self.ahead() == ",":
            self.expect(",")
            fields.append(self._field())
        self.expect(">")
        if len({name.casefold() for name, _ in fields}) < len(fields):
            raise ColumnTypeError(f"{shown(self.text)} names a field twice")
        inside = ",".join(f"{_quoted(name)}:{part.spark_type}" for name, part in fields)
        return f"struct<{inside}>", SourceEncoding("struct"), tuple(fields)

    def _field(self) -> tuple[str, ColumnType]:
        token = self.take()
        name = token[1:-1].replace("``", "`") if token.startswith("`") else token
        if not re.fullmatch(r"\w+", token) and not token.startswith("`"):
            raise ColumnTypeError(f"{shown(self.text)} is not a column type: a field needs a name")
        if self.ahead() == ":":
            self.expect(":")
        return name, self.column_type()


_Parsed = tuple[str, SourceEncoding, tuple[tuple[str, ColumnType], ...]]


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"`{name.replace('`', '``')}`"

"""Conditions over the columns of a row, written as in SQL: `op = 'D'`, `deleted AND NOT kept`, `kind IN ('d', 't')`.

The language has comparisons of a column with a literal, IN, IS NULL, a column alone (whether it is true), AND, OR, NOT
and parentheses. So a spec can be checked without a JVM, and a condition cannot fail on any row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

Literal = str | bool | Decimal
MOST_DIGITS: Final = 255
"""The most digits of a number before its decimal point: as many as positions can order."""


class PredicateError(ValueError):
    """A text that is not a condition, with the reason."""


@dataclass(frozen=True, slots=True)
class Compare:
    """A column compared with a literal. `sign`: =, <>, <, <=, >, >=."""

    column: str
    sign: str
    value: Literal


@dataclass(frozen=True, slots=True)
class OneOf:
    """A column that equals one of these literals."""

    column: str
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column that is null or absent."""

    column: str


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition."""

    part: Predicate


@dataclass(frozen=True, slots=True)
class All:
    """Conditions that must all hold."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Conditions of which at least one must hold."""

    parts: tuple[Predicate, ...]


Predicate = Compare | OneOf | IsNull | Not | All | Some

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<quoted>`(?:[^`]|``)+`)|(?P<number>[+-]?\d+(?:\.\d+)?)"
    r"|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"
)
_SIGNS: Final = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_WORDS: Final = ("and", "or", "not", "in", "is", "null", "true", "false")


def parse_predicate(text: str) -> Predicate:
    """Parse a condition.

    Raises: PredicateError.
    """
    parser = _Parser(_tokens(text))
    found = parser.some()
    rest = parser.ahead()
    if rest is not None:
        raise PredicateError(f"there is more text after its end, at {rest[1]}")
    return found


def columns_of(predicate: Predicate) -> Iterator[str]:
    """The columns that a condition names."""
    if isinstance(predicate, Not):
        yield from columns_of(predicate.part)
    elif isinstance(predicate, All | Some):
        for part in predicate.parts:
            yield from columns_of(part)
    else:
        yield predicate.column


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise PredicateError(f"it cannot be read from {text[at:].strip()} on")
        kind, found = match.lastgroup, match.group(match.lastgroup)
        is_keyword = kind == "word" and found.lower() in _WORDS
        tokens.append(("keyword", found.lower()) if is_keyword else (kind, found))
        at = match.end()
    return tokens


def _number(text: str) -> Decimal:
    if len(text.lstrip("+-0").split(".")[0]) > MOST_DIGITS:
        raise PredicateError(f"a number has more than {MOST_DIGITS} digits before its decimal point")
    return Decimal(text)


@dataclass
class _Parser:
    """Reads tokens from left to right; OR binds weakest, NOT strongest."""

    tokens: list[tuple[str, str]]
    at: int = 0

    def ahead(self) -> tuple[str, str] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def passed(self, *wanted: str) -> bool:
        """Skip one of these keywords or signs if it is next. Gives whether it was."""
        found = self.ahead()
        is_next = found is not None and found[0] in ("keyword", "sign") and found[1] in wanted
        self.at += is_next
        return is_next

    def expect(self, wanted: str) -> None:
        if not self.passed(wanted):
            found = self.ahead()
            raise PredicateError(f"'{wanted}' is missing {f'before {found[1]}' if found else 'at its end'}")

    def some(self) -> Predicate:
        parts = [self.all()]
        while self.passed("or"):
            parts.append(self.all())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def all(self) -> Predicate:
        parts = [self.one()]
        while self.passed("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def one(self) -> Predicate:
        if self.passed("not"):
            return Not(self.one())
        if self.passed("("):
            inside = self.some()
            self.expect(")")
            return inside
        return self.about(self.column())

    def column(self) -> str:
        kind, found = self.ahead() or ("end", "")
        if kind not in ("word", "quoted"):
            raise PredicateError(f"a column is missing {f'before {found}' if found else 'at its end'}")
        self.at += 1
        return found[1:-1].replace("``", "`") if kind == "quoted" else found

    def about(self, column: str) -> Predicate:
        if self.passed("is"):
            negated = self.passed("not")
            self.expect("null")
            return Not(IsNull(column)) if negated else IsNull(column)
        if self.passed("not"):
            self.expect("in")
            return Not(OneOf(column, self.values()))
        if self.passed("in"):
            return OneOf(column, self.values())
        sign = self.ahead()
        if sign is not None and sign[1] in _SIGNS and self.passed(sign[1]):
            return Compare(column, _SIGNS[sign[1]], self.value())
        return Compare(column, "=", True)

    def values(self) -> tuple[Literal, ...]:
        self.expect("(")
        found = [self.value()]
        while self.passed(","):
            found.append(self.value())
        self.expect(")")
        return tuple(found)

    def value(self) -> Literal:
        kind, found = self.ahead() or ("end", "its end")
        self.at += 1
        if kind == "text":
            return found[1:-1].replace("''", "'")
        if kind == "number":
            return _number(found)
        if (kind, found) in (("keyword", "true"), ("keyword", "false")):
            return found == "true"
        why = "nothing equals null; write IS NULL" if found == "null" else f"a value is missing before {found}"
        raise PredicateError(why)

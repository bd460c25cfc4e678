"""Glob patterns in paths, as Hadoop and Spark read them.

`*` matches any text and `?` any character inside one name. `[a-z]` matches one of these characters and `[^a-z]` any
other. `{a,b}` matches either text, which can contain folders. A backslash makes the next character literal.
"""

import re
from collections.abc import Iterator
from typing import Final

_SIGNS: Final = re.compile(r"[\\{}\[\]*?]")
_BEFORE_PATTERN: Final = re.compile(r"(?:[^\\{\[*?]|\\.)*", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PIECE: Final = re.compile(r"\\(.)|(\*)|(\?)|\[(\^|!)?((?:\\.|[^\]\\])+)\]|(.)", re.DOTALL)


def exactly(path: str) -> str:
    """A listed path for Spark's readers, with its pattern characters escaped, so that it matches only itself."""
    return _SIGNS.sub(r"\\\g<0>", path)


def plain_start(path: str) -> str:
    """The part of a path before its first pattern; the whole path if it has none."""
    found = _BEFORE_PATTERN.match(path)
    return plain(found[0] if found else "")


def is_pattern(path: str) -> bool:
    """Whether a path can name more than one file."""
    found = _BEFORE_PATTERN.match(path)
    return found is None or found[0] != path


def plain(path: str) -> str:
    """A path without the backslashes that escape its characters."""
    return _ESCAPED.sub(r"\1", path)


def alternatives(path: str) -> Iterator[str]:
    """The paths that a path with braces expands to, in order.

    Raises: ValueError: a brace is not closed.
    """
    start = _first_brace(path)
    if start < 0:
        yield path
        return
    parts, end = _parts(path, start)
    if "/" in path[start:end]:
        # Hadoop expands braces around folders before it reads the rest as a pattern, which removes one backslash.
        parts = [plain(part) for part in parts]
    for part in parts:
        yield from alternatives(f"{path[:start]}{part}{path[end:]}")


def _first_brace(path: str) -> int:
    at = 0
    while at < len(path):
        if path[at] == "\\":
            at += 1
        elif path[at] == "{":
            return at
        at += 1
    return -1


def _parts(path: str, start: int) -> tuple[list[str], int]:
    """The texts between the commas of the braces that open at `start`, and the place after the braces."""
    parts, depth, begin, at = [], 0, start + 1, start
    while at < len(path):
        sign = path[at]
        if sign == "\\":
            at += 1
        elif sign == "{":
            depth += 1
        elif sign == "," and depth == 1:
            parts.append(path[begin:at])
            begin = at + 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return [*parts, path[begin:at]], at + 1
        at += 1
    raise ValueError(f"a brace is not closed in {path}")


def name_pattern(name: str) -> re.Pattern[str]:
    """The regular expression of one name of a pattern without braces.

    Raises: ValueError: it is no pattern.
    """
    found = []
    for literal, any_text, any_sign, other, listed, sign in _PIECE.findall(name):
        if any_text:
            found.append(".*")
        elif any_sign:
            found.append(".")
        elif listed:
            found.append(f"[{'^' if other else ''}{listed.replace('[', chr(92) + '[')}]")
        else:
            found.append(re.escape(literal or sign))
    try:
        return re.compile("".join(found), re.DOTALL)
    except re.error as error:
        raise ValueError(f"{name} is no pattern ({error})") from error

"""Paths as Hadoop reads them: a name, or a pattern of names; a backslash takes the next sign as it is."""

import re
from typing import Final

_SIGNS: Final = re.compile(r"[\\{}\[\]*?]")
_BEFORE_PATTERN: Final = re.compile(r"(?:[^\\{\[*?]|\\.)*", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def exactly(path: str) -> str:
    """A listed path as Spark's readers are given it: they would look for more files where a name reads as a pattern."""
    return _SIGNS.sub(r"\\\g<0>", path)


def plain_start(path: str) -> str:
    """What a path says before its first pattern: all of one that has none."""
    found = _BEFORE_PATTERN.match(path)
    return plain(found[0] if found else "")


def is_pattern(path: str) -> bool:
    """Whether a path can name more than one file."""
    found = _BEFORE_PATTERN.match(path)
    return found is None or found[0] != path


def plain(path: str) -> str:
    """A path without the backslashes that take its signs as they are."""
    return _ESCAPED.sub(r"\1", path)

"""The documentation is written in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.markdown import listed, name_of, pages, prose

FORBIDDEN: Final = (
    "told", "tells", "untold", "beside", "behind", "stands", "anew", "again", "somebody", "nobody", "seldom",
    "mended", "withdrawn", "owed", "meant", "asked",
)  # fmt: skip
_WORD: Final = re.compile(rf"\b(?:{'|'.join(FORBIDDEN)})\b", re.IGNORECASE)


def forbidden_words(text: str) -> Iterator[str]:
    """The words outside of code that the documentation does not use, each with its line."""
    for number, line in enumerate(prose(text).splitlines(), 1):
        yield from (f"line {number}: {found.group()!r} in: {line.strip()}" for found in _WORD.finditer(line))


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_page_uses_plain_words(page: Path) -> None:
    problems = list(forbidden_words(page.read_text(encoding="utf-8")))
    assert not problems, listed(problems)


def test_a_forbidden_word_is_found_outside_of_code_only() -> None:
    text = (
        "Run it Again.\n\n```console\n$ again\n```\n\nThe `withdrawn` kind; [it](again.md) ``told ` told``\nis asked\n"
    )
    assert list(forbidden_words(text)) == [
        "line 1: 'Again' in: Run it Again.",
        "line 8: 'asked' in: is asked",
    ]

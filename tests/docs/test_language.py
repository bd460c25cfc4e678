"""The documentation and the code are written in plain English: their names, comments and docstrings, and messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.markdown import listed, name_of, pages, prose

FORBIDDEN: Final = (
    "told", "tells", "untold", "beside", "behind", "stands", "anew", "again", "somebody", "nobody", "seldom",
    "mended", "withdrawn", "owed", "meant", "asked",
)  # fmt: skip
WITHDRAWN: Final = "withdrawn"  # the outcome's name in reports and JSON
_WORD: Final = re.compile(rf"\b(?:{'|'.join(FORBIDDEN)})\b", re.IGNORECASE)
_PART_OF_NAME: Final = re.compile(rf"(?:^|_)(?:{'|'.join(FORBIDDEN)})(?:$|_)", re.IGNORECASE)
ROOT: Final = Path(__file__).parents[2]
MODULES: Final = sorted(
    path for folder in ("engine", "quality", "jobs", "tests") for path in (ROOT / folder).rglob("*.py")
)


def forbidden_words(text: str) -> Iterator[str]:
    """The words outside of code that the documentation does not use, each with its line."""
    for number, line in enumerate(prose(text).splitlines(), 1):
        yield from (f"line {number}: {found.group()!r} in: {line.strip()}" for found in _WORD.finditer(line))


def forbidden_in_code(text: str) -> Iterator[str]:
    """The words that names, comments and docstrings of a module do not use, each with its line."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        pattern = {tokenize.NAME: _PART_OF_NAME, tokenize.COMMENT: _WORD}.get(token.type)
        if pattern and pattern.search(token.string) and token.string.lower() != WITHDRAWN:
            yield f"line {token.start[0]}: {token.string}"
    for node in ast.walk(ast.parse(text)):
        # A string that is a statement: a docstring, or what a constant is.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for found in _WORD.finditer(prose(node.value.value)):
                line = node.lineno + node.value.value.count("\n", 0, found.start())
                yield f"line {line}: {found.group()!r} in a docstring"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_uses_plain_words(path: Path) -> None:
    problems = list(forbidden_in_code(path.read_text(encoding="utf-8")))
    assert not problems, listed(problems)


def test_a_forbidden_word_is_found_in_names_comments_and_docstrings() -> None:
    text = 'def is_told(foretold: str) -> str:\n    """Run\n    again."""\n    return "again"  # is asked\n'
    assert list(forbidden_in_code(text)) == [
        "line 1: is_told",
        "line 4: # is asked",
        "line 3: 'again' in a docstring",
    ]


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

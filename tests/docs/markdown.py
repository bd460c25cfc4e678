"""Markdown as the tests of the documentation read it: fenced blocks, prose, headings, links, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"

_FENCE: Final = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<language>[\w+-]*)")
_CODE: Final = re.compile(r"(`+)(?!`)(?:.*?[^`])??\1(?!`)", re.DOTALL)
_LINK: Final = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^\s)>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_DEFINITION: Final = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^ {0,3}#{1,6} +(.*?)(?: +#+)? *$")
_ELSEWHERE: Final = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_CELL: Final = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text without the indentation of the fence, and the line of its fence."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """README.md and every page of the site."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """A page's path inside the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    opened, inside = None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None:
            if fence:
                opened, inside = (fence, number), []
        elif fence and fence["fence"].startswith(opened[0]["fence"]) and not fence["language"]:
            yield Block(opened[0]["language"], "".join(f"{one}\n" for one in inside), opened[1])
            opened = None
        else:
            inside.append(line[len(opened[0]["indent"]) :] if not line[: len(opened[0]["indent"])].strip() else line)


def without_blocks(text: str) -> str:
    """The page with every line of a fenced block blanked, so that line numbers stay."""
    lines, opened = [], None
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if opened is None and fence:
            opened = fence["fence"]
            lines.append("")
        elif opened is not None:
            if fence and fence["fence"].startswith(opened) and not fence["language"]:
                opened = None
            lines.append("")
        else:
            lines.append(line)
    return "\n".join(lines)


def prose(text: str) -> str:
    """The page without code: neither fenced blocks, nor spans in backticks, nor the targets of links. Lines stay."""
    return _targets_removed(_CODE.sub(_same_lines, without_blocks(text)))


def _same_lines(found: re.Match[str]) -> str:
    return " " + "\n" * found.group().count("\n")


def _targets_removed(text: str) -> str:
    text = re.sub(r"\]\([^)\n]*\)", "]", text)
    return _DEFINITION.sub("", re.sub(r"https?://\S+", "", text))


def links(text: str) -> Iterator[tuple[int, str]]:
    """The targets of the links of a page that lead into the repository, each with its line."""
    plain = _CODE.sub(_same_lines_but_brackets, without_blocks(text))
    for pattern in (_LINK, _DEFINITION):
        for found in pattern.finditer(plain):
            if not _ELSEWHERE.match(found[1]):
                yield plain.count("\n", 0, found.start()) + 1, found[1]


def _same_lines_but_brackets(found: re.Match[str]) -> str:
    """A span in backticks as text without a bracket: links around it stay links."""
    return re.sub(r"[\[\]()]", "_", found.group())


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site name them."""
    found: set[str] = set()
    for line in without_blocks(text).splitlines():
        heading = _HEADING.match(line)
        if heading:
            found.add(_numbered(slug(heading[1]), found))
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def _numbered(name: str, taken: set[str]) -> str:
    number = next(n for n in range(len(taken) + 1) if (f"{name}-{n}" if n else name) not in taken)
    return f"{name}-{number}" if number else name


def slug(heading: str) -> str:
    """The anchor of a heading."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a page: rows of cells, the header first, without the line of dashes."""
    rows: list[list[str]] = []
    for line in [*without_blocks(text).splitlines(), ""]:
        if line.lstrip().startswith("|"):
            rows.append([cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip().strip("|"))])
        elif rows:
            yield [rows[0], *rows[2:]]
            rows = []


def table_with(text: str, *header: str) -> list[list[str]]:
    """The rows of all tables of a page whose header begins with these words, without their headers."""
    return [row for table in tables(text) if tuple(table[0][: len(header)]) == header for row in table[1:]]


def words_in_code(cell: str) -> list[str]:
    """What a cell has in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def section(text: str, heading: str) -> str:
    """The text under a heading, up to the next one of the same or a higher level."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if re.fullmatch(rf"#+ {re.escape(heading)}", line.strip()))
    level = len(lines[start].split(" ")[0])
    rest = (n for n in range(start + 1, len(lines)) if re.match(rf"#{{1,{level}}} ", lines[n]))
    return "\n".join(lines[start + 1 : next(rest, len(lines))])


def listed(problems: Iterable[str]) -> str:
    """Problems as the message of a failing test."""
    return "\n" + "\n".join(problems)

"""Every relative link of the documentation leads to a file, and its anchor to a heading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.markdown import DOCS, ROOT, anchors, links, listed, name_of, pages


def linking_pages() -> list[Path]:
    """The pages of the site, and the READMEs next to what they describe."""
    return [*pages(), ROOT / "specs" / "README.md", *sorted((ROOT / "tests").rglob("*.md"))]


def broken_links(text: str, page: Path) -> Iterator[str]:
    """What is wrong with the relative links of a page."""
    for line, target in links(text):
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)).resolve() if path else page
        place = f"{page.name}:{line}: {target}"
        if path and not file.exists():
            yield f"{place}: there is no such file"
        elif page.is_relative_to(DOCS) and not file.is_relative_to(DOCS):
            yield f"{place}: leads out of docs, so the site does not have it"
        elif anchor and anchor not in (anchors(text) if file == page else anchors(file.read_text(encoding="utf-8"))):
            yield f"{place}: {file.name} has no heading for this anchor"


@pytest.mark.parametrize("page", linking_pages(), ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    problems = list(broken_links(page.read_text(encoding="utf-8"), page))
    assert not problems, listed(problems)


def test_a_link_to_a_missing_file_or_heading_is_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# Other\n\n## The `source.path` of it\n\n```\n# no heading\n```\n", encoding="utf-8")
    text = (
        "# Page\n\n[a](other.md) [b](other.md#the-sourcepath-of-it) [c](#page)\n"
        "[d](https://example.org/x) `[e](gone.md)`\n"
        "[f](gone.md)\n[`g`](other.md#no-heading)\n[h](#nothing)\n\n[i]: gone.md\n"
    )
    assert list(broken_links(text, page)) == [
        "page.md:5: gone.md: there is no such file",
        "page.md:6: other.md#no-heading: other.md has no heading for this anchor",
        "page.md:7: #nothing: page.md has no heading for this anchor",
        "page.md:9: gone.md: there is no such file",
    ]


def test_a_link_out_of_the_site_is_found() -> None:
    assert list(broken_links("[spec](../specs/README.md)", DOCS / "index.md")) == [
        "index.md:1: ../specs/README.md: leads out of docs, so the site does not have it"
    ]

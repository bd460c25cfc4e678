"""Checked-in pages of results: the last result of a long run, with one line for each part."""

import os
import platform
import subprocess
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def kept(page: Path, known: Collection[str]) -> dict[str, Sequence[str]]:
    """The lines of the current page by their part."""
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| ")]
    return {row[0]: row for row in rows if row[0] in known}


def write(
    page: Path,
    heading: str,
    words: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    known: Sequence[str],
) -> None:
    """Write the page with one line for each known part that has a result."""
    lines = [f"# {heading}", "", words, ""]
    lines += [f"Last on {os.cpu_count()} cores, Python {platform.python_version()}.", ""]
    lines += [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(rows[name])} |" for name in known if name in rows]
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")


def when_and_commit() -> tuple[str, str]:
    """The current time, and the commit of the tree that was run: the last columns of a line."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":!*.md"
    )  # changes of pages do not count
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M}", f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

"""Values as YAML text."""

from collections.abc import Iterable

import yaml


def flow(names: Iterable[str]) -> str:
    """Names as a YAML list in one line."""
    return "[" + ", ".join(scalar(name) for name in names) + "]"


def scalar(text: str) -> str:
    """A text as YAML in one line, also inside a list and a comment."""
    style = None if text.isprintable() else '"'  # the other styles write a line feed as a line feed
    listed = yaml.safe_dump([text], default_flow_style=True, default_style=style, width=10_000, allow_unicode=True)
    return listed.strip()[1:-1]


def quoted(text: str) -> str:
    """A text as YAML, also a reference to the environment inside braces."""
    return f'"{text}"' if text.startswith("${") else scalar(text)

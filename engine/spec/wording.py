"""Parts of a violation's text: a value as it is shown, the nearest valid word, and the place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

Place = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHOWN_LENGTH = 80


def place_text(place: Place) -> str:
    """`$.columns.ssn.mask`, `$.keys[0]`, `$.columns['odd name']`."""
    return "$" + "".join(_step_text(step) for step in place)


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{step!r}]"


def shown(value: object) -> str:
    """The value as a message shows it: short, and without values of the environment."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."


def listed(words: Iterable[str]) -> str:
    """`a, b or c`."""
    known = list(words)
    return known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The most similar known word, or None if none is similar."""
    by_fold = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(str(word).casefold(), list(by_fold), n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None


def word_hint(word: object, known: Sequence[str]) -> str:
    """`did you mean 'x'?` if a known word is similar, else all known words."""
    match = nearest(word, known)
    return f"did you mean '{match}'?" if match is not None else f"use {listed(known)}."

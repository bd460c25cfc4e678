"""Which ways of telling the fast tests go: one for each format; the long tests go them all."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conformance.formats import BY_NAME


def one_a_format(names: Sequence[str]) -> list[str]:
    """The first of the ways for each format."""
    return list({BY_NAME[name].format: name for name in names[::-1]}.values())


def ways(names: Sequence[str], quick: Sequence[str] | None = None) -> list[Any]:
    """Parameters of a test; all but the `quick` ones (None: one a format) are slow."""
    chosen = one_a_format(names) if quick is None else quick
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.slow) for name in names]

"""The variants that the fast tests run: one for each format. The long tests run all variants."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conformance.formats import BY_NAME


def one_per_format(names: Sequence[str]) -> list[str]:
    """The first variant of each format."""
    return list({BY_NAME[name].format: name for name in names[::-1]}.values())


def variants(names: Sequence[str], quick: Sequence[str] | None = None) -> list[Any]:
    """The parameters of a test. All variants are slow except `quick` (by default, one for each format)."""
    chosen = one_per_format(names) if quick is None else quick
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.slow) for name in names]

"""Errors of siltstone's own that a task raises: Spark hands them on as text, inside an error of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException

from siltstone.engine import errors

_RAISED: Final = re.compile(r"^engine\.errors\.(\w+): (.*?)(?: Hint: (.*?))?\r?$", re.MULTILINE)


def raised_in_task(error: BaseException) -> errors.SiltstoneError | None:
    """The error that a task raised; None where it was none of siltstone's."""
    found = _RAISED.search(str(error))
    kind = None if found is None else getattr(errors, found[1], None)
    if found is None or not (isinstance(kind, type) and issubclass(kind, errors.SiltstoneError)):
        return None
    return kind(found[2], found[3])


@contextmanager
def task_errors() -> Iterator[None]:
    """Around an action of Spark: what siltstone's own code raises in a task is raised here as what it is."""
    try:
        yield
    except PySparkException as error:
        raised = raised_in_task(error)
        if raised is None:
            raise
        raise raised from error

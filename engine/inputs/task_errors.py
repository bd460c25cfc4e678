"""Siltstone's own errors in Spark tasks: Spark passes them on as text, inside an error of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException

from siltstone.engine import errors

_MODULE: Final = re.escape(errors.__name__)
_RAISED: Final = re.compile(rf"^{_MODULE}\.(\w+): (.*?)(?: Hint: (.*?))?\r?$", re.MULTILINE)


def raised_in_task(error: BaseException) -> errors.SiltstoneError | None:
    """The error that a task raised; None if it was not siltstone's."""
    found = _RAISED.search(str(error))
    kind = None if found is None else getattr(errors, found[1], None)
    if found is None or not (isinstance(kind, type) and issubclass(kind, errors.SiltstoneError)):
        return None
    return kind(found[2], found[3])


@contextmanager
def task_errors() -> Iterator[None]:
    """Around a Spark action: raise the errors that siltstone's code raised in tasks as what they are."""
    try:
        yield
    except PySparkException as error:
        raised = raised_in_task(error)
        if raised is None:
            raise
        raise raised from error

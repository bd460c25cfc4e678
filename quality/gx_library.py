"""The one door to Great Expectations: slow to import, so only when a check runs; told first to keep to itself."""

import importlib
import os
import warnings
from threading import Lock, Thread
from typing import Any

ONE_IMPORTS = Lock()  # what warnings are shown is the process's, not a thread's


def great_expectations() -> Any:
    """The library, with usage statistics off and without the deprecation warnings of its own imports."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with ONE_IMPORTS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("great_expectations")


def import_early() -> None:
    """Import it beside what is done meanwhile: while Spark starts or looks, Python only waits.

    Whoever wants it earlier waits for this import, and sees its errors.
    """
    Thread(target=great_expectations, name="great_expectations").start()

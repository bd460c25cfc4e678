"""The only place that imports Great Expectations: late, because it is slow, and with usage statistics off."""

import importlib
import os
import warnings
from threading import Lock, Thread
from typing import Any

ONE_IMPORTS = Lock()  # warning filters belong to the process, not to a thread


def great_expectations() -> Any:
    """The library, with usage statistics off and without the deprecation warnings of its own imports."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with ONE_IMPORTS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("great_expectations")


def import_early() -> None:
    """Import the library in a thread, while Python waits for Spark.

    A call of `great_expectations` waits for this import, and raises its errors.
    """
    Thread(target=great_expectations, name="great_expectations").start()

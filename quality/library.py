"""The one door to Great Expectations: slow to import, so only when a check runs; told first to keep to itself."""

import importlib
import os
import warnings
from typing import Any


def great_expectations() -> Any:
    """The library, with usage statistics off and without the deprecation warnings of its own imports."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("great_expectations")

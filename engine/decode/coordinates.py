"""Where the coordinates of a record are its place in the source's order: the file's name below the source's folder."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.inputs.globs import plain_start
from engine.jvm import CATALOG
from engine.spec.model import SourceSpec

FILE_NAME: Final = f"{CATALOG}.file_name"


def file_name(file: Column, source: SourceSpec) -> Column:
    """The name of a file below the folder that the source's path names, so that moving the folder changes no order."""
    folder = plain_start(source.path).rpartition("/")[0]
    bare = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:/+", "/", folder)
    return F.call_function(FILE_NAME, file, F.lit(f"{bare}/")) if bare else file

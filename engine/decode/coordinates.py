"""Where the coordinates of a record are its place in the source's order: the file's name below the source's folder."""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode.values import LONGEST
from engine.inputs.globs import plain_start
from engine.spec.model import SourceSpec


def file_name(file: Column, source: SourceSpec) -> Column:
    """The name of a file below the folder that the source's path names, so that moving the folder changes no order."""
    folder = plain_start(source.path).rpartition("/")[0]
    bare = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:/+", "/", folder)
    if not bare:
        return file
    found = F.instr(file, f"{bare}/")  # asked of every row: no regular expression
    return F.when(found > 0, F.substring(file, found + len(bare) + 1, LONGEST)).otherwise(file)

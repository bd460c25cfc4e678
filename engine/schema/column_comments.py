"""Comments on the columns of a Spark schema."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as T

COMMENT: Final = "comment"  # of a field's metadata: Spark stores it as the comment on the column


def commented(schema: T.StructType, comments: Mapping[str, str]) -> T.StructType:
    """The columns with their comments; a column that has none here stays as it is."""
    return T.StructType(
        [
            T.StructField(one.name, one.dataType, one.nullable, {COMMENT: comments[one.name]})
            if one.name in comments
            else one
            for one in schema
        ]
    )

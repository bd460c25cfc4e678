"""The methods that Spark makes of a stage: of what is too much for one, a part is computed in another.

Spark makes one Java method of all that an operator of a stage does with a row. HotSpot compiles none of more than 8000
bytes, so that Spark gives up on a stage that would need one (`spark.sql.codegen.hugeMethodLimit`): each of its
operators then copies all columns, which takes about half as long again as what they do.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.jvm import OWN_METHOD


def own_method(column: Column) -> Column:
    """The same, computed in a method of its own. For what is long, and above all for what few rows need."""
    return F.call_function(OWN_METHOD, column)

"""What is kept out of the Java methods that Spark makes of a stage: computed in a method of its own, or interpreted.

Spark makes one Java method of all that an operator of a stage does with a row. HotSpot compiles none of more than 8000
bytes, so that Spark gives up on a stage that would need one (`spark.sql.codegen.hugeMethodLimit`): each of its
operators then copies all columns, which takes about half as long again as what they do.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from engine.jvm import OWN_METHOD


def own_method(column: Column) -> Column:
    """The same, computed in a method of its own. For what is long, and above all for what few rows need."""
    return F.call_function(OWN_METHOD, column)


def held(column: Column) -> Column:
    """The same, of which no filter is pushed below the projection where it stands: what it is made of would be made for
    the filter, and once more for what is behind it. A filter does not pass an expression that is not deterministic.
    """
    return F.when(F.monotonically_increasing_id() >= 0, column)


def interpreted(frame: DataFrame, column: Column) -> Column:
    """The same, as a column of this frame alone, that Spark's planner knows nothing of but which columns it takes: no
    rule goes through it, and no code is made for it. For what is large, and few rows need.
    """
    plan: Any = frame.select(column)._jdf.queryExecution().analyzed()
    jvm: Any = frame.sparkSession._jvm
    return ClassicColumn(jvm.siltstone.Interpreted.of(plan))

"""Cache PySpark's repeated calls to the JVM.

To build the expressions of a run, PySpark makes tens of thousands of calls through a socket, a third of a millisecond
each. Half of them are unnecessary: it looks up `functions` and `functions.col` before each call of a column function,
makes the same columns repeatedly, and needs one call for each item of a list.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject, JavaPackage, JVMView
from py4j.protocol import DEFAULT_JVM_ID

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The names that PySpark itself looks up.
PREFETCHED = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.expressions.Window",
    "py4j",
    "org",
    "java",
)
COLUMN_MAKERS = ("col", "lit")
REMEMBERED = 4096
"""The number of cached columns and literals: more than a run of many tables has."""
ITEMS = 10
"""The number of items that `java.util.List.of` takes as single arguments. More would need an array in the JVM."""


class ColumnMaker:
    """`functions.col` or `functions.lit` with a cache: the same value gives the same column, which is immutable."""

    def __init__(self, member: JavaMember) -> None:
        self.member = member
        self.remembered = lru_cache(REMEMBERED, typed=True)(self.made)

    def made(self, value: Any) -> Any:
        """A new column from the JVM."""
        return self.member(value)

    def __call__(self, value: Any) -> Any:
        return self.remembered(value) if type(value) in (str, int, bool) else self.made(value)


class SeqMaker:
    """`PythonUtils.toSeq`, which passes ten items in one call."""

    def __init__(self, member: JavaMember, java_util: Any) -> None:
        self.member = member
        self.java_util = java_util

    def __call__(self, items: Any) -> Any:
        if not isinstance(items, list) or not all(isinstance(item, JavaObject | str) for item in items):
            return self.member(items)
        tens = [self.java_util.List.of(*items[at : at + ITEMS]) for at in range(0, len(items), ITEMS)]
        if len(tens) == 1:
            return self.member(tens[0])
        whole = self.java_util.ArrayList()
        for ten in tens:
            whole.addAll(ten)
        return self.member(whole)


class KnownClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """A class of the JVM that looks up each of its static methods once."""

    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        if not isinstance(member, JavaMember):
            return member
        if name in COLUMN_MAKERS and self._fqn.endswith(".functions"):
            member = ColumnMaker(member)
        elif name == "toSeq":
            member = SeqMaker(member, KnownPackage("java.util", self._gateway_client, DEFAULT_JVM_ID))
        self.__dict__[name] = member
        return member


class KnownPackage(JavaPackage):  # type: ignore[misc]  # py4j has no types
    """A package of the JVM that looks up each of its classes and packages once."""

    def __getattr__(self, name: str) -> Any:
        found = known(super().__getattr__(name))
        self.__dict__[name] = found
        return found


def known(found: Any) -> Any:
    """The same class or package with a cache; anything else unchanged."""
    if type(found) is JavaClass:
        return KnownClass(found._fqn, found._gateway_client)
    if type(found) is JavaPackage:
        return KnownPackage(found._fqn, found._gateway_client, found._jvm_id)
    return found


def remember_names(spark: "SparkSession") -> None:
    """Let the session's gateway cache what PySpark looks up repeatedly. Spark Connect has no gateway."""
    jvm = getattr(spark, "_jvm", None)
    if not isinstance(jvm, JVMView):
        return
    for name in PREFETCHED:
        if name not in jvm.__dict__:
            setattr(jvm, name, known(getattr(jvm, name)))

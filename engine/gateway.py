"""Names of the JVM looked up once.

PySpark asks the JVM what `functions` and `functions.col` are each time a column function is called: two questions
before each call. Building a fold's expressions calls thousands of them, and the questions took a sixth of a small run.
"""

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What PySpark itself asks for, by the names it uses.
ASKED = (
    "functions",
    "org.apache.spark.sql.functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.expressions.Window",
    "py4j",
)


class KnownClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """A class of the JVM that asks for each of its static methods once."""

    def __getattr__(self, name: str) -> Any:
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            self.__dict__[name] = member
        return member


class KnownPackage(JavaPackage):  # type: ignore[misc]  # py4j has no types
    """A package of the JVM that asks for each of its classes and packages once."""

    def __getattr__(self, name: str) -> Any:
        found = known(super().__getattr__(name))
        self.__dict__[name] = found
        return found


def known(found: Any) -> Any:
    """The same class or package, with a memory; anything else as it is."""
    if type(found) is JavaClass:
        return KnownClass(found._fqn, found._gateway_client)
    if type(found) is JavaPackage:
        return KnownPackage(found._fqn, found._gateway_client, found._jvm_id)
    return found


def remember_names(spark: "SparkSession") -> None:
    """Let the session's gateway remember what PySpark asks it again and again. Spark Connect has no gateway."""
    jvm = getattr(spark, "_jvm", None)
    if not isinstance(jvm, JVMView):
        return
    for name in ASKED:
        if name not in jvm.__dict__:
            setattr(jvm, name, known(getattr(jvm, name)))

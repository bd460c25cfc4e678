"""The functions that siltstone brings to Spark in Java: their sources, compiled once, and added to a session.

Spark compiles the code that it generates with a Java compiler of its own (Janino), so no JDK is needed, and nothing
that is binary stands in the repository. What it makes is kept in the cache, by the sources and the version of Spark.
"""

import hashlib
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.errors import SpecError
from engine.jars import cache_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG: Final = "siltstone_functions"
"""The catalog of Spark's that holds the functions; they are called by it."""
PROVIDER: Final = "siltstone.Functions"
SOURCES: Final = Path(__file__).parent / "siltstone"
JAVA_VERSION: Final = 8
"""Of the classes: what Janino knows of the language is hardly more."""


def add_functions(spark: "SparkSession") -> None:
    """Make the functions known to a session, and to its executors.

    Raises: SpecError where the session's JVM takes no more classes.
    """
    from py4j.protocol import Py4JError

    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:  # Spark Connect: the server's JVM is out of sight
        return
    context: Any = spark.sparkContext._jsc
    name = jar_name(spark.version)
    if name not in context.sc().listJars().toString():
        context.addJar(str(functions_jar(spark)))
    if not _has_class(jvm):
        # Every thread of the driver sees what its own loader has; what ADD JAR adds, only those that are told.
        address = jvm.java.io.File(str(functions_jar(spark))).toURI().toURL()
        try:
            jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(address)
        except Py4JError as error:
            raise SpecError(
                "Cannot add siltstone's functions to the Spark session that is there: its JVM takes no more jars.",
                hint=f"Start it with {functions_jar(spark)} (spark-submit --jars, or spark.jars).",
            ) from error
    if spark.conf.get(f"spark.sql.catalog.{CATALOG}", None) is None:
        spark.conf.set(f"spark.sql.catalog.{CATALOG}", PROVIDER)


def jar_name(spark_version: str) -> str:
    """What the jar of these sources is called, compiled against a version of Spark."""
    digest = hashlib.sha256(spark_version.encode())
    for source in _sources():
        digest.update(source.read_bytes())
    return f"siltstone-functions-{digest.hexdigest()[:16]}.jar"


def functions_jar(spark: "SparkSession") -> Path:
    """The jar in the cache; compiled, where it is not there yet."""
    path = cache_folder() / "jars" / jar_name(spark.version)
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
        classes = _compiled(spark, Path(folder))
        part = Path(folder) / path.name
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as jar:
            for file in classes:
                jar.write(file, file.relative_to(folder).as_posix())
        part.chmod(0o644)
        part.replace(path)  # nobody ever sees half a jar
    return path


def _compiled(spark: "SparkSession", folder: Path) -> list[Path]:
    """The classes of the sources, made in a folder by the JVM of a session."""
    jvm: Any = spark._jvm
    sources = _sources()
    files = spark.sparkContext._gateway.new_array(jvm.java.io.File, len(sources))  # type: ignore[union-attr]
    for at, source in enumerate(sources):
        files[at] = jvm.java.io.File(str(source))
    compiler = jvm.org.codehaus.janino.CompilerFactory().newCompiler()
    compiler.setSourceVersion(JAVA_VERSION)
    compiler.setTargetVersion(JAVA_VERSION)
    compiler.setDestinationDirectory(jvm.java.io.File(str(folder)), False)
    compiler.compile(files)
    return sorted(folder.rglob("*.class"))


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.java"))


def _has_class(jvm: Any) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(PROVIDER)
    except Py4JJavaError:
        return False
    return True

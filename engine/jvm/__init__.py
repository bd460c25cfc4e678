"""The functions that siltstone brings to Spark in Java: their sources, compiled once, and added to a session.

Spark compiles the code that it generates with a Java compiler of its own (Janino), so no JDK is needed, and nothing
that is binary stands in the repository. What it makes is kept in the cache, by the sources and the version of Spark.
"""

import hashlib
import tempfile
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.errors import SpecError
from engine.jars import cache_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG: Final = "siltstone_functions"
"""The catalog of Spark's that holds the functions; they are called by it."""
OWN_METHOD: Final = "siltstone_own_method"
"""A function of the session: it is an expression of siltstone's own, and those no catalog holds."""
BETWEEN_WORDS: Final = "\x1f"
"""Stands between the words of a plan that a function is given, and in no text of JSON."""
PROVIDER: Final = "siltstone.Functions"
COMPILED_AGAINST: Final = "org.apache.spark.sql.catalyst.InternalRow"
SOURCES: Final = Path(__file__).parent / "siltstone"
JAVA_VERSION: Final = 8
"""Of the classes: what Janino knows of the language is hardly more."""


def add_functions(spark: "SparkSession") -> None:
    """Make the functions known to a session, and to its executors.

    Raises: SpecError where the session's JVM takes no more classes, or has those of another version.
    """
    from py4j.protocol import Py4JError

    jvm: Any = spark._jvm
    context: Any = spark.sparkContext._jsc
    jar = functions_jar(spark)
    if jar.name not in context.sc().listJars().toString():
        context.addJar(str(jar))
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loaded_class(jvm, PROVIDER) is None:
        # Every thread of the driver sees what its own loader has; what ADD JAR adds, only those that are told.
        try:
            loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
        except Py4JError as error:
            raise SpecError(
                "Cannot add siltstone's functions to the Spark session that is there: its JVM takes no more jars.",
                hint=f"Set SILTSTONE_CACHE to a folder, and start Spark with {jar.name} from there (--jars).",
            ) from error
    there = str(loaded_class(jvm, PROVIDER).getProtectionDomain().getCodeSource().getLocation())
    if not there.endswith(jar.name):
        raise SpecError(
            f"Cannot use the functions that the Spark session has: they are of another version ({there}).",
            hint=f"Start Spark without that jar, or with {jar.name}.",
        )
    if spark.conf.get(f"spark.sql.catalog.{CATALOG}", None) is None:
        spark.conf.set(f"spark.sql.catalog.{CATALOG}", PROVIDER)
    registry: Any = spark._jsparkSession.sessionState().functionRegistry()
    jvm.siltstone.OwnMethod.addTo(registry, OWN_METHOD)


def functions_jar(spark: "SparkSession") -> Path:
    """The jar of the functions: in the cache, where it is compiled once; where the cache cannot be written, in a folder
    that is gone with this process."""
    name = jar_name(spark.version)
    try:
        return _made(spark, cache_folder() / "jars" / name)
    except OSError:
        return _made(spark, Path(_own_folder().name) / name)


@cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="siltstone-")


def jar_name(spark_version: str) -> str:
    """What the jar of these sources is called, compiled against a version of Spark."""
    digest = hashlib.sha256(spark_version.encode())
    for source in _sources():
        digest.update(source.read_bytes())
    return f"siltstone-functions-{digest.hexdigest()[:16]}.jar"


def _made(spark: "SparkSession", path: Path) -> Path:
    if _is_whole(path):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=path.name, dir=path.parent) as folder:
        part = Path(folder) / path.name
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as jar:
            for file in _compiled(spark, Path(folder)):
                jar.write(file, file.relative_to(folder).as_posix())
        part.chmod(0o644)
        part.replace(path)  # nobody ever sees half a jar
    return path


def _is_whole(jar: Path) -> bool:
    try:
        with zipfile.ZipFile(jar) as there:
            return there.testzip() is None
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError):  # of a damaged one
        return False


def _compiled(spark: "SparkSession", folder: Path) -> list[Path]:
    """The classes of the sources, made in a folder by the JVM of a session."""
    jvm: Any = spark._jvm
    sources = _sources()
    files = spark.sparkContext._gateway.new_array(jvm.java.io.File, len(sources))  # type: ignore[union-attr]
    for at, source in enumerate(sources):
        files[at] = jvm.java.io.File(str(source))
    compiler = jvm.org.codehaus.janino.CompilerFactory().newCompiler()
    # By the loader of Spark's own classes: the thread's one could know other versions of these.
    loader = loaded_class(jvm, COMPILED_AGAINST).getClassLoader()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setSourceVersion(JAVA_VERSION)
    compiler.setTargetVersion(JAVA_VERSION)
    compiler.setDestinationDirectory(jvm.java.io.File(str(folder)), False)
    compiler.compile(files)
    return sorted(folder.rglob("*.class"))


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.java"))


def loaded_class(jvm: Any, name: str) -> Any:
    """A class of the JVM; None where it has none of this name."""
    from py4j.protocol import Py4JJavaError

    try:
        return jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    except Py4JJavaError:
        return None

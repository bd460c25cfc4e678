"""The Spark session: the existing one, checked, or a local one with the pinned jars and the project's catalog."""

import codecs
import locale
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siltstone.engine.errors import SpecError
from siltstone.engine.gateway import remember_names
from siltstone.engine.jars import (
    ICEBERG_AWS,
    MYSQL_JDBC,
    POSTGRESQL_JDBC,
    SQLITE_JDBC,
    Jar,
    cache_folder,
    jar_paths,
)
from siltstone.engine.java import require_java
from siltstone.engine.machine import GIGABYTE, cores, memory_bytes
from siltstone.engine.spark_versions import iceberg_runtime
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from siltstone.engine.sqlite_catalog import SQLITE_URI, refuse_lost_catalog, sqlite_file
from siltstone.engine.storage import FILE_IO, S3, scheme_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
JDBC_DRIVERS = {SQLITE_URI: SQLITE_JDBC, "jdbc:postgresql:": POSTGRESQL_JDBC, "jdbc:mysql:": MYSQL_JDBC}
NOT_AT_LAUNCH = ("spark.sql.catalog.", "spark.hadoop.")
"""The beginnings of settings that can contain secrets. The JVM is started without them: other users can see its
command line."""
BUSY_TIMEOUT_MS = "30000"
MAX_LOG_BYTES = 10_000_000
JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
PARALLEL_COLLECTOR = "-XX:+UseParallelGC"
# The maximum size, in bytes of code, of a hot method that is inlined (Java's default: 325). A JVM without this option
# ignores it.
SHORT_INLINING = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:FreqInlineSize=100")
# The settings that every fold needs, in any session:
# - Times are in UTC. A cast that does not fit is an error, which is the default.
# - The second of two equal field names in an object counts.
# - Texts are read in any character set that Java knows. Invalid bytes become a replacement character.
# - Base64 text is one line, as in JSON.
# - A stage whose generated code needs a method of more than 8000 bytes is compiled operator by operator. HotSpot never
#   compiles such long methods: without this, decoding and folding take three times as long.
# - The optimizer infers no filters. For that it would build a set of equalities that grows as a power of the number of
#   columns: planning the fold of two dozen columns took two gigabytes. A fold has all of its filters explicitly.
FOLD_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.chunkBase64String.enabled": "false",
}


def spark_session(project: ProjectSpec, jars: Iterable[Jar] = ()) -> "SparkSession":
    """The session to work in: the active one, spark-submit's, or a new local one. `jars`: added to the usual ones.

    Raises: SpecError: the session has no Iceberg, Java is missing, or a jar cannot be fetched. StorageError: the
        catalog's file is missing.
    """
    from pyspark.sql import SparkSession

    refuse_lost_catalog(project.catalog)
    active = SparkSession.getActiveSession()
    if active is not None:
        return _fit(active, project)
    if submitted():
        conf = {**catalog_conf(project.catalog), "spark.sql.extensions": ICEBERG_EXTENSIONS, **project.spark.conf}
        return _fit(_configured(conf), project)
    return _fit(_local(project, jars), project)


def sibling(spark: "SparkSession", project: ProjectSpec) -> "SparkSession":
    """Another session on the same Spark with the same settings, for a thread that changes settings of its own."""
    other = spark.newSession()
    theirs = other.conf.getAll
    for name, value in spark.conf.getAll.items():
        if theirs.get(name) != value and other.conf.isModifiable(name):
            other.conf.set(name, value)
    return _fit(other, project)


def set_fold_conf(spark: "SparkSession") -> None:
    """Apply the settings that every fold needs to any session."""
    for name, value in FOLD_CONF.items():
        spark.conf.set(name, value)


def submitted() -> bool:
    """Whether spark-submit started this Python process, so that it controls master, memory and jars."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def session_conf(project: ProjectSpec) -> dict[str, str]:
    """The settings of a local session except its jars. The project's settings override them."""
    defaults = {
        "spark.app.name": "siltstone",
        "spark.master": project.spark.master,
        "spark.driver.memory": f"{default_driver_gigabytes(memory_bytes())}g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.extensions": ICEBERG_EXTENSIONS,
        "spark.sql.catalogImplementation": "in-memory",
        # A fold has more generated classes than the hundred that Spark keeps. HotSpot too would recompile each of them.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        # Spark's default of 200 is for clusters: on one machine every empty partition costs a task.
        "spark.sql.shuffle.partitions": str(max(4, 2 * (cores()))),
        # It inspects Python's stack for every column expression: building a fold's plan would take three times as long.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Without it, each Python task starts with a quarter of a second of useless work.
        "spark.python.daemon.module": "siltstone.engine.worker_daemon",
    }
    defaults["spark.driver.extraJavaOptions"] = java_options(os.environ)
    return {**defaults, **FOLD_CONF, **catalog_conf(project.catalog), **project.spark.conf}


def java_options(environment: Mapping[str, str]) -> str:
    """The options for the JVM of a local session. No garbage collector if the environment names one: a JVM accepts one.

    A run needs throughput, not short pauses. With the parallel collector, a catch-up takes a fifth less processor time
    than with Java's default. The code that Spark generates is long and runs for seconds. With less inlining it compiles
    faster and runs as fast: the first 200,000 events of a JVM take three quarters of the processor time.
    """
    names_collector = any("GC" in environment.get(name, "") for name in JAVA_OPTIONS)
    return " ".join([*([] if names_collector else [PARALLEL_COLLECTOR]), *SHORT_INLINING])


def catalog_conf(catalog: CatalogSpec) -> dict[str, str]:
    """The Spark settings that declare the project's Iceberg catalog. Its `properties` override them."""
    prefix = f"spark.sql.catalog.{catalog.name}"
    settings: dict[str, str] = {"type": catalog.type}
    if catalog.uri:
        settings["uri"] = catalog.uri
    if catalog.warehouse:
        settings["warehouse"] = catalog.warehouse
    file_io = FILE_IO.get(scheme_of(catalog.warehouse or ""))
    if file_io and catalog.type not in ("rest", "hadoop"):  # a REST catalog chooses it; hadoop uses Hadoop's
        settings["io-impl"] = file_io
    if catalog.type == "jdbc":
        settings["jdbc.schema-version"] = "V1"
    if sqlite_file(catalog):
        settings["jdbc.busy_timeout"] = BUSY_TIMEOUT_MS
    settings["cache-enabled"] = "false"  # a cached table hides commits of other processes
    settings |= catalog.properties
    return {prefix: SPARK_CATALOG} | {f"{prefix}.{name}": value for name, value in settings.items()}


def needed_jars(catalog: CatalogSpec) -> list[Jar]:
    """The jars that Spark needs for this catalog and its warehouse."""
    uri = (catalog.uri or "") if catalog.type == "jdbc" else ""
    drivers = [jar for begin, jar in JDBC_DRIVERS.items() if uri.startswith(begin)]
    is_on_s3 = scheme_of(catalog.warehouse or "") in S3 or "aws" in catalog.properties.get("io-impl", "")
    may_be_on_s3 = catalog.type == "rest" and any(name.startswith("s3.") for name in catalog.properties)
    aws = [ICEBERG_AWS] if is_on_s3 or may_be_on_s3 or catalog.type == "glue" else []
    return [iceberg_runtime(), *drivers, *aws]


def default_driver_gigabytes(memory: int) -> int:
    """About half of `memory` (bytes), at least one and at most eight gigabytes: Python workers need the rest."""
    return max(1, min(8, memory // 2 // GIGABYTE))


def spark_log() -> Path:
    """The log file of the JVM of a local session."""
    return cache_folder() / "spark.log"


def _local(project: ProjectSpec, jars: Iterable[Jar]) -> "SparkSession":
    require_java()
    database = sqlite_file(project.catalog)
    if database:
        database.parent.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    conf = session_conf(project)
    paths = [str(path) for path in jar_paths(dict.fromkeys([*needed_jars(project.catalog), *jars]))]
    paths += [path for path in project.spark.conf.get("spark.jars", "").split(",") if path]
    conf["spark.jars"] = ",".join(paths)
    _start_gateway(conf)
    return _configured({})  # the context has all settings; static ones cannot be changed on the session


def _start_gateway(conf: Mapping[str, str]) -> None:
    """Start the JVM with its standard error in a file, so that its warnings do not appear on the terminal."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    log = spark_log()
    log.parent.mkdir(parents=True, exist_ok=True)
    keep = log.exists() and log.stat().st_size < MAX_LOG_BYTES
    settings = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    at_launch = SparkConf(loadDefaults=False).setAll(list(launch_conf(conf).items()))
    try:
        with log.open("ab" if keep else "wb") as stderr, utf8_names():
            gateway = launch_gateway(at_launch, {"stderr": stderr})  # type: ignore[no-untyped-call]  # pyspark gives it no types
    except PySparkRuntimeError as error:
        raise SpecError(f"Cannot start Spark: its JVM ended at once (its log is {log}).") from error
    SparkContext(conf=settings, gateway=gateway)


def launch_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """The settings that the JVM is started with."""
    return {name: value for name, value in conf.items() if not name.startswith(NOT_AT_LAUNCH)}


@contextmanager
def utf8_names() -> Iterator[None]:
    """Let processes started inside use UTF-8 for file names.

    In a locale with another encoding (LC_ALL=C, as in cron) Java cannot name every file, and skips those files.
    """
    if sys.platform != "linux" or codecs.lookup(locale.getencoding()).name == "utf-8":
        yield  # on other systems, Java does not use the locale
        return
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


def _configured(conf: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder: SparkSession.Builder = SparkSession.builder
    return builder.config(map=dict(conf)).getOrCreate()


def _fit(spark: "SparkSession", project: ProjectSpec) -> "SparkSession":
    """Check that the session supports Iceberg. Add the project's catalog and the settings that a fold needs."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise SpecError(
            "Cannot use a session of Spark Connect: siltstone needs the driver's JVM.",
            hint="Run the job with spark-submit, or unset SPARK_REMOTE so that siltstone starts a session of its own.",
        )
    if ICEBERG_EXTENSIONS not in (spark.conf.get("spark.sql.extensions", "") or ""):
        raise SpecError(
            f"Cannot use the existing Spark session: it lacks the Iceberg extension (spark.sql.extensions "
            f"= {spark.conf.get('spark.sql.extensions', '') or 'empty'}).",
            hint=f"Start it with spark.sql.extensions={ICEBERG_EXTENSIONS} and {iceberg_runtime().file}.",
        )
    if not _has_class(jvm, ICEBERG_EXTENSIONS):  # Spark itself only logs a warning
        raise SpecError(
            "Cannot use the existing Spark session: Iceberg's classes are missing.",
            hint=f"Start it with {iceberg_runtime().file} (spark-submit --jars, or spark.jars).",
        )
    remember_names(spark)
    set_fold_conf(spark)
    if spark.conf.get(f"spark.sql.catalog.{project.catalog.name}", None) is None:
        for name, value in catalog_conf(project.catalog).items():
            spark.conf.set(name, value)
    return spark


def _has_class(jvm: Any, name: str) -> bool:
    """Whether the JVM has a class of this name."""
    from py4j.protocol import Py4JJavaError

    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)
    except Py4JJavaError:
        return False
    return True

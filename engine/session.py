"""The Spark session: the one that is there, checked, or a local one with the pinned jars and the project's catalog."""

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
    ICEBERG_SPARK,
    MYSQL_JDBC,
    POSTGRESQL_JDBC,
    SQLITE_JDBC,
    Jar,
    cache_folder,
    jar_paths,
)
from siltstone.engine.java import require_java
from siltstone.engine.machine import GIGABYTE, cores, memory_bytes
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from siltstone.engine.sqlite_catalog import SQLITE_URI, refuse_lost_catalog, sqlite_file
from siltstone.engine.storage import FILE_IO, S3, scheme_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
JDBC_DRIVERS = {SQLITE_URI: SQLITE_JDBC, "jdbc:postgresql:": POSTGRESQL_JDBC, "jdbc:mysql:": MYSQL_JDBC}
NOT_AT_LAUNCH = ("spark.sql.catalog.", "spark.hadoop.")
"""How settings begin that can hold secrets, and that the JVM does not need to start: its command line can be seen."""
BUSY_TIMEOUT_MS = "30000"
MAX_LOG_BYTES = 10_000_000
JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
PARALLEL_COLLECTOR = "-XX:+UseParallelGC"
# The size, in bytes of code, up to which what is often called is inlined (Java's own: 325). A JVM that has no such
# option passes over it.
SHORT_INLINING = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:FreqInlineSize=100")
# What every fold relies on, whoever made the session: times are UTC, of a field that stands twice in an object the
# second counts, and texts are read in any character set that Java knows, with a sign in place of what is none of it.
# Base64 is one line, as in JSON. A stage whose code would need a method of more than 8000 bytes, which HotSpot never
# compiles, is compiled operator by operator instead: decoding and folding take a third of the time. What Spark's
# optimizer infers of filters is bought with a set of equalities that grows as a power of a table's columns: planning
# the fold of two dozen columns filled two gigabytes, and a fold says its filters itself.
FOLD_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.chunkBase64String.enabled": "false",
}


def spark_session(project: ProjectSpec, jars: Iterable[Jar] = ()) -> "SparkSession":
    """The session to work in: the active one, spark-submit's, or a new local one. `jars`: needed in addition to the usual ones.

    Raises: SpecError where the session cannot serve Iceberg, Java is missing, or a jar cannot be had. StorageError
        where the catalog's file is gone.
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
    """Another session on the same Spark with the same settings: what one thread sets is not another's."""
    other = spark.newSession()
    theirs = other.conf.getAll
    for name, value in spark.conf.getAll.items():
        if theirs.get(name) != value and other.conf.isModifiable(name):
            other.conf.set(name, value)
    return _fit(other, project)


def set_fold_conf(spark: "SparkSession") -> None:
    """Give a session, whoever made it, the settings that every fold relies on."""
    for name, value in FOLD_CONF.items():
        spark.conf.set(name, value)


def submitted() -> bool:
    """Whether spark-submit started this Python, and so decides on master, memory and jars."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def session_conf(project: ProjectSpec) -> dict[str, str]:
    """The settings of a local session except its jars; what the project says wins."""
    defaults = {
        "spark.app.name": "siltstone",
        "spark.master": project.spark.master,
        "spark.driver.memory": f"{default_driver_gigabytes(memory_bytes())}g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.extensions": ICEBERG_EXTENSIONS,
        "spark.sql.catalogImplementation": "in-memory",
        # A fold has more generated classes than the hundred that Spark keeps, each compiled anew by HotSpot, too.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        # Spark's default of 200 is for clusters: on one machine every empty partition costs a task.
        "spark.sql.shuffle.partitions": str(max(4, 2 * (cores()))),
        # It walks Python's stack for every column expression: building a fold's plan would take three times as long.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Else each task of Python begins with a quarter of a second in which nothing is done.
        "spark.python.daemon.module": "siltstone.engine.worker_daemon",
    }
    defaults["spark.driver.extraJavaOptions"] = java_options(os.environ)
    return {**defaults, **FOLD_CONF, **catalog_conf(project.catalog), **project.spark.conf}


def java_options(environment: Mapping[str, str]) -> str:
    """What the JVM of a local session is told; no collector where the environment names one: a JVM refuses two.

    Nobody waits for a single answer, so what counts is the work that is left to the run. Collecting in parallel and
    all at once takes a fifth less of a catch-up's processor time than the collector that Java takes by itself. And the
    code that Spark generates is long and runs for seconds: compiled with less of it inlined, it is as fast afterwards,
    and the first 200,000 events of a JVM take three quarters of the processor time.
    """
    names_collector = any("GC" in environment.get(name, "") for name in JAVA_OPTIONS)
    return " ".join([*([] if names_collector else [PARALLEL_COLLECTOR]), *SHORT_INLINING])


def catalog_conf(catalog: CatalogSpec) -> dict[str, str]:
    """The Spark settings that declare the project's Iceberg catalog; what its `properties` say wins."""
    prefix = f"spark.sql.catalog.{catalog.name}"
    settings: dict[str, str] = {"type": catalog.type}
    if catalog.uri:
        settings["uri"] = catalog.uri
    if catalog.warehouse:
        settings["warehouse"] = catalog.warehouse
    file_io = FILE_IO.get(scheme_of(catalog.warehouse or ""))
    if file_io and catalog.type not in ("rest", "hadoop"):  # a REST catalog's own answer decides; hadoop has Hadoop's
        settings["io-impl"] = file_io
    if catalog.type == "jdbc":
        settings["jdbc.schema-version"] = "V1"
    if sqlite_file(catalog):
        settings["jdbc.busy_timeout"] = BUSY_TIMEOUT_MS
    settings["cache-enabled"] = "false"  # a cached table hides what another process has committed
    settings |= catalog.properties
    return {prefix: SPARK_CATALOG} | {f"{prefix}.{name}": value for name, value in settings.items()}


def needed_jars(catalog: CatalogSpec) -> list[Jar]:
    """What Spark needs to reach this catalog and its warehouse."""
    uri = (catalog.uri or "") if catalog.type == "jdbc" else ""
    drivers = [jar for begin, jar in JDBC_DRIVERS.items() if uri.startswith(begin)]
    is_on_s3 = scheme_of(catalog.warehouse or "") in S3 or "aws" in catalog.properties.get("io-impl", "")
    may_be_on_s3 = catalog.type == "rest" and any(name.startswith("s3.") for name in catalog.properties)
    aws = [ICEBERG_AWS] if is_on_s3 or may_be_on_s3 or catalog.type == "glue" else []
    return [ICEBERG_SPARK, *drivers, *aws]


def default_driver_gigabytes(memory: int) -> int:
    """About half of `memory` (bytes), at least one and at most eight gigabytes: Python workers need the rest."""
    return max(1, min(8, memory // 2 // GIGABYTE))


def spark_log() -> Path:
    """Where the JVM of a local session writes what it has to say."""
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
    return _configured({})  # the context has all settings; static ones cannot be set again on the session


def _start_gateway(conf: Mapping[str, str]) -> None:
    """Start the JVM with its standard error in a file: its warnings are not for the person at the terminal."""
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
        raise SpecError(f"Cannot start Spark: its JVM ended at once (its words are in {log}).") from error
    SparkContext(conf=settings, gateway=gateway)


def launch_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """The settings that the JVM is started with."""
    return {name: value for name, value in conf.items() if not name.startswith(NOT_AT_LAUNCH)}


@contextmanager
def utf8_names() -> Iterator[None]:
    """Let what is started inside see the disk in UTF-8. In a locale of another encoding (LC_ALL=C, as cron has it) Java
    cannot name every file, and passes over those."""
    if sys.platform != "linux" or codecs.lookup(locale.getencoding()).name == "utf-8":
        yield  # elsewhere Java does not ask the locale
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
    """Check that the session speaks Iceberg; give it the project's catalog and the settings a fold relies on."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise SpecError(
            "Cannot use a session of Spark Connect: siltstone needs the driver's JVM.",
            hint="Run the job with spark-submit, or unset SPARK_REMOTE so that siltstone starts a session of its own.",
        )
    if ICEBERG_EXTENSIONS not in (spark.conf.get("spark.sql.extensions", "") or ""):
        raise SpecError(
            f"Cannot use the Spark session that is there: it lacks the Iceberg extension (spark.sql.extensions "
            f"= {spark.conf.get('spark.sql.extensions', '') or 'empty'}).",
            hint=f"Start it with spark.sql.extensions={ICEBERG_EXTENSIONS} and {ICEBERG_SPARK.file}.",
        )
    if not _has_class(jvm, ICEBERG_EXTENSIONS):  # Spark itself only warns of it
        raise SpecError(
            "Cannot use the Spark session that is there: Iceberg's classes are missing.",
            hint=f"Start it with {ICEBERG_SPARK.file} (spark-submit --jars, or spark.jars).",
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

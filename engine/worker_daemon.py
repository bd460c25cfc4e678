"""The daemon from which Spark forks its Python workers: Spark's own, which does once what each task would repeat.

    spark.python.daemon.module=siltstone.engine.worker_daemon

Spark puts `pyspark.zip` and a jar on the path of a worker, and each task clears Python's caches of the path. Python
3.11 then re-reads the directories of both for every package in them. That takes a quarter of a second of processor time
per task, even for a few rows. So workers use the installed package, which is the same code. The decoders are loaded
before the workers are forked, and the garbage collector ignores everything that is loaded here.
"""

import gc
import sys
from fnmatch import fnmatch
from importlib import import_module
from pathlib import PurePath

PACKED = ("pyspark.zip", "py4j-*.zip", "spark-core_*.jar")
"""The zip files that Spark puts on the path."""
UNCOLLECTED = 100_000
"""How many objects a worker creates before it looks for reference cycles. A batch of records is ten thousands of
objects without cycles, and Python's usual threshold of 700 would cost a quarter of the time of decoding."""
LOADED = ("siltstone.engine.decode.spark", "pandas")  # PySpark loads pandas with a worker's first batch


def main() -> None:
    """Start Spark's daemon, which ends when the process that started it ends."""
    forget_zips()
    for name in LOADED:
        import_module(name)
    from pyspark.daemon import manager

    gc.freeze()
    gc.set_threshold(UNCOLLECTED)
    manager()  # type: ignore[no-untyped-call]  # pyspark gives it no types


def forget_zips() -> None:
    """Remove Spark's zip files from the path."""
    sys.path[:] = [path for path in sys.path if not is_packed(path)]
    for path in filter(is_packed, list(sys.path_importer_cache)):
        del sys.path_importer_cache[path]


def is_packed(path: str) -> bool:
    """Whether a path is one of Spark's zip files, or inside one."""
    return any(fnmatch(part, name) for part in PurePath(path).parts for name in PACKED)


if __name__ == "__main__":
    main()

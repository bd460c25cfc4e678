"""Python workers of a local session: forked with the decoders loaded, and from the installed PySpark."""

import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from siltstone.engine.worker_daemon import LOADED, forget_zips

INSTALLED = "/venv/lib/python3.11/site-packages/pyspark"
ZIPS = (
    f"{INSTALLED}/python/lib/pyspark.zip",
    f"{INSTALLED}/python/lib/py4j-0.10.9.9-src.zip",
    f"{INSTALLED}/jars/spark-core_2.13-4.1.1.jar",
)
OTHERS = ("/venv/lib/python3.11/site-packages", "/app/mine.zip", "/app/spark-core")


def test_zips_of_spark_go_and_other_paths_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict.fromkeys((*ZIPS, f"{ZIPS[0]}/pyspark/sql", *OTHERS))
    monkeypatch.setattr(sys, "path", [*ZIPS, *OTHERS])
    monkeypatch.setattr(sys, "path_importer_cache", known)
    forget_zips()
    assert sys.path == list(OTHERS)
    assert list(known) == list(OTHERS)


def loaded_in_workers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is loaded in a worker before its first batch, and what of its path is a zip file."""
    loaded = sorted(name for name in LOADED if name in sys.modules)
    zips = sorted(path for path, finder in sys.path_importer_cache.items() if type(finder).__name__ == "zipimporter")
    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict(
        {"loaded": [loaded], "zips": [zips]},
        schema=pa.schema([("loaded", pa.list_(pa.string())), ("zips", pa.list_(pa.string()))]),
    )


def test_a_worker_has_the_decoders_and_no_zip_on_its_path(spark: SparkSession) -> None:
    (found,) = (
        spark.range(1).coalesce(1).mapInArrow(loaded_in_workers, "loaded array<string>, zips array<string>").collect()
    )
    assert (found["loaded"], found["zips"]) == (sorted(LOADED), [])

"""siltstone refuses a Spark Connect session with a one-line message before it writes anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json
from pyspark.sql import SparkSession
import siltstone
from siltstone.engine.errors import SpecError

spark = SparkSession.builder.remote("local").getOrCreate()
number = spark.range(3).count()  # the server is there
try:
    siltstone.catch_up(siltstone.load_project(), [], siltstone.spark_session(siltstone.load_project()))
except SpecError as error:
    print(json.dumps([type(spark).__module__, number, error.message, error.hint]))
spark.stop()
"""


@pytest.mark.slow
def test_a_spark_connect_session_is_refused(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    module, number, message, hint = json.loads(done.stdout.splitlines()[-1])
    assert (module, number) == ("pyspark.sql.connect.session", 3)
    assert message == "Cannot use a session of Spark Connect: siltstone needs the driver's JVM."
    assert "spark-submit" in hint
    assert list(tmp_path.iterdir()) == []

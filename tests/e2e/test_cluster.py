"""Jobs on a Spark standalone cluster of a master and two workers, started with spark-submit as the docs describe."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyspark
import pytest

from siltstone.engine.session import ICEBERG_EXTENSIONS
from tests.brokers import Broker
from tests.e2e.streams import THINGS, insert, row, update
from tests.e2e.topics import keyed

SPARK = Path(pyspark.__file__).parent
ROOT = Path(__file__).parents[2]
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
SECONDS = 120
KEYS = 2_000
pytestmark = pytest.mark.slow


@dataclass
class Cluster:
    """A master and its workers."""

    folder: Path
    url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def complete(self) -> None:
        """Start workers until two are alive."""
        while sum(worker.poll() is None for worker in self.workers) < 2:
            number = len(self.workers) + 1
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"work-{number}"))
            name = f"worker-{number}"
            self.workers.append(start(self.folder, name, WORKER, self.url, "--webui-port", "0", *options))
        wait_for(self.folder / "master.log", "Registering worker", len(self.workers))

    def lose_a_worker(self) -> None:
        """Kill the first live worker and its executor."""
        stop(next(worker for worker in self.workers if worker.poll() is None))


def start(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Spark process in its own process group, with its output in a file."""
    command = [str(SPARK / "bin" / "spark-class"), *arguments]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment(), start_new_session=True)


def environment() -> dict[str, str]:
    """The environment of the cluster's processes. They use this Python, because siltstone is installed in it."""
    return os.environ | {
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }


def wait_for(file: Path, pattern: str, number: int = 1) -> list[str]:
    """Wait until a log has this number of matches of a pattern. Gives the matches."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        found = re.findall(pattern, file.read_text(encoding="utf-8")) if file.exists() else []
        if len(found) >= number:
            return found
        time.sleep(0.2)
    raise AssertionError(f"{pattern} is not in {file}: {file.read_text(encoding='utf-8')[-2000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all processes that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    master = start(folder, "master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    found = Cluster(folder, "")
    try:
        (found.url,) = wait_for(folder / "master.log", r"Starting Spark master at (spark://\S+)")
        yield found
    finally:
        for process in (*found.workers, master):
            stop(process)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one table and no events yet."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "events").mkdir()
    catalog = {
        "name": "lake",
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        "warehouse": f"file://{tmp_path}/warehouse",
    }
    (tmp_path / "siltstone.yaml").write_text(json.dumps({"catalog": catalog}), encoding="utf-8")
    spec = {
        "table": THINGS,
        "source": {"format": "debezium-json", "path": f"{tmp_path}/events"},
        "keys": ["id"],
        "columns": {"id": "int", "name": "string", "n": "int"},
        "target": {"latest": "shop.things", "history": "shop.things_history"},
    }
    (tmp_path / "specs" / "things.yaml").write_text(json.dumps(spec), encoding="utf-8")
    return tmp_path


def deliver(project: Path, files: int) -> None:
    """Write files, each with an insert and an update of its own keys."""
    for number in range(files):
        keys = range(number * KEYS, (number + 1) * KEYS)
        lines = [insert(key + 1, row(key, "first")) + update(key + 900_000, row(key, "second", key)) for key in keys]
        (project / "events" / f"{number}.jsonl").write_text("".join(lines), encoding="utf-8")


def read_topic(project: Path, broker: Broker, topic: str) -> None:
    """Let the table of the project read a topic in place of files."""
    file = project / "specs" / "things.yaml"
    spec = json.loads(file.read_text(encoding="utf-8"))
    spec["source"] = {"format": "debezium-json", "kafka": {"bootstrap": broker.bootstrap, "topics": topic}}
    file.write_text(json.dumps(spec), encoding="utf-8")


def produce(broker: Broker, topic: str, number: int) -> None:
    """Produce an insert and an update of each of KEYS keys, into four partitions by key."""
    keys = range(number * KEYS, (number + 1) * KEYS)
    lines = [(key, insert(key + 1, row(key, "first"))) for key in keys]
    lines += [(key, update(key + 900_000, row(key, "second", key))) for key in keys]
    broker.produce(topic, [keyed(line, key % 4) for key, line in lines])


def submit(cluster: Cluster, project: Path, job: str, output: IO[str]) -> subprocess.Popen[bytes]:
    """Start a job as the docs describe."""
    siltstone = [sys.executable, "-m", "siltstone"]
    jars = subprocess.run(
        [*siltstone, "jars", "--project", str(project)], capture_output=True, text=True, check=True, env=environment()
    )
    settings = {
        "spark.sql.extensions": ICEBERG_EXTENSIONS,
        "spark.python.daemon.module": "siltstone.engine.worker_daemon",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.cores": "1",
        "spark.executor.memory": "700m",
        "spark.sql.shuffle.partitions": "4",
    }
    confs = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command = [str(SPARK / "bin" / "spark-submit"), "--master", cluster.url, "--jars", jars.stdout.strip(), *confs]
    command += [str(ROOT / "jobs" / f"{job}.py"), "--project", str(project)]
    with (project / "submit.log").open("w", encoding="utf-8") as errors:
        return subprocess.Popen(command, stdout=output, stderr=errors, cwd=project, env=environment())


def report_of(cluster: Cluster, project: Path, job: str) -> dict[str, Any]:
    """Run a job that must succeed. Gives its report."""
    with (project / "report.json").open("w+", encoding="utf-8") as output:
        code = submit(cluster, project, job, output).wait(timeout=3 * SECONDS)
        output.seek(0)
        text = output.read()
    assert code == 0, text + (project / "submit.log").read_text(encoding="utf-8")[-3000:]
    return dict(json.loads(text))


def rows(project: Path) -> list[tuple[Any, ...]]:
    """All live rows: (id, name, n)."""
    command = [sys.executable, "-m", "siltstone", "export", THINGS, "--format", "jsonl", "--project", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    found = map(json.loads, done.stdout.splitlines())
    return sorted((one["id"], one["name"], one["n"]) for one in found)


def test_jobs_run_on_executors_of_a_cluster(cluster: Cluster, project: Path) -> None:
    cluster.complete()
    deliver(project, 2)
    (table,) = report_of(cluster, project, "catch_up")["tables"]
    assert (table["status"], table["changes"]) == ("ok", 4 * KEYS)
    assert rows(project) == [(key, "second", key) for key in range(2 * KEYS)]
    assert report_of(cluster, project, "maintain")["exit_code"] == 0
    assert rows(project) == [(key, "second", key) for key in range(2 * KEYS)]


@pytest.mark.parametrize("stage", ["[2-9]", "1[5-9]", "3[0-9]"])
def test_the_loss_of_a_worker_does_not_change_the_tables(cluster: Cluster, project: Path, stage: str) -> None:
    """`stage`: the stage that runs when the worker dies. In later stages, executors store results of earlier ones."""
    cluster.complete()
    deliver(project, 6)
    with (project / "report.json").open("w+", encoding="utf-8") as output:
        job = submit(cluster, project, "catch_up", output)
        wait_for(project / "submit.log", rf"Starting task \S+ in stage {stage}\.")
        cluster.lose_a_worker()
        code = job.wait(timeout=3 * SECONDS)
    assert code == 0, (project / "submit.log").read_text(encoding="utf-8")[-3000:]
    assert rows(project) == [(key, "second", key) for key in range(6 * KEYS)]


def test_jobs_read_a_topic_on_executors_and_survive_the_loss_of_a_worker(
    cluster: Cluster, project: Path, broker: Broker
) -> None:
    cluster.complete()
    topic = broker.create("on-a-cluster", 4)
    read_topic(project, broker, topic)
    produce(broker, topic, 0)
    (table,) = report_of(cluster, project, "catch_up")["tables"]
    assert (table["status"], table["changes"]) == ("ok", 2 * KEYS)
    produce(broker, topic, 1)
    with (project / "report.json").open("w+", encoding="utf-8") as output:
        job = submit(cluster, project, "catch_up", output)
        wait_for(project / "submit.log", r"Starting task \S+ in stage [1-9]\.")
        cluster.lose_a_worker()
        code = job.wait(timeout=3 * SECONDS)
    assert code == 0, (project / "submit.log").read_text(encoding="utf-8")[-3000:]
    assert rows(project) == [(key, "second", key) for key in range(2 * KEYS)]


LOSES_AN_EXECUTOR = """
import os, signal, subprocess, time
from pyspark.sql import SparkSession
from siltstone.engine.frames import checkpointed

confs = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "700m", "spark.ui.enabled": "false"}
spark = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=confs).getOrCreate()
executors = lambda: spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
while len(list(executors())) < 3:  # the driver is one
    time.sleep(0.2)
kept = checkpointed(spark.range(0, 1000, 1, 4))
mine = ["pgrep", "-f", f"CoarseGrainedExecutorBackend.*{spark.sparkContext.applicationId}"]
os.kill(int(subprocess.run(mine, capture_output=True, check=True).stdout.split()[0]), signal.SIGKILL)
print(kept.count())
"""


def test_checkpointed_rows_survive_the_loss_of_an_executor(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOSES_AN_EXECUTOR], capture_output=True, text=True, cwd=tmp_path, env=environment(),
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "1000", done.stderr[-2000:]

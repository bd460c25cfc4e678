"""A project on disk with its own lake. Its commands run in this process, or in another process that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.cli import main as siltstone
from tests.bench.lake import Lake
from tests.conftest import TEST_CONF
from tests.results import ROOT

SECONDS = 300
KILLED = -9
GAP_IS_OPEN = 5


@dataclass(frozen=True)
class DiskProject:
    """A folder with the project file, the specs, the events and the lake.

    The name of the folder is the name of the catalog in the session, so two folders of a process need different names.
    """

    root: Path

    @property
    def lake(self) -> Lake:
        """The lake that has the tables."""
        return Lake(self.root.name, self.root / "lake")

    @property
    def file(self) -> Path:
        """The project file."""
        return self.root / "siltstone.yaml"

    @property
    def events(self) -> Path:
        """The folder of the events."""
        return self.root / "events"

    @property
    def log(self) -> Path:
        """The file to which a process writes its commits."""
        return self.root / "commits.log"

    def write(self) -> None:
        """Make the folders, and write the project file."""
        for folder in ("events", "specs", "lake"):
            (self.root / folder).mkdir(parents=True)
        catalog = self.lake.catalog
        places = {"name": catalog.name, "type": catalog.type, "uri": catalog.uri, "warehouse": catalog.warehouse}
        spark = {"master": "local[2]", "conf": TEST_CONF}
        project = {"catalog": places, "namespace": "silt", "spark": spark, "maintenance": {"retain": "0s"}}
        self.file.write_text(json.dumps(project), encoding="utf-8")  # JSON is YAML

    def write_spec(self, spec: Mapping[str, Any]) -> None:
        """Write the spec of a table."""
        (self.root / "specs" / f"{spec['table']}.yaml").write_text(json.dumps(spec), encoding="utf-8")

    def restore(self) -> None:
        """Restore the lake to the state that `keep` stored."""
        self.lake.restore()
        for note in self.lake.root.glob("catalog.db.run.*.json"):
            note.unlink()

    def run_command(self, *arguments: str) -> int:
        """Run a command in this process, and give its exit code."""
        try:
            with redirect_stdout(StringIO()):
                siltstone([*arguments, "--project", str(self.file)])
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    def run_killed(self, moment: str, number: int, *arguments: str) -> int:
        """Run a command in a process that dies before or after a commit (`victim`); give its exit code."""
        self.log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.crash.victim", moment, str(number), str(self.log)]
        with (self.root / "victim.log").open("w") as output:
            done = subprocess.run(
                [*command, *arguments, "--project", str(self.file)],
                cwd=ROOT,
                stdout=output,
                stderr=output,
                start_new_session=True,
                timeout=SECONDS,
                check=False,
            )
        return done.returncode

    def output(self) -> str:
        """The output of the last process that could be killed."""
        return (self.root / "victim.log").read_text(encoding="utf-8")

    def commits(self) -> list[str]:
        """The commits that the last killable process logged."""
        return self.log.read_text(encoding="utf-8").splitlines()

    def rows(self, spark: SparkSession, table: str, without: tuple[str, ...] = ()) -> list[str]:
        """The rows of a table as sorted text. A table that does not exist has none."""
        name = self.identifier(table)
        if not spark.catalog.tableExists(name):
            return []
        kept = [f"`{column}`" for column in spark.table(name).columns if column not in without]
        return sorted(repr(row.asDict(recursive=True)) for row in spark.table(name).select(*kept).collect())

    def traces(self, spark: SparkSession, table: str) -> list[str]:
        """Problems with the references of a table: branches that runs left, and a tag on an old snapshot."""
        refs = {row["name"]: row for row in spark.table(f"{self.identifier(table)}.refs").collect()}
        left = [name for name, row in refs.items() if row["type"] == "BRANCH" and name != "main"]
        found = [f"{table}: branch {name}" for name in left]
        if refs[names.MARKER_TAG]["snapshot_id"] != refs["main"]["snapshot_id"]:
            found.append(f"{table}: the tag is on an old snapshot")
        return found

    def identifier(self, table: str) -> str:
        """The name of a table in Spark."""
        return f"{self.lake.name}.silt.{table}"


def session() -> SparkSession:
    """The session of this process."""
    spark = SparkSession.getActiveSession()
    assert spark is not None
    return spark


def say(text: str) -> None:
    """Print a line about the progress."""
    sys.stderr.write(f"{text}\n")

"""A run that kills its own process before it publishes a table: `python -m tests.e2e.kafka_run`."""

import json
import os
import signal
import sys
from pathlib import Path

from siltstone.engine.run import catch_up
from siltstone.engine.session import spark_session
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec
from siltstone.engine.table.commit import Branch
from tests.conftest import TEST_CONF


def main(given: dict[str, object]) -> None:
    """Run over one table, and kill the process when all changes are on their branch."""
    catalog = CatalogSpec("lake", "jdbc", str(given["uri"]), str(given["warehouse"]))
    project = ProjectSpec(
        Path(str(given["root"])),
        None,
        catalog,
        str(given["namespace"]),
        SparkSpec("local[2]", TEST_CONF),
        QualitySpec(),
    )
    publish = Branch.publish

    def dying(branch: Branch) -> None:
        if branch.table.endswith("_changes"):
            os.kill(os.getpid(), signal.SIGKILL)
        publish(branch)

    Branch.publish = dying  # type: ignore[method-assign]
    spec = given["spec"]
    assert isinstance(spec, dict)
    catch_up(project, [table_spec(spec, project)], spark_session(project))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Run one of siltstone's jobs with a project that is a zip file in an object store.

    zip -r project.zip siltstone.yaml specs
    spark-submit ... run_job.py catch_up s3://lake/siltstone/project.zip --wait 600

The file is read with PyArrow: `s3://`, `gs://` and `file://`, with the machine's own credentials.
"""

import importlib
import io
import sys
import tempfile
import zipfile
from collections.abc import Sequence

from pyarrow import fs


def main(arguments: Sequence[str]) -> int:
    """Download the project, run the job, and give its exit code."""
    job, project, *options = arguments
    system, path = fs.FileSystem.from_uri(project)
    with system.open_input_file(path) as file:
        content = io.BytesIO(file.read())
    folder = tempfile.mkdtemp(prefix="siltstone-")
    zipfile.ZipFile(content).extractall(folder)
    code: int = importlib.import_module(f"siltstone.jobs.{job}").main([*options, "--project", folder])
    return code


if __name__ == "__main__":
    if exit_code := main(sys.argv[1:]):
        sys.exit(exit_code)

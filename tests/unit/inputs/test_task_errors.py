"""Errors of siltstone in Spark tasks keep their class, message and hint."""

import traceback

import pytest

from siltstone.engine.errors import CommitConflictError, SiltstoneError, SourceError
from siltstone.engine.inputs.task_errors import raised_in_task


def as_spark_reports_it(raised: Exception) -> RuntimeError:
    """The text of an error in a task, inside the text of another error."""
    try:
        raise raised
    except type(raised):
        return RuntimeError(
            f"Job aborted due to stage failure: PythonException:\n{traceback.format_exc()}\nDriver stack:"
        )


@pytest.mark.parametrize(
    "raised",
    [SourceError("Cannot read a.gz: it ends early.", "deliver it whole"), CommitConflictError("Cannot commit.")],
)
def test_an_error_of_siltstone_comes_back_unchanged(raised: SiltstoneError) -> None:
    found = raised_in_task(as_spark_reports_it(raised))
    assert (type(found), str(found)) == (type(raised), str(raised))


def test_other_errors_are_not_errors_of_siltstone() -> None:
    assert raised_in_task(as_spark_reports_it(ValueError("siltstone.engine.errors"))) is None

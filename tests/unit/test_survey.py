"""What the survey refuses before a fold."""

from dataclasses import replace

import pytest

from engine.errors import SpecError
from engine.run.survey import refuse_unknown_tracked
from engine.spec.model import HistorySpec, TrackSpec
from tests.unit.decode.given import spec


@pytest.mark.parametrize("mode", ["columns", "except"])
def test_a_tracked_column_that_the_table_has_not_is_refused(mode: str) -> None:
    told = replace(spec({"id": "int"}), history=HistorySpec(TrackSpec(mode, ("a", "amuont"))))  # type: ignore[arg-type]
    refuse_unknown_tracked(told, ("id", "a", "amuont"))
    with pytest.raises(SpecError, match="names amuont") as refused:
        refuse_unknown_tracked(told, ("id", "a", "amount"))
    assert "did you mean amount?" in str(refused.value)

"""What the sections of a spec and of the project file have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict

from siltstone.engine.spec.model import (
    OnFailure,
)
from siltstone.engine.spec.value_types import (
    words,
)

OnFailureWord = Annotated[OnFailure, *words("warn", "block")]


class Section(BaseModel):
    """A mapping whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

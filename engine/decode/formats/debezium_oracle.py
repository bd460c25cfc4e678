"""Positions of Debezium's connector for Oracle.

The commit SCN comes first in a position. Connectors before 2.0 wrote the commit SCN of an earlier transaction,
which is lower, on all events of a transaction but the last one: their changes are ordered by the SCNs of statements,
with zeros for the commit SCN. These positions come before all positions of newer connectors, and the zeros extend the
windows of READs further back. SCNs alone order an event if its own `source.version` requires it, if the spec sets it
(`source.order: scn`), or, for all events of a source, if one commit SCN is lower than the SCN of its change
(`SourceSpec.by_scn`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from siltstone.engine.decode.formats.debezium_envelope import Source
from siltstone.engine.decode.formats.debezium_names import source_name
from siltstone.engine.decode.formats.json_fields import whole_number
from siltstone.engine.decode.position_text import hex_digits, joined, redo_record
from siltstone.engine.spec.model import SourceSpec

COMMIT_SCNS_SINCE: Final = 2
"""The first major version that writes the commit SCN of the event's own transaction."""
BY_SCN: Final = "scn"
LOWER_COMMIT: Final = "source.commit_scn is lower than source.scn"
NO_COMMIT: Final = "source.commit_scn is missing"
_HINT: Final = " (source.order: scn in the spec orders without it)"
_AFTER_ALL_OF_COMMIT: Final = ("F" * 24, "F" * 8, "F" * 4)
_MAJOR: Final = re.compile(r"([0-9]{1,9})\.")


def by_scn(source: Source, spec: SourceSpec) -> bool:
    """Whether SCNs alone order an event of Oracle."""
    if spec.order == BY_SCN or _writes_earlier_commits(source.version):
        return True
    return bool(spec.by_scn) and source_name(source) in spec.by_scn


@lru_cache(maxsize=1_000)
def _writes_earlier_commits(version: str | None) -> bool:
    """Whether a version of the connector writes the commit SCNs of earlier transactions."""
    major = None if version is None else _MAJOR.match(version)
    return major is not None and int(major[1]) < COMMIT_SCNS_SINCE


def oracle_position(source: Source, spec: SourceSpec) -> str | None:
    """The position of a streamed change."""
    commit = 0 if by_scn(source, spec) else positive(source.commit_scn)
    return joined(
        hex_digits(commit, 16),
        hex_digits(positive(source.scn), 16),
        redo_record(source.rs_id),
        hex_digits(source.ssn or 0, 8),
        hex_digits(source.redo_thread or 0, 4),
    )


def oracle_position_of_read(source: Source, spec: SourceSpec) -> str | None:
    """The position of a READ. A READ that saw everything up to an SCN comes after all changes of that SCN.

    READs of a snapshot name its SCN. READs of an incremental snapshot borrow an older SCN, possibly with its commit.
    """
    scn = positive(source.scn)
    if by_scn(source, spec):
        return joined(hex_digits(0, 16), hex_digits(scn, 16), *_AFTER_ALL_OF_COMMIT)
    seen = hex_digits(max(scn or 0, positive(source.commit_scn) or 0) or None, 16)
    return joined(seen, seen, *_AFTER_ALL_OF_COMMIT)


def oracle_misplaced(source: Source, spec: SourceSpec) -> str | None:
    """Why the commit SCN of a streamed change cannot order it; None if it can, or if SCNs alone order the source."""
    scn = positive(source.scn)
    if scn is None or by_scn(source, spec):
        return None
    commit = positive(source.commit_scn)
    if commit is None:
        return NO_COMMIT + _HINT
    return LOWER_COMMIT + _HINT if commit < scn else None


def positive(scn: str | None) -> int | None:
    """The number of an SCN or LSN. None for zero, which is no position."""
    number = whole_number(scn)
    return number if number is not None and number > 0 else None

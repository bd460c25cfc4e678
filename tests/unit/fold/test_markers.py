"""The marker of a fold, as snapshots store it."""

import json

from siltstone.engine.history.fold_settings import Folded

STORED = (
    '{"batch": 3, "changes": "uuid", "close": null, "close_ts": null, "control_batch": 2, "owing": "00A0",'
    ' "partial": ["name"], "read_ts": null, "sources": ["postgresql:shop"], "truncate": null, "truncate_ts": null}'
)


def test_a_marker_keeps_the_keys_that_older_snapshots_have() -> None:
    folded = Folded(3, 2, partial=("name",), sources=("postgresql:shop",), partial_inserts="00A0", changes="uuid")
    assert folded.to_json() == STORED
    assert Folded.from_json(STORED) == folded


def test_a_marker_without_newer_keys_is_read() -> None:
    older = {key: value for key, value in json.loads(STORED).items() if key not in ("changes", "read_ts")}
    assert Folded.from_json(json.dumps(older)) == Folded(
        3, 2, partial=("name",), sources=("postgresql:shop",), partial_inserts="00A0"
    )

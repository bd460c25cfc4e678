"""The rows of SharePlex's updates: the row before with the columns that changed.

    before {"id":"1","a":"x"}    changed {"a":"z"}     update   before {"id":"1","a":"x"}   after {"id":"1","a":"z"}
    before {"id":"1"}            changed {"a":"z"}     update   before none                 after {"id":"1","a":"z"}
    before {"id":"1","a":"x"}    changed {"id":"2"}    delete   before {"id":"1","a":"x"}
                                                       insert   after {"id":"2","a":"x"}

The row before counts as complete if it has every column that changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from siltstone.engine.decode.event import Event
from siltstone.engine.decode.formats.json_fields import content_of
from siltstone.engine.decode.formats.row_images import halves
from siltstone.engine.decode.json_value import raw_fields, text_of


def key_of(row: bytes, keys: Iterable[str]) -> bytes:
    """The key columns that a row has, as JSON text."""
    fields = raw_fields(row)
    return text_of({name: fields[name] for name in keys if name in fields})


def changes_with_row_before(update: Event, before: bytes, keys: Iterable[str]) -> list[Event]:
    """An update with complete images. If it changes the key, the delete of the old key and the insert of the new one.

    Needs: `after` of the update has the columns that changed.
    """
    assert update.after is not None  # it is rejected without data
    old, changed = raw_fields(before), raw_fields(update.after)
    after = text_of({**old, **changed})
    if any(name in changed and content_of(changed[name]) != content_of(old.get(name)) for name in keys):
        return halves(update, before, after)
    update.before = before if changed.keys() <= old.keys() else None
    update.after = after
    return [update]

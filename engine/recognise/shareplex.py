"""SharePlex's operations: what a record says of tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.decode.shareplex_kinds import CONTROLS, OPS
from engine.recognise.fact import Fact
from engine.recognise.sample import parsed

ORDER: Final = "SCN, transaction and operation, if all have one, else where the operations stand"


def facts(record: Any) -> Sequence[Fact] | None:
    """A change of a row; nothing for other operations; None for what is no operation."""
    if not isinstance(record, Mapping):
        return None
    operation = record
    value = record.get("value")
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = parsed(value)
        except ValueError:
            return None
    if isinstance(value, Mapping):
        operation = value
    meta = operation.get("meta")
    if not isinstance(meta, Mapping) or not isinstance(meta.get("op"), str):
        return None
    word = " ".join(meta["op"].replace("_", " ").split()).upper()
    if word not in OPS:
        return [] if word in CONTROLS else None
    images = [image for image in (operation.get("key"), operation.get("data")) if isinstance(image, Mapping)]
    row = {name: value for image in images for name, value in image.items()} if images else None
    return [Fact(meta.get("table"), row=row, inserted=OPS[word] == "insert")]

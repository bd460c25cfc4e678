"""The schema of an Avro file, as it is read."""

from typing import Any


def without_logical_types(schema: Any) -> Any:
    """The schema that reads every value as it is encoded: decimals of any size as bytes, times as their counts."""
    if isinstance(schema, list):
        return [without_logical_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("logicalType", "precision", "scale", "default")}
    if "fields" in kept:
        kept["fields"] = [{"name": f["name"], "type": without_logical_types(f["type"])} for f in kept["fields"]]
    for inside in ("type", "items", "values"):
        if isinstance(kept.get(inside), (dict, list)):
            kept[inside] = without_logical_types(kept[inside])
    return kept

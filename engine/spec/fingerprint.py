"""Fingerprints of settings. A table that was folded with other settings must be rebuilt before the next run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Final

from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.model import METADATA_PREFIX, ColumnSpec, TableSpec
from siltstone.engine.spec.renamed_names import first_name
from siltstone.engine.spec.rows_format import RowsSpec

SOURCE: Final = "source"
EPOCHS: Final = "epochs"
_TEXTS: Final = ("string", "uuid", "enum", "xml")
_SCALED: Final = ("timestamp", "timestamp_ntz", "time", "bits")  # kinds whose precision defines the unit of a number


def fold_fingerprint(spec: TableSpec) -> str:
    """32 hexadecimal digits over every setting that shapes the fold. A changed fingerprint needs a rebuild."""
    rows = {} if spec.source.rows is None else {"rows": _rows(spec.source.rows)}
    special: dict[str, object] = {"names": spec.history.names} if spec.history.names else {}
    special |= {"recorded": True} if spec.history.recorded else {}
    special |= {"several": "shards"} if spec.source.several == "shards" else {}
    return _digest(
        rows
        | special
        | {
            "keys": None if spec.keys is None else tuple(first_name(spec, key) for key in spec.keys),
            "columns": _columns(spec),
            "track": [spec.history.track.mode, sorted(first_name(spec, name) for name in spec.history.track.columns)],
            "snapshot": {name: _microseconds(value) for name, value in asdict(spec.snapshot).items()},
            "lateness": None if spec.lateness is None else _microseconds(spec.lateness),
        }
    )


def decode_fingerprints(spec: TableSpec) -> dict[str, str]:
    """Fingerprints of the settings that decode events: of the source, and of each declared column by its first name.

    A changed fingerprint needs `rebuild --reread`. The format is not included, because the same changes can arrive in
    another format. Types are not included either: the stored values show whether they can be converted. A new epoch can
    be added at the end of the list without a reread: the text of the epochs then has the old text as its prefix.
    """
    source = spec.source
    settings: dict[str, object] = {
        "encodings": [
            *(source.time_zone, source.decimals, source.binaries, source.times, source.images, source.order),
            source.several == "shards",
            *([] if source.nulls == "omitted" else [source.nulls]),
            *(() if source.metadata_prefix == METADATA_PREFIX else (source.metadata_prefix,)),
        ],
        "rows": None if source.rows is None else _rows(source.rows),
    }
    columns = {f"column {first_name(spec, name)}": _encoding(column) for name, column in (spec.columns or {}).items()}
    epochs = " ".join(_digest({"rule": repr(rule)}) for rule in source.epochs or ())
    return {SOURCE: _digest(settings), EPOCHS: epochs} | columns


def mask_fingerprints(spec: TableSpec) -> dict[str, str]:
    """Fingerprints of mask and salt of each masked column, by its first name. Stored values cannot get another mask."""
    columns = {first_name(spec, name): column for name, column in (spec.columns or {}).items()}
    return {name: _digest({"mask": [c.mask, c.salt]}) for name, c in columns.items() if c.mask is not None}


def _rows(rows: RowsSpec) -> str:
    """The settings that define what a row means, without those of the file that contains it."""
    return repr(replace(rows, file_type=None, delimiter=","))


def _columns(spec: TableSpec) -> dict[str, object] | None:
    if spec.columns is None:
        return None
    return {first_name(spec, name): _column(column) for name, column in spec.columns.items()}


def _column(column: ColumnSpec) -> list[object]:
    parsed = parse_column_type(column.type)
    encoding = parsed.source_encoding
    return [parsed.spark_type, encoding.kind, encoding.precision, column.mask, column.salt, column.default]


def _encoding(column: ColumnSpec) -> str:
    encoding = parse_column_type(column.type).source_encoding
    kind = "string" if encoding.kind in _TEXTS else encoding.kind
    return _digest({"kind": [kind, encoding.precision if kind in _SCALED else None]})


def _microseconds(value: timedelta) -> int:
    return value // timedelta(microseconds=1)


def _digest(settings: dict[str, object]) -> str:
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]

"""Alibaba DTS: records of several databases, each a message of Avro."""

from __future__ import annotations

from typing import Final

from siltstone.engine.formats.base import MANY_LOGS, NO_SIZE, NO_SNAPSHOTS, ONE_WAY, Format, SourceKind

FORMATS: Final = (
    Format(
        "dts-avro",
        "siltstone.engine.decode.formats.dts_avro:DtsDecoder",
        (
            SourceKind(
                "dts-",
                unavailable_checks=NO_SNAPSHOTS | {"incomplete_transaction": NO_SIZE, "log_gap": MANY_LOGS},
                renumbers_transactions=True,
                notation="siltstone.engine.decode.formats.dts_kinds:notation",
            ),
        ),
        "the source's log: sourcePosition, then the record's id",
        containers=("json", "text", "avro", "parquet"),
        holds="messages",
        of_topics=True,
        looks_for="messages in base64 or bytes, each a record of DTS",
        no_key="siltstone.engine.decode.formats.dts_avro:shows_no_key",
        refuses=dict.fromkeys(("binaries", "decimals", "times"), ONE_WAY),
        values="written",
        marks_values=True,
        fans_out=True,
        splits_key_changes=True,
    ),
)

"""Epochs: where a log began anew, its positions start again. Rules over the event itself tell which epoch it is of.

So an event has the same epoch whenever it arrives. The epoch is the first segment of every position.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.decode.envelope import CHANGE, REJECT
from engine.decode.position import SECOND_EPOCH
from engine.names import DATASTREAM, OP_READ
from engine.spec.model import EpochSpec

_DIGITS: Final = len(SECOND_EPOCH)
_OWN: Final = int(SECOND_EPOCH, 16) + 1  # epochs that a format tells apart by itself, inside each declared one
UNTOLD: Final = (
    "an event that names no server (a READ, a stream of Datastream without GTIDs) does not say of which epoch it is:"
    " give the epoch an until, or a path, beside server_id and gtid"
)
_PLACES: Final = ("$.value.payload.source.", "$.value.source.", "$.payload.source.", "$.source.")
_IN_DATASTREAM: Final = {"server_id": "datastream_master_server_id", "gtid": "gtid"}


def with_epochs(envelopes: DataFrame, epochs: Sequence[EpochSpec]) -> DataFrame:
    """Positions in the epochs they are of: the first rule that holds, else the one after the last.

    Needs: the columns of ENVELOPE_COLUMNS.
    Gives: the same columns; READs of which the rules do not tell it are rejected.
    Rows: 1:1.

        epoch: [{until: 2026-03-01T04:00:00Z}]   position as read     position
        committed on 28 February                 0000-0000000A-...    0000-0000000A-...
        committed on 1 March at noon             0000-00000001-...    0002-00000001-...    a new log, behind the old
    """
    if not epochs:
        return envelopes
    number = F.lit(len(epochs))
    for index, epoch in reversed(list(enumerate(epochs))):
        held = holds(epoch)
        number = F.when(held, index).when(held.isNotNull(), number)
    numbered = envelopes.withColumn("_epoch", number)
    segment = F.lpad(F.hex(F.col("_epoch") * _OWN + _number(F.col("position"))), _DIGITS, "0")
    is_untold = F.col("_epoch").isNull() & F.col("position").isNotNull() & (F.col("kind") == CHANGE)
    made = {
        "position": F.concat(segment, F.substring("position", _DIGITS + 1, 1 << 20)),
        "kind": F.when(is_untold, REJECT).otherwise(F.col("kind")),
        "reason": F.when(is_untold, UNTOLD).otherwise(F.col("reason")),
    }
    return numbered.select(*[made.get(name, F.col(name)).alias(name) for name in envelopes.columns])


def declared_epoch(position: Column) -> Column:
    """Which of the declared epochs a position is of."""
    return F.floor(_number(position) / _OWN)


def is_second(position: Column) -> Column:
    """Whether a position is of the second of a format's own epochs, whatever declared one they are inside."""
    return _number(position) % _OWN == int(SECOND_EPOCH, 16)


def _number(position: Column) -> Column:
    return F.conv(F.substring(position, 1, _DIGITS), 16, 10).cast("int")


def holds(epoch: EpochSpec) -> Column:
    """Whether an event is of the epoch: all of its conditions hold, and what the event does not say does not.

    A READ of MySQL says of no server and of no GTID, nor does a stream of Datastream that was made without GTIDs: it is
    of the epoch if the other conditions hold; null where there are none.
    """
    of_server, others = [], []
    if epoch.server_id is not None:
        of_server.append(from_source("server_id").try_cast("bigint") == epoch.server_id)
    if epoch.gtid is not None:
        of_server.append(F.lower(F.substring_index(from_source("gtid"), ":", 1)) == epoch.gtid.lower())
    if epoch.path is not None:
        others.append(F.col("file").rlike(ending(epoch.path)))
    if epoch.until is not None:
        others.append(F.col("commit_ts") < F.lit(epoch.until))
    held = F.coalesce(reduce(and_, [*of_server, *others]), F.lit(False))
    if not of_server:
        return held
    server, gtid = from_source("server_id").try_cast("bigint"), from_source("gtid")
    is_silent = (F.coalesce(server, F.lit(0)) == 0) & (F.coalesce(gtid, F.lit("")) == "")
    is_silent = is_silent & F.coalesce((F.col("op") == OP_READ) | F.col("source").startswith(DATASTREAM), F.lit(False))
    told = F.coalesce(reduce(and_, others), F.lit(False)) if others else F.lit(None).cast("boolean")
    return F.when(is_silent, told).otherwise(held)


def from_source(name: str) -> Column:
    """A field of Debezium's source block, or the one of Datastream's metadata that says the same."""
    paths = [*[f"{place}{name}" for place in _PLACES], f"$.source_metadata.{_IN_DATASTREAM[name]}"]
    return F.coalesce(*[F.get_json_object("text", path) for path in paths])


def ending(pattern: str) -> str:
    """The regular expression of names that end so: `*` is any text inside a folder, `**` across folders, `?` a sign."""
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = []
    rest = pattern
    while rest:
        word = next((word for word in words if rest.startswith(word)), None)
        pieces.append(words[word] if word else "\\Q" + rest[0] + "\\E")
        rest = rest[len(word or rest[0]) :]
    return ("" if pattern.startswith("/") else "(^|/)") + "".join(pieces) + "$"

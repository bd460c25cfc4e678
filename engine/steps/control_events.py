"""Control events as rows of the control table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.decode.event import CONTROL
from siltstone.engine.schema.control_kinds import IGNORED, NULL_MESSAGE, QUERY, REDELIVERY, UPDATE_BEFORE

OF_ROWS: Final = (IGNORED, NULL_MESSAGE, QUERY, REDELIVERY, UPDATE_BEFORE)
"""Kinds whose events hold values of rows or keys. A spec can mask these values, so only the place of such an event is
stored and not its payload."""


def control_rows(envelopes: DataFrame, sources: Sequence[str] = ()) -> DataFrame:
    """The control events of a source. `sources`: the sources that the changes of the delivery name.

    Needs: the frame of events.
    Gives: source, kind, table, event_id, tx_id, position, commit_ts, ingest_ts, channel, file, line, payload.
    Rows: filters; one per control event.
    """
    events = envelopes.where(F.col("kind") == CONTROL)
    made = {
        "source": named_source(sources),
        "kind": F.col("control_kind"),
        "payload": F.when(~F.col("control_kind").isin(*OF_ROWS), F.col("control_json")),
    }
    return events.select(*control_columns(events, made))


def named_source(sources: Sequence[str], alone: bool = True) -> Column:
    """The source of an event. If the event does not name it (a heartbeat, the end of a transaction), its topic does.

    Debezium's topics are `<name>.<rest>` and `__debezium-heartbeat.<name>`. One name can be the beginning of another:
    the longest match counts. With `alone`, an event without a source belongs to the only known source if there is just
    one. A name that several sources share identifies none of them: each shard of Vitess is a source
    (`vitess:<name>:<shard>`), and the shards share their connector's topics.
    """
    if alone and len(sources) == 1:
        return F.coalesce("source", F.lit(sources[0]))
    of_name = {name: source for source in sources if (name := _name_in(source))}
    shared = {name for name, number in Counter(map(_name_in, sources)).items() if number > 1}
    by_topic = [
        F.when(
            F.col("channel").startswith(f"{name}.") | F.col("channel").endswith(f"-heartbeat.{name}"),
            F.lit(None if name in shared else of_name[name]),
        )
        for name in sorted(of_name, key=len, reverse=True)
    ]
    # One flat list: Spark takes hours to optimise forty nested conditions.
    return F.coalesce("source", *by_topic)


def _name_in(source: str) -> str:
    """The name of the connector in the name of its source."""
    return source.partition(":")[2].partition(":")[0]


def control_columns(rows: DataFrame, made: dict[str, Column]) -> list[Column]:
    """The columns of `control_rows`: from `made`, else from `rows`, else null."""
    listed = (
        *("source", "kind", "table", "event_id", "tx_id", "position", "commit_ts", "ingest_ts"),
        *("channel", "file", "line", "payload"),
    )
    there = set(rows.columns)
    absent = F.lit(None).cast("string")
    return [(made[name] if name in made else F.col(name) if name in there else absent).alias(name) for name in listed]

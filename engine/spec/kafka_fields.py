"""Checks of the values under `source.kafka`. Each returns the value as the engine uses it, or raises a violation."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.spec.interpolation import like
from siltstone.engine.spec.model import StartingSpec
from siltstone.engine.spec.value_checks import moment, refuse, text
from siltstone.engine.spec.wording import shown, word_hint

OWN_OPTIONS: Final = {
    "bootstrap.servers": "write it as kafka.bootstrap.",
    "metadata.broker.list": "write it as kafka.bootstrap.",
    "enable.auto.commit": "offsets are committed to kafka.group after a batch is committed.",
    "enable.auto.offset.store": "offsets are committed to kafka.group after a batch is committed.",
    "auto.offset.reset": "write kafka.starting.",
    "isolation.level": "records of a transaction are read after it is committed.",
    "enable.partition.eof": "leave it out.",
}
"""Settings of librdkafka that siltstone sets itself, and hints on what to write instead."""
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_STARTS: Final = ("earliest", "latest")


def bootstrap(value: object) -> str:
    """Brokers as `host:port`, one or a list."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    brokers = [text(item) for item in listed]
    if not brokers:
        refuse("names no broker", "write it like broker:9092.")
    for broker in ",".join(brokers).split(","):
        if "://" in broker or not re.fullmatch(r".+:\d+", broker.strip()):
            refuse(f"{shown(broker)} is not the address of a broker", "write it like broker:9092.")
    return like(brokers[0], ",".join(brokers)) if len(brokers) == 1 else ",".join(brokers)


def topics(value: object) -> tuple[str, ...]:
    """Names of topics: one, or a list with each name once."""
    listed = value if isinstance(value, (list, tuple)) else [value]
    names = tuple(text(item) for item in listed)
    if not names or len(set(names)) < len(names):
        refuse("names a topic twice" if names else "names no topic")
    for name in names:
        if not _TOPIC.fullmatch(name) or name in (".", ".."):
            refuse(
                f"{shown(name)} is not a valid topic name",
                "write several topics as a list, or use pattern for a regular expression.",
            )
    return names


def pattern(value: object) -> str:
    """A regular expression."""
    written = text(value)
    try:
        re.compile(written)
    except re.error as error:
        refuse(f"{shown(written)} is not a regular expression: {error}", "write it like srv[.]shop[.].*")
    return written


def starting(value: object) -> StartingSpec:
    """`earliest`, `latest`, `{time: ...}` or `{offsets: {partition: offset}}`."""
    if isinstance(value, str):
        if value not in _STARTS:
            refuse(f"{shown(value)} is not known", word_hint(value, _STARTS))
        return StartingSpec("earliest" if value == _STARTS[0] else "latest")
    if isinstance(value, dict) and list(value) == ["time"]:
        return StartingSpec("time", time=moment(value["time"]))
    if isinstance(value, dict) and list(value) == ["offsets"] and isinstance(value["offsets"], dict):
        offsets = {_whole(partition): _whole(offset) for partition, offset in value["offsets"].items()}
        return StartingSpec("offsets", offsets=tuple(sorted(offsets.items())))
    return refuse(
        f"must be a starting point, not {shown(value)}", "write earliest, latest, {time: ...} or {offsets: {'0': 12}}."
    )


def positive_number(value: object) -> int:
    """A whole number above zero."""
    number = _whole(value)
    return number if number else refuse("must be above zero")


def client_option(value: object) -> str:
    """The name of a setting of librdkafka that siltstone does not set itself."""
    name = text(value)
    if name in OWN_OPTIONS:
        refuse(f"siltstone sets {name} itself", OWN_OPTIONS[name])
    return name


def _whole(value: object) -> int:
    written = str(value)
    if isinstance(value, bool) or not (written.isascii() and written.isdigit()):
        refuse(f"must be a whole number, not {shown(value)}")
    return int(written)

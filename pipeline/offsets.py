"""Offsets of many queues, and their JSON: the stock connector's, in options, checkpoints and progress alike.

    {"topic": {"broker-a": {"0": 20, "1": -2}}}

An offset is the next one to read; -2 stands for the earliest, -1 for the latest. A `Position` is where a
query begins or ends. RocketMQ: rocketmq-spark's `JsonUtils`, `RocketMQOffsetRangeLimit`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import BadOption

EARLIEST = -2
LATEST = -1

Offsets = dict[MessageQueue, int]
Tree = dict[str, dict[str, dict[str, int]]]

_EXAMPLE = '{"topic": {"broker-a": {"0": 20, "1": -2}}}'
_MILLIS = re.compile(r"[0-9]{1,18}")


class PositionKind(StrEnum):
    """Kinds of position."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSETS = "offsets"
    TIMES = "times"
    TIME = "time"


@dataclass(frozen=True)
class Position:
    """A begin or an end: `offsets` by queue (with -1 and -2), times by queue in `offsets`, or one `time`, in
    ms."""

    kind: PositionKind
    offsets: Offsets = field(default_factory=dict)
    time: int = 0


EARLIEST_POSITION = Position(PositionKind.EARLIEST)
LATEST_POSITION = Position(PositionKind.LATEST)


def as_tree(offsets: Mapping[MessageQueue, int]) -> Tree:
    """Return offsets in Spark's form: topic, broker, queue, in order."""
    tree: Tree = {}
    for queue in sorted(offsets):
        brokers = tree.setdefault(queue.topic, {})
        brokers.setdefault(queue.broker_name, {})[str(queue.queue_id)] = offsets[queue]
    return tree


def as_json(offsets: Mapping[MessageQueue, int]) -> str:
    """Return the tree of offsets as JSON text."""
    return json.dumps(as_tree(offsets), separators=(",", ":"))


def from_tree(tree: Any) -> Offsets:
    """Return the offsets of such a tree. Raises `ValueError` with the problem."""
    offsets: Offsets = {}
    for topic, brokers in _items(tree, "topics"):
        for broker, queues in _items(brokers, f"brokers of {topic}"):
            for queue_id, offset in _items(queues, f"queues of {topic} on {broker}"):
                if not (queue_id.isascii() and queue_id.isdigit()):
                    raise ValueError(f"{queue_id!r} is not a queue number of {topic} on {broker}")
                if type(offset) is not int or offset < EARLIEST:
                    raise ValueError(
                        f"{offset!r} is not an offset of queue {queue_id} of {topic} on {broker}"
                    )
                offsets[MessageQueue(topic, broker, int(queue_id))] = offset
    return offsets


def _items(value: Any, what: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(f"the {what} are not an object but {value!r}")
    return value.items()


def parse_position(name: str, text: str) -> Position:
    """Parse `earliest`, `latest` or offsets by queue, the value of the option `name`. Raises `BadOption`."""
    word = text.strip().lower()
    if word == PositionKind.EARLIEST:
        return EARLIEST_POSITION
    if word == PositionKind.LATEST:
        return LATEST_POSITION
    return Position(PositionKind.OFFSETS, _by_queue(name, text))


def parse_times(name: str, text: str) -> Position:
    """Parse times in ms by queue, in the same JSON. Raises `BadOption`."""
    times = _by_queue(name, text)
    if any(time < 0 for time in times.values()):
        raise BadOption(name, text, "a time is negative", "times are milliseconds since 1970")
    return Position(PositionKind.TIMES, times)


def parse_time(name: str, text: str) -> Position:
    """Parse one time for all queues: ms since the epoch, or ISO 8601 (UTC without a zone). Raises
    `BadOption`."""
    text = text.strip()
    if _MILLIS.fullmatch(text):
        return Position(PositionKind.TIME, time=int(text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        right = "write milliseconds since 1970, or for example 2026-11-21T10:00:00+00:00"
        raise BadOption(name, text, "is not a time", right) from None
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return Position(PositionKind.TIME, time=int(moment.timestamp() * 1000))


def _by_queue(name: str, text: str) -> Offsets:
    try:
        return from_tree(json.loads(text))
    except ValueError as error:
        raise BadOption(
            name, text, str(error), f"write earliest, latest, or for example {_EXAMPLE}"
        ) from None

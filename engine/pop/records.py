"""Stored form of checkpoints and acknowledgements: short JSON in timer messages.

A pop stores one checkpoint for the messages of one queue, due a second before they are visible again; each
acknowledgement is due when they are. So the revive topic, to which both are delivered, has each checkpoint
before its acknowledgements, and all of them when the messages are due.

    checkpoint  {so: start offset, pt: pop time, it: invisible time, n: number of messages, d: their distances
                 from the start, bm: 0, q: queue, t: topic, c: group, bn: broker, ro: 0, sp: suspended,
                 rp: number of retries, reviveTime: pt + it, which is never read,
                 lo: mqgateway's, the end of the log when the messages were popped}
    ack         {so, pt, q, t, c, bn: those of its checkpoint, ao: offset}
    batch ack   as ack, with ao: -1 and aol: offsets

RocketMQ: `PopCheckPoint`, `AckMsg`, `BatchAckMsg`, `PopMessageProcessor.buildCkMsg`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from mqgateway.engine import json_members
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.json_members import LONG_BITS
from mqgateway.engine.message import PROPERTY_TAGS, PROPERTY_TIMER_DELIVER_MS, PROPERTY_UNIQ_KEY, Message
from mqgateway.engine.pop.names import MESSAGES_MAX
from mqgateway.engine.steps import in_parts

CHECK_POINT_TAG = "ck"
ACK_TAG = "ack"
BATCH_ACK_TAG = "bAck"
ACK_INTERVAL = 1000
"""Milliseconds by which a checkpoint is delivered before its acknowledgements."""
NEXT_OFFSET = "POP_NEXT_OFFSET"
"""mqgateway's property of the checkpoint of a pop: the group's next offset. Others have none."""
REPLACED = "POP_REPLACED"
"""mqgateway's property of an acknowledgement that ends a checkpoint because its message got a new one."""
REPUT_PAUSES = (10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Back-off in seconds between attempts to revive messages."""


class PointKey(NamedTuple):
    """Identity of a checkpoint in its acknowledgements."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    pop_time: int
    broker_name: str


@dataclass(frozen=True, slots=True)
class CheckPoint:
    """Messages of one queue that a group popped together. Times in ms.

    `distances` are those of the messages from the start offset, in order. A suspended message is delivered
    again without counting as one more delivery; `reputs` is the number of failed revivals. `log_offset` is
    the end of the log when they were popped; 0 if RocketMQ's broker stored it, which does not record it.
    """

    key: PointKey
    invisible_time: int
    distances: tuple[int, ...]
    is_suspended: bool = False
    reputs: int = 0
    log_offset: int = 0

    @property
    def revive_time(self) -> int:
        """Time at which the messages are visible again."""
        return self.key.pop_time + self.invisible_time

    @property
    def offsets(self) -> list[int]:
        """The queue offsets of the messages."""
        return [self.key.start_offset + distance for distance in self.distances]

    @property
    def is_tried_out(self) -> bool:
        """True if its revival was retried after the last back-off."""
        return self.reputs >= len(REPUT_PAUSES)

    def put_back(self, offset: int, now: int) -> CheckPoint:
        """Return the checkpoint that retries one message later."""
        pause = REPUT_PAUSES[min(self.reputs, len(REPUT_PAUSES) - 1)] * 1000
        invisible_time = max(now - self.key.pop_time, self.invisible_time) + pause
        key = self.key._replace(start_offset=offset)
        return CheckPoint(key, invisible_time, (0,), self.is_suspended, self.reputs + 1, self.log_offset)

    def encode(self) -> bytes:
        """Return the JSON of the checkpoint."""
        key = self.key
        shape: dict[str, Any] = {
            "bm": 0,
            "bn": key.broker_name,
            "c": key.group,
            "d": self.distances,
            "it": self.invisible_time,
            "n": len(self.distances),
            "pt": key.pop_time,
            "q": key.queue_id,
            "reviveTime": self.revive_time,
            "ro": 0,
        }
        if self.log_offset:
            shape["lo"] = self.log_offset
        if self.reputs:
            shape["rp"] = str(self.reputs)
        shape |= {"so": key.start_offset, "sp": self.is_suspended, "t": key.topic}
        return orjson.dumps(shape)

    @classmethod
    def decode(cls, body: bytes) -> CheckPoint | None:
        """Parse a checkpoint; return None if it is invalid.

        Those of old brokers have a number in place of distances.
        """
        try:
            shape = _shape(body)
            key = _key(shape, "")
            number = json_members.read(shape, "n", 0)
            found = json_members.read(shape, "d", list[Any]()) or list(range(min(number, MESSAGES_MAX)))
            distances = tuple(found[:number])
            if not all(type(each) is int and 0 <= each < 1 << 31 for each in distances):
                return None
            reputs = json_members.read(shape, "rp", "0")
            return cls(
                key,
                json_members.read(shape, "it", 0, LONG_BITS),
                distances,
                json_members.read(shape, "sp", False),
                int(reputs) if reputs.isdecimal() and len(reputs) < 4 else len(REPUT_PAUSES),
                json_members.read(shape, "lo", 0, LONG_BITS),
            )
        except (ConfigError, ValueError):
            return None


class Ack(NamedTuple):
    """Messages of one checkpoint that were consumed; `is_batch` selects the spelling."""

    key: PointKey
    offsets: tuple[int, ...]
    is_batch: bool = False

    @classmethod
    def of_all(cls, key: PointKey, offsets: Sequence[int], *, is_batch: bool) -> list[Ack]:
        """Return acknowledgements of all these messages, each with as many as a checkpoint may have."""
        return [cls(key, tuple(part), is_batch) for part in in_parts(offsets, MESSAGES_MAX)]

    def encode(self) -> bytes:
        """Return the JSON of the acknowledgement."""
        key = self.key
        shape: dict[str, Any] = {"ao": -1 if self.is_batch else self.offsets[0]}
        if self.is_batch:
            shape["aol"] = self.offsets
        shape |= {"bn": key.broker_name, "c": key.group, "pt": key.pop_time, "q": key.queue_id}
        shape |= {"so": key.start_offset, "t": key.topic}
        return orjson.dumps(shape)

    @classmethod
    def decode(cls, body: bytes, broker_name: str) -> Ack | None:
        """Parse an acknowledgement; return None if it is invalid. `broker_name` is the default broker."""
        try:
            shape = {_LONG_NAMES.get(name, name): value for name, value in _shape(body).items()}
            key = _key(shape, broker_name)
            offsets = shape.get("aol")
            if offsets is None:
                return cls(key, (json_members.read(shape, "ao", 0, LONG_BITS),))
            if not isinstance(offsets, list) or not all(type(each) is int for each in offsets):
                return None
            return cls(key, tuple(offsets), True)
        except (ConfigError, ValueError):
            return None


# Brokers before 5.1 spelled acknowledgements out.
_LONG_NAMES = {
    "ackOffset": "ao",
    "startOffset": "so",
    "consumerGroup": "c",
    "topic": "t",
    "queueId": "q",
    "popTime": "pt",
    "brokerName": "bn",
    "ackOffsetList": "aol",
}


def check_point_message(
    point: CheckPoint, revive_topic: str, queue_id: int, host: bytes, now: int, next_offset: int | None = None
) -> Message:
    """Return the timer message that stores a checkpoint; that of a pop has the group's next offset."""
    key = point.key
    parts = (key.topic, key.queue_id, key.start_offset, key.group, key.pop_time, key.broker_name)
    # One that is already due must not overtake the timers either.
    due = max(point.revive_time - ACK_INTERVAL, now + 1)
    message = _message(CHECK_POINT_TAG, parts, point.encode(), due, revive_topic, queue_id, host, now)
    if next_offset is not None:
        message.properties[NEXT_OFFSET] = str(next_offset)
    return message


def ack_message(
    ack: Ack,
    revive_time: int,
    revive_topic: str,
    queue_id: int,
    host: bytes,
    now: int,
    *,
    is_replaced: bool = False,
) -> Message:
    """Return the timer message that stores an acknowledgement."""
    key = ack.key
    first = -1 if ack.is_batch else ack.offsets[0]
    parts = (key.topic, key.queue_id, first, key.group, key.pop_time, key.broker_name)
    tag = BATCH_ACK_TAG if ack.is_batch else ACK_TAG
    message = _message(tag, parts, ack.encode(), revive_time, revive_topic, queue_id, host, now)
    if is_replaced:
        message.properties[REPLACED] = "true"
    return message


def unique_key_of(parts: Sequence[object], kind: str) -> str:
    """Return the unique key of a record: fields of its checkpoint from topic to broker, and its kind."""
    return "@".join(map(str, (*parts, kind)))


def _message(
    tag: str,
    parts: Sequence[object],
    body: bytes,
    due: int,
    topic: str,
    queue_id: int,
    host: bytes,
    now: int,
) -> Message:
    kind = CHECK_POINT_TAG if tag == CHECK_POINT_TAG else ACK_TAG
    properties = {
        PROPERTY_TAGS: tag,
        PROPERTY_TIMER_DELIVER_MS: str(due),
        PROPERTY_UNIQ_KEY: unique_key_of(parts, kind),
    }
    return Message(topic, queue_id, body, properties, now, host, host)


def _shape(body: bytes) -> Mapping[str, Any]:
    shape = orjson.loads(body)
    if not isinstance(shape, dict):
        raise ValueError("no object")
    return shape


def _key(shape: Mapping[str, Any], broker_name: str) -> PointKey:
    """Return the identity of the checkpoint. Raises `ConfigError`."""
    return PointKey(
        json_members.read_name(shape, "t"),
        json_members.read_name(shape, "c"),
        json_members.read(shape, "q", 0),
        json_members.read(shape, "so", 0, LONG_BITS),
        json_members.read(shape, "pt", 0, LONG_BITS),
        json_members.read(shape, "bn", "") or broker_name,
    )

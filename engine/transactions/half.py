"""Forms of a half message, and what is due with one; pure functions of messages and times.

A producer's half message is stored in queue 0 of the half topic, with its topic and queue as properties and
the transaction bits of its flag cleared (`as_half`). Whenever the broker checks it with the producer, it is
put again: a copy with a higher TRANSACTION_CHECK_TIMES replaces it at the end of the queue (`renewed`).
Committed, it becomes the intended message (`as_committed`). After too many checks it is moved to a topic of
its own (`as_given_up`), from which an administrator can resume it (`as_resumed`).

RocketMQ: `TransactionalMessageBridge`, `EndTransactionProcessor.endMessageTransaction`,
`DefaultTransactionalMessageCheckListener`, `TransactionalMessageUtil`.
"""

import re
from enum import Enum, auto

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_ID,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
    PROPERTY_UNIQ_KEY,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    Message,
    StoredMessage,
    SysFlag,
    properties_text,
)
from mqgateway.engine.store.message_store import PutResult
from mqgateway.engine.store.record import encode, record_size, sys_flag_for, topic_field

HALF_QUEUE = 0
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


class Due(Enum):
    """Action that is due with an open half message."""

    NOTHING_YET = auto()
    """It is too young; those stored after it are younger still."""
    LATER = auto()
    """Its producer requested more time, which has not passed."""
    QUESTION = auto()
    """It has to be checked with its producer."""
    GIVING_UP = auto()
    """It was checked too often, or is too old."""


class HalfMessage:
    """A half message as stored in the half topic. Times in ms."""

    __slots__ = ("check_times", "group", "immunity", "is_copy", "origin", "queue_id", "stored", "topic")

    def __init__(self, stored: StoredMessage) -> None:
        properties = stored.properties
        self.stored = stored
        self.topic = properties.get(PROPERTY_REAL_TOPIC, "")
        # None if its original topic and queue are missing.
        queue_id = _number(properties.get(PROPERTY_REAL_QUEUE_ID), -1)
        self.queue_id = queue_id if self.topic and 0 <= queue_id < 1 << 31 else None
        self.group = properties.get(PROPERTY_PRODUCER_GROUP, "")
        self.check_times = max(0, _number(properties.get(PROPERTY_TRANSACTION_CHECK_TIMES), 0))
        # Offset of the producer's own message in the half queue: this one, or its original.
        origin = _number(properties.get(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET), -1)
        self.is_copy = origin >= 0
        self.origin = origin if origin >= 0 else stored.queue_offset
        seconds = properties.get(PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS)
        self.immunity = None if seconds is None else _number(seconds, -1) * 1000

    def age(self, now: int) -> int:
        """Return its age. The first copy uses the broker's clock, later ones can only use the producer's."""
        born = self.stored.born_timestamp
        if not self.is_copy and not self.check_times:
            born = max(born, self.stored.store_timestamp)
        return now - born

    def patience(self, time_out: int) -> int:
        """Return the age up to which it is not checked."""
        return time_out if self.immunity is None or self.immunity < 0 else self.immunity

    def is_overdue(self, now: int, time_out: int) -> bool:
        """Return True if the time requested by the producer has passed: only its answer to a check counts.

        RocketMQ: `EndTransactionProcessor.rejectCommitOrRollback`.
        """
        return self.immunity is not None and self.age(now) > max(self.immunity, time_out)

    def due(self, now: int, time_out: int, check_max: int, reserved: int) -> Due:
        """Return what is due at `now`, with RocketMQ's limits: number of checks, and retention of log files.

        One from a future further away than it may wait is checked: the clock was set back. RocketMQ:
        `TransactionalMessageServiceImpl.check`.
        """
        if self.check_times >= check_max or now - self.stored.born_timestamp > reserved:
            return Due.GIVING_UP
        age = self.age(now)
        if self.immunity is None:
            return Due.NOTHING_YET if 0 <= age <= time_out else Due.QUESTION
        return Due.LATER if abs(age) <= self.patience(time_out) else Due.QUESTION


def as_half(message: Message) -> None:
    """Turn a producer's message into a half message."""
    properties = message.properties
    unique_key = properties.get(PROPERTY_UNIQ_KEY)
    if unique_key:
        properties[PROPERTY_TRANSACTION_ID] = unique_key
    properties[PROPERTY_REAL_TOPIC] = message.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
    message.topic = TRANS_HALF_TOPIC
    message.queue_id = HALF_QUEUE
    message.sys_flag &= ~SysFlag.TRANSACTION_MASK


def renewed(half: HalfMessage, *, is_checked: bool) -> Message:
    """Return the copy that replaces a half message, with one more check if `is_checked`."""
    stored = half.stored
    properties = dict(stored.properties)
    if is_checked:
        properties[PROPERTY_TRANSACTION_CHECK_TIMES] = str(half.check_times + 1)
    properties[PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET] = str(half.origin)
    return _copy(stored, TRANS_HALF_TOPIC, HALF_QUEUE, properties, stored.sys_flag)


def as_committed(half: HalfMessage, physical_offset: int) -> Message:
    """Return the message for consumers; `physical_offset` is that of the half message named by the producer.

    Raises `MessageIllegal` if its original topic and queue are missing.
    """
    stored, queue_id = half.stored, half.queue_id
    if queue_id is None:
        raise MessageIllegal(f"half message {stored.queue_offset} does not say where it belongs")
    sys_flag = stored.sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.TRANSACTION_COMMIT
    committed = _copy(stored, half.topic, queue_id, dict(stored.properties), sys_flag)
    committed.prepared_transaction_offset = physical_offset
    return committed


def question_record(half: HalfMessage, copy: Message, result: PutResult) -> bytes:
    """Return the record of a copy for its producer: under its own topic and queue. `result` is the copy's."""
    queue_id = half.queue_id
    assert queue_id is not None
    sent = _copy(half.stored, half.topic, queue_id, copy.properties, copy.sys_flag)
    topic = topic_field(half.topic, True)
    properties = properties_text(copy.properties)
    sys_flag = sys_flag_for(sent)
    return encode(
        sent,
        sent.body,
        properties,
        topic,
        record_size(sys_flag, len(sent.body), len(topic[1]), len(properties)),
        sys_flag,
        sent.flag,
        result.queue_offset,
        result.physical_offset,
        result.store_timestamp,
    )


def as_given_up(half: HalfMessage) -> Message:
    """Return the message that keeps a half message that was never settled."""
    stored = half.stored
    return _copy(stored, TRANS_CHECK_MAX_TIME_TOPIC, 0, dict(stored.properties), stored.sys_flag)


def as_resumed(given_up: StoredMessage) -> Message | None:
    """Return a half message that starts again; None for a message that never was one."""
    properties = dict(given_up.properties)
    if PROPERTY_REAL_TOPIC not in properties or PROPERTY_PRODUCER_GROUP not in properties:
        return None
    properties[PROPERTY_TRANSACTION_CHECK_TIMES] = "0"
    properties.pop(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET, None)
    return _copy(given_up, TRANS_HALF_TOPIC, HALF_QUEUE, properties, given_up.sys_flag)


def _copy(
    stored: StoredMessage, topic: str, queue_id: int, properties: dict[str, str], sys_flag: int
) -> Message:
    message = stored.copy_to(topic, queue_id, properties)
    message.sys_flag = sys_flag
    message.prepared_transaction_offset = 0
    return message


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else otherwise

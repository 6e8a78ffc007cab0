"""What a half message looks like on its way, and what is due with one: messages and times in, the same out.

A producer's half message is stored in queue 0 of the half topic, with its topic and queue as properties and
the transaction bits of its flag cleared (`as_half`). Whenever the broker asks about it, it is put back: a
copy with a higher TRANSACTION_CHECK_TIMES takes its place at the end of the queue (`renewed`). Committed it
becomes the message it was meant to be (`as_committed`); after too many questions it goes to a topic of its
own (`as_given_up`), from where an administrator can take it back (`as_resumed`).

Standard: `TransactionalMessageBridge`, `EndTransactionProcessor.endMessageTransaction`,
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
    """What is to be done with an open half message."""

    NOTHING_YET = auto()
    """It is too young; those stored after it are younger still."""
    LATER = auto()
    """Its producer asked for more time, which has not passed."""
    QUESTION = auto()
    """Its producer is asked."""
    GIVING_UP = auto()
    """It was asked about too often, or is too old."""


class HalfMessage:
    """A half message as it lies in the half topic. Times in ms."""

    __slots__ = ("check_times", "group", "immunity", "is_copy", "origin", "queue_id", "stored", "topic")

    def __init__(self, stored: StoredMessage) -> None:
        properties = stored.properties
        self.stored = stored
        self.topic = properties.get(PROPERTY_REAL_TOPIC, "")
        # None where it does not say where it belongs.
        queue_id = _number(properties.get(PROPERTY_REAL_QUEUE_ID), -1)
        self.queue_id = queue_id if self.topic and 0 <= queue_id < 1 << 31 else None
        self.group = properties.get(PROPERTY_PRODUCER_GROUP, "")
        self.check_times = max(0, _number(properties.get(PROPERTY_TRANSACTION_CHECK_TIMES), 0))
        # Where the producer's own message lies in the half queue: this one, or what this is a copy of.
        origin = _number(properties.get(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET), -1)
        self.is_copy = origin >= 0
        self.origin = origin if origin >= 0 else stored.queue_offset
        seconds = properties.get(PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS)
        self.immunity = None if seconds is None else _number(seconds, -1) * 1000

    def age(self, now: int) -> int:
        """How old it is. The first copy tells by our own clock, later ones can only by the producer's."""
        born = self.stored.born_timestamp
        if not self.is_copy and not self.check_times:
            born = max(born, self.stored.store_timestamp)
        return now - born

    def patience(self, time_out: int) -> int:
        """The age up to which nobody is asked."""
        return time_out if self.immunity is None or self.immunity < 0 else self.immunity

    def is_overdue(self, now: int, time_out: int) -> bool:
        """Whether the producer, who asked for a time of its own, let it pass: only an answer counts then.

        Standard: `EndTransactionProcessor.rejectCommitOrRollback`.
        """
        return self.immunity is not None and self.age(now) > max(self.immunity, time_out)

    def due(self, now: int, time_out: int, check_max: int, reserved: int) -> Due:
        """What is due at `now`, with the standard's limits: questions, and the age log files are kept to. One
        from a future further away than it may wait is asked about: the clock was set back.

        Standard: `TransactionalMessageServiceImpl.check`.
        """
        if self.check_times >= check_max or now - self.stored.born_timestamp > reserved:
            return Due.GIVING_UP
        age = self.age(now)
        if self.immunity is None:
            return Due.NOTHING_YET if 0 <= age <= time_out else Due.QUESTION
        return Due.LATER if abs(age) <= self.patience(time_out) else Due.QUESTION


def as_half(message: Message) -> None:
    """Turn what a producer sends into a half message."""
    properties = message.properties
    unique_key = properties.get(PROPERTY_UNIQ_KEY)
    if unique_key:
        properties[PROPERTY_TRANSACTION_ID] = unique_key
    properties[PROPERTY_REAL_TOPIC] = message.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
    message.topic = TRANS_HALF_TOPIC
    message.queue_id = HALF_QUEUE
    message.sys_flag &= ~SysFlag.TRANSACTION_MASK


def renewed(half: HalfMessage, *, asked: bool) -> Message:
    """The copy that takes a half message's place, with one question more where it was asked about."""
    stored = half.stored
    properties = dict(stored.properties)
    if asked:
        properties[PROPERTY_TRANSACTION_CHECK_TIMES] = str(half.check_times + 1)
    properties[PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET] = str(half.origin)
    return _copy(stored, TRANS_HALF_TOPIC, HALF_QUEUE, properties, stored.sys_flag)


def as_committed(half: HalfMessage, physical_offset: int) -> Message:
    """The message its consumers get; `physical_offset` is that of the half message the producer named.

    Raises `MessageIllegal` when it does not say where it belongs.
    """
    stored, queue_id = half.stored, half.queue_id
    if queue_id is None:
        raise MessageIllegal(f"half message {stored.queue_offset} does not say where it belongs")
    sys_flag = stored.sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.TRANSACTION_COMMIT
    committed = _copy(stored, half.topic, queue_id, dict(stored.properties), sys_flag)
    committed.prepared_transaction_offset = physical_offset
    return committed


def question_record(half: HalfMessage, copy: Message, result: PutResult) -> bytes:
    """The record of a copy as its producer sees it: under its own topic and queue. `result` is the copy's."""
    queue_id = half.queue_id
    assert queue_id is not None
    asked = _copy(half.stored, half.topic, queue_id, copy.properties, copy.sys_flag)
    topic = topic_field(half.topic, True)
    properties = properties_text(copy.properties)
    sys_flag = sys_flag_for(asked)
    return encode(
        asked,
        asked.body,
        properties,
        topic,
        record_size(sys_flag, len(asked.body), len(topic[1]), len(properties)),
        sys_flag,
        asked.flag,
        result.queue_offset,
        result.physical_offset,
        result.store_timestamp,
    )


def as_given_up(half: HalfMessage) -> Message:
    """What is kept of a half message that nobody settles."""
    stored = half.stored
    return _copy(stored, TRANS_CHECK_MAX_TIME_TOPIC, 0, dict(stored.properties), stored.sys_flag)


def as_resumed(given_up: StoredMessage) -> Message | None:
    """A half message that starts anew; None for a message that never was one."""
    properties = dict(given_up.properties)
    if PROPERTY_REAL_TOPIC not in properties or PROPERTY_PRODUCER_GROUP not in properties:
        return None
    properties[PROPERTY_TRANSACTION_CHECK_TIMES] = "0"
    properties.pop(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET, None)
    return _copy(given_up, TRANS_HALF_TOPIC, HALF_QUEUE, properties, given_up.sys_flag)


def _copy(
    stored: StoredMessage, topic: str, queue_id: int, properties: dict[str, str], sys_flag: int
) -> Message:
    return Message(
        topic,
        queue_id,
        stored.body,
        properties,
        stored.born_timestamp,
        stored.born_host,
        stored.store_host,
        stored.flag,
        sys_flag,
        stored.reconsume_times,
    )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else otherwise

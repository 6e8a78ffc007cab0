"""Timer messages: how they are moved to the timer topic, restored, and recalled.

A message with a requested delivery time (`requested_time`) is moved to the timer topic (`put_aside`); its own
topic and queue are kept in properties. When it is due, `given_back` restores it; if it is due too far ahead,
`rolled` reschedules it. A message with TIMER_DEL_UNIQKEY deletes, in the same slot, the one with that key; a
sender requests that with a `RecallHandle`.

Both kinds of copies have the log offset of their original as prepared transaction offset, which RocketMQ
leaves 0 there, so that recovery finds earlier deliveries. RocketMQ: `HookUtils.transformTimerMessage`,
`TimerMessageStore.convert`, `RecallMessageHandle`.
"""

from __future__ import annotations

import contextlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import NamedTuple, Self

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_DELAY_MS,
    PROPERTY_TIMER_DELAY_SEC,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_TIMER_DEQUEUE_MS,
    PROPERTY_TIMER_ENQUEUE_MS,
    PROPERTY_TIMER_OUT_MS,
    PROPERTY_TIMER_ROLL_TIMES,
    PROPERTY_UNIQ_KEY,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRANS_HALF_TOPIC,
    Message,
    StoredMessage,
    SysFlag,
)

TIMED = frozenset({PROPERTY_TIMER_DELAY_SEC, PROPERTY_TIMER_DELAY_MS, PROPERTY_TIMER_DELIVER_MS})
"""Properties that request a later delivery."""
NEVER_WAITED = 2**63 - 1
"""TIMER_ENQUEUE_MS of a message that was due before it entered the wheel. RocketMQ: Long.MAX_VALUE."""
RECALL_TAG = "_RECALL_TAG_"

_BASE64 = re.compile("[A-Za-z0-9_-]+={0,2}")
_LONG = re.compile(r"[+-]?[0-9]{1,19}")
_NOT_DELIVERED_TO = frozenset({"", TIMER_TOPIC, SCHEDULE_TOPIC, TRANS_HALF_TOPIC})


def has_timer(message: Message) -> bool:
    """Return True if a message requests a later delivery, and was not scheduled yet.

    RocketMQ: `HookUtils.checkIfTimerMessage`.
    """
    kind = message.sys_flag & SysFlag.TRANSACTION_MASK
    return (
        not TIMED.isdisjoint(message.properties)
        and PROPERTY_TIMER_OUT_MS not in message.properties
        and message.topic != TIMER_TOPIC
        and kind in (SysFlag.TRANSACTION_NOT_TYPE, SysFlag.TRANSACTION_COMMIT)
    )


def requested_time(properties: Mapping[str, str], now: int) -> int:
    """Return the requested delivery time, in ms since the epoch.

    Seconds from now take precedence over milliseconds from now, then over a time. Raises `MessageIllegal` if
    the value is not a number that fits Java's long.
    """
    for name, start, factor in (
        (PROPERTY_TIMER_DELAY_SEC, now, 1000),
        (PROPERTY_TIMER_DELAY_MS, now, 1),
        (PROPERTY_TIMER_DELIVER_MS, 0, 1),
    ):
        text = properties.get(name)
        if text is not None:
            time = start + int(text) * factor if _LONG.fullmatch(text) else NEVER_WAITED + 1
            if abs(time) > NEVER_WAITED:
                raise MessageIllegal(f"{name}={text!r} is not a time")
            return time
    raise MessageIllegal("there is no timer")


def slot_time(time: int, precision: int) -> int:
    """Return TIMER_OUT_MS for a delivery time: the slot that ends then or just after."""
    return (time - 1) // precision * precision


def put_aside(message: Message, out_time: int) -> None:
    """Move a message to the timer topic."""
    properties = message.properties
    properties[PROPERTY_TIMER_OUT_MS] = str(out_time)
    properties[PROPERTY_REAL_TOPIC] = message.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
    message.topic = TIMER_TOPIC
    message.queue_id = 0


def out_time_of(stored: Message) -> int:
    """Return TIMER_OUT_MS of a message of the timer topic, in ms.

    Raises `MessageIllegal` without a valid one.
    """
    text = stored.properties.get(PROPERTY_TIMER_OUT_MS, "")
    if stored.topic != TIMER_TOPIC or not _LONG.fullmatch(text):
        raise MessageIllegal(f"{PROPERTY_TIMER_OUT_MS}={text!r} of topic {stored.topic!r} is not a time")
    return int(text)


def given_back(stored: StoredMessage, written: int, now: int) -> Message:
    """Return a due message for delivery, with the times (ms) at which it entered and left the wheel.

    Raises `MessageIllegal` if it has no valid target topic and queue.
    """
    message = _copy(stored, written, now)
    properties = message.properties
    message.topic = properties.pop(PROPERTY_REAL_TOPIC, "")
    queue_id = properties.pop(PROPERTY_REAL_QUEUE_ID, "")
    if message.topic in _NOT_DELIVERED_TO or not _LONG.fullmatch(queue_id):
        raise MessageIllegal(f"a timer cannot go to queue {queue_id!r} of topic {message.topic!r}")
    message.queue_id = int(queue_id)
    return message


def rolled(stored: StoredMessage, written: int, now: int) -> Message:
    """Return a copy of a message that is due too far ahead, for the timer topic."""
    message = _copy(stored, written, now)
    message.properties[PROPERTY_TIMER_ROLL_TIMES] = str(rolls(stored.properties) + 1)
    message.topic = TIMER_TOPIC
    message.queue_id = 0
    return message


def rolls(properties: Mapping[str, str]) -> int:
    """Return the number of times a message was rescheduled."""
    text = properties.get(PROPERTY_TIMER_ROLL_TIMES, "0")
    return int(text) if _LONG.fullmatch(text) else 0


def without_notes(message: Message) -> Message:
    """Remove the times at which a message entered and left the wheel, if properties are too long."""
    for name in (PROPERTY_TIMER_ENQUEUE_MS, PROPERTY_TIMER_DEQUEUE_MS):
        message.properties.pop(name, None)
    return message


def _copy(stored: StoredMessage, written: int, now: int) -> Message:
    properties = dict(stored.properties)
    properties[PROPERTY_TIMER_ENQUEUE_MS] = str(written)
    properties[PROPERTY_TIMER_DEQUEUE_MS] = str(now)
    message = stored.copy_to(stored.topic, stored.queue_id, properties)
    message.prepared_transaction_offset = stored.physical_offset
    return message


def delete_keys(stored: Message) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the keys that delete a timer: topic and TIMER_DEL_UNIQKEY of the deleting message.

    TIMER_DEL_UNIQKEY is the timer's key alone, or with its topic before it. The deleting message must have
    the same topic: its sender was authorized for that one only. RocketMQ: `TimerMessageStore.buildDeleteKey`,
    where appendTopicForTimerDeleteKey selects the form, and any topic is accepted.
    """
    topic, key = stored.properties.get(PROPERTY_REAL_TOPIC, ""), stored.properties.get(PROPERTY_UNIQ_KEY, "")
    return (topic, key), (topic, f"{topic}+{key}")


class RecallHandle(NamedTuple):
    """Handle of a timer for its sender: the data to find and recall it.

    `time` is a time (ms, as text) of its slot, `key` its UNIQ_KEY.
    """

    topic: str
    broker_name: str
    time: str
    key: str

    def encode(self) -> str:
        """Return the handle as sent to clients. RocketMQ: `RecallMessageHandle.HandleV1.buildHandle`."""
        return urlsafe_b64encode(" ".join(("v1", *self)).encode()).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """Parse a handle. Raises `MessageIllegal` for other text, with RocketMQ's remark."""
        version, items = "", [""]
        if _BASE64.fullmatch(text):
            with contextlib.suppress(ValueError):
                version, *items = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split(" ")
        if version != "v1" or len(items) < 4:
            raise MessageIllegal("recall handle is invalid")
        return cls(*items[:4])

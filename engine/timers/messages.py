"""Messages with timers: how they are put aside, how they are given back, what takes one back.

A message that asks to be delivered later (`requested_time`) becomes one of the timer topic (`put_aside`); its
own topic and queue wait in properties. When it is due, `given_back` makes it what it was; when it is due too
far ahead, `rolled` sets it anew. A message with TIMER_DEL_UNIQKEY deletes, in the same slot, the one that has
the key; `RecallHandle` is what a sender keeps to ask for that.

Both kinds of copies carry the place of the message they were made of as their prepared transaction offset,
which the standard leaves 0 there: so recovery knows what was delivered already. Standard:
`HookUtils.transformTimerMessage`, `TimerMessageStore.convert`, `RecallMessageHandle`.
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
"""Each of these properties asks for a delivery later."""
NEVER_WAITED = 2**63 - 1
"""TIMER_ENQUEUE_MS of a message that was due before it came into the wheel. Standard: Long.MAX_VALUE."""
RECALL_TAG = "_RECALL_TAG_"

_BASE64 = re.compile("[A-Za-z0-9_-]+={0,2}")
_LONG = re.compile(r"[+-]?[0-9]{1,19}")
_NOT_DELIVERED_TO = frozenset({"", TIMER_TOPIC, SCHEDULE_TOPIC, TRANS_HALF_TOPIC})


def has_timer(message: Message) -> bool:
    """Whether a message asks to be delivered later and has not had its time. Standard:
    `HookUtils.checkIfTimerMessage`.
    """
    kind = message.sys_flag & SysFlag.TRANSACTION_MASK
    return (
        not TIMED.isdisjoint(message.properties)
        and PROPERTY_TIMER_OUT_MS not in message.properties
        and message.topic != TIMER_TOPIC
        and kind in (SysFlag.TRANSACTION_NOT_TYPE, SysFlag.TRANSACTION_COMMIT)
    )


def requested_time(properties: Mapping[str, str], now: int) -> int:
    """When a message with a timer wants to be delivered, in ms since the epoch.

    Seconds from now come first, then milliseconds from now, then a time. Raises `MessageIllegal` when that is
    no number, or none that Java's long holds.
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
    """TIMER_OUT_MS of a message to be delivered at a time: the slot that ends then or just after."""
    return (time - 1) // precision * precision


def put_aside(message: Message, out_time: int) -> None:
    """Turn a message into one of the timer topic."""
    properties = message.properties
    properties[PROPERTY_TIMER_OUT_MS] = str(out_time)
    properties[PROPERTY_REAL_TOPIC] = message.topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(message.queue_id)
    message.topic = TIMER_TOPIC
    message.queue_id = 0


def out_time_of(stored: Message) -> int:
    """TIMER_OUT_MS of a message of the timer topic, in ms. Raises `MessageIllegal` when it says no time."""
    text = stored.properties.get(PROPERTY_TIMER_OUT_MS, "")
    if stored.topic != TIMER_TOPIC or not _LONG.fullmatch(text):
        raise MessageIllegal(f"{PROPERTY_TIMER_OUT_MS}={text!r} of topic {stored.topic!r} is not a time")
    return int(text)


def given_back(stored: StoredMessage, written: int, now: int) -> Message:
    """A due message as it is delivered, with when it came into the wheel (ms) and out of it.

    Raises `MessageIllegal` when it does not say where it belongs.
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
    """A message that is due too far ahead, as it is set anew."""
    message = _copy(stored, written, now)
    message.properties[PROPERTY_TIMER_ROLL_TIMES] = str(rolls(stored.properties) + 1)
    message.topic = TIMER_TOPIC
    message.queue_id = 0
    return message


def rolls(properties: Mapping[str, str]) -> int:
    """How often a message was set anew."""
    text = properties.get(PROPERTY_TIMER_ROLL_TIMES, "0")
    return int(text) if _LONG.fullmatch(text) else 0


def without_notes(message: Message) -> Message:
    """The same message without when it came into the wheel and out of it: where properties get too long."""
    for name in (PROPERTY_TIMER_ENQUEUE_MS, PROPERTY_TIMER_DEQUEUE_MS):
        message.properties.pop(name, None)
    return message


def _copy(stored: StoredMessage, written: int, now: int) -> Message:
    properties = dict(stored.properties)
    properties[PROPERTY_TIMER_ENQUEUE_MS] = str(written)
    properties[PROPERTY_TIMER_DEQUEUE_MS] = str(now)
    return Message(
        stored.topic,
        stored.queue_id,
        stored.body,
        properties,
        stored.born_timestamp,
        stored.born_host,
        stored.store_host,
        stored.flag,
        stored.sys_flag,
        stored.reconsume_times,
        stored.physical_offset,
    )


def delete_keys(stored: Message) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return what deletes a timer: the topic of the deleting message, and its TIMER_DEL_UNIQKEY.

    That is the timer's key alone, or with its topic before it. The deleting message must be of the same
    topic: its sender was authorized for that one only. Standard: `TimerMessageStore.buildDeleteKey`, where
    appendTopicForTimerDeleteKey says which, and any topic will do.
    """
    topic, key = stored.properties.get(PROPERTY_REAL_TOPIC, ""), stored.properties.get(PROPERTY_UNIQ_KEY, "")
    return (topic, key), (topic, f"{topic}+{key}")


class RecallHandle(NamedTuple):
    """What names a timer to its sender: enough to find it and take it back.

    `time` is a time (ms, as text) of its slot, `key` its UNIQ_KEY.
    """

    topic: str
    broker_name: str
    time: str
    key: str

    def encode(self) -> str:
        """The handle as clients get it. Standard: `RecallMessageHandle.HandleV1.buildHandle`."""
        return urlsafe_b64encode(" ".join(("v1", *self)).encode()).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """Raises `MessageIllegal` for other text, with the standard's remark."""
        version, items = "", [""]
        if _BASE64.fullmatch(text):
            with contextlib.suppress(ValueError):
                version, *items = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split(" ")
        if version != "v1" or len(items) < 4:
            raise MessageIllegal("recall handle is invalid")
        return cls(*items[:4])

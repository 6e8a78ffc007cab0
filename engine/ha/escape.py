"""Messages that an acting slave sends to other brokers, as its own log is its master's.

A caller repeats `put` until the message has arrived. It returns PUT_TO_REMOTE_BROKER_FAIL while a message is
in flight or could not be sent, and PUT_OK once, when another broker has stored it. Messages are identified by
their content, without the properties that change each time. A caller with a waiting client uses a callback
instead (`carry`). Half messages and rescheduled timers are sent as their producers sent them. RocketMQ:
`EscapeBridge`, `TransactionalMessageUtil`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_TIMER_DEQUEUE_MS,
    PROPERTY_TIMER_ENQUEUE_MS,
    PROPERTY_TIMER_OUT_MS,
    PROPERTY_TIMER_ROLL_TIMES,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
    TIMER_TOPIC,
    TRANS_HALF_TOPIC,
    Message,
    SysFlag,
)
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.messages import TIMED

PAUSE_MILLIS = 1000
"""Pause after a failure."""
_NOTES = (PROPERTY_TIMER_ENQUEUE_MS, PROPERTY_TIMER_DEQUEUE_MS)
_TIMING = (PROPERTY_DELAY_TIME_LEVEL, *TIMED, PROPERTY_TIMER_OUT_MS, PROPERTY_TIMER_ROLL_TIMES, *_NOTES)

Sent = Callable[[bool], None]
"""Called with True if another broker has stored the message."""

_Key = tuple[str, int, int, int, bytes, frozenset[tuple[str, str]]]


class _State(Enum):
    IN_FLIGHT = auto()
    ARRIVED = auto()


class Escape:
    """Messages in flight; `send` sends one, and reports the result. At most `limit` at a time."""

    def __init__(self, send: Callable[[Message, Sent], None], limit: int) -> None:
        self._send = send
        self._limit = limit
        self._states: dict[_Key, _State] = {}
        self._carried = 0
        self._pause_until = 0
        self._now = 0
        self._end_watchers: list[Callable[[], None]] = []
        self.count = 0
        """Number of messages that arrived."""

    def __len__(self) -> int:
        """Return the number of messages in flight, or arrived without a repeated put since."""
        return len(self._states) + self._carried

    def watch_ends(self, callback: Callable[[], None]) -> None:
        """Call back when a message has arrived, so that its put is repeated."""
        self._end_watchers.append(callback)

    def tick(self, now: int) -> None:
        """Set the time, in ms of a monotonic clock."""
        self._now = now

    def put(self, message: Message) -> PutResult:
        """Return the state of a message; send it if it is not in flight."""
        key = _key(message)
        if key not in self._states and self._takes:
            self._states[key] = _State.IN_FLIGHT
            states = self._states
            self._send(as_sent(message), lambda is_stored: self._ended(states, key, is_stored))
        if self._states.get(key) is not _State.ARRIVED:
            return PutResult(PutStatus.PUT_TO_REMOTE_BROKER_FAIL, remark="it is not at another broker yet")
        del self._states[key]
        return PutResult(PutStatus.PUT_OK)

    def carry(self, message: Message, sent: Sent) -> None:
        """Send a message, and call `sent` once with the result; at once if it cannot be sent."""
        if not self._takes:
            sent(False)
            return
        self._carried += 1
        states = self._states

        def ended(is_stored: bool) -> None:
            self._carried -= 1
            self.count += is_stored
            if not is_stored and states is self._states:
                self._pause_until = self._now + PAUSE_MILLIS
            sent(is_stored)

        self._send(as_sent(message), ended)

    @property
    def _takes(self) -> bool:
        return self._now >= self._pause_until and len(self) < self._limit

    def forget(self) -> None:
        """Drop all messages in flight: their puts will not be repeated."""
        self._states = {}
        self._pause_until = 0

    def _ended(self, states: dict[_Key, _State], key: _Key, is_stored: bool) -> None:
        self.count += is_stored
        if states is not self._states:
            return
        if is_stored:
            states[key] = _State.ARRIVED
            for callback in self._end_watchers:
                callback()
        else:
            del states[key]
            self._pause_until = self._now + PAUSE_MILLIS


def _key(message: Message) -> _Key:
    said = frozenset((name, value) for name, value in message.properties.items() if name not in _NOTES)
    origin = message.prepared_transaction_offset
    return message.topic, message.queue_id, message.born_timestamp, origin, message.body, said


def as_sent(message: Message) -> Message:
    """Return the message for another broker: as a producer would send it, for any queue."""
    properties = dict(message.properties)
    topic, sys_flag = message.topic, message.sys_flag
    out_time = properties.get(PROPERTY_TIMER_OUT_MS, "")
    for name in _TIMING:
        if topic != TRANS_HALF_TOPIC:
            properties.pop(name, None)
    if topic in (TRANS_HALF_TOPIC, TIMER_TOPIC):
        is_half = topic == TRANS_HALF_TOPIC
        topic = properties.pop(PROPERTY_REAL_TOPIC, topic)
        properties.pop(PROPERTY_REAL_QUEUE_ID, None)
        if is_half:
            properties[PROPERTY_TRANSACTION_PREPARED] = "true"
            properties.pop(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET, None)
            properties.pop(PROPERTY_TRANSACTION_CHECK_TIMES, None)
            sys_flag = sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.TRANSACTION_PREPARED
        elif out_time:
            # The other broker computes the same slot from it.
            properties[PROPERTY_TIMER_DELIVER_MS] = str(int(out_time) + 1)
    sent = message.copy_to(topic, message.queue_id, properties)
    sent.sys_flag = sys_flag
    sent.prepared_transaction_offset = 0
    return sent

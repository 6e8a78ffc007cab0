"""Delivery of due timers to their own topic, and the set of those delivered before a crash.

Deliveries are found in the commit log itself: every delivered or rescheduled message refers to its original
(`messages`). Messages delivered by RocketMQ's broker do not. They are identified by key, time, birth and
number of rolls, as is the copy of the very first message of a log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from mqgateway.engine.errors import EngineError, MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_OUT_MS,
    PROPERTY_UNIQ_KEY,
    TIMER_TOPIC,
    StoredMessage,
)
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.tail import messages_since
from mqgateway.engine.timers.messages import given_back, out_time_of, rolled, rolls, without_notes

log = logging.getLogger(__name__)

ATTEMPTS_MAX = 3
"""Number of attempts before an unreadable message is skipped."""
OnDelivered = Callable[[str, int], None]
LeavesOut = Callable[[str, int], bool]
"""Return True for a record, by topic and log offset, whose topic was deleted since. See `TopicTable`."""
_OUT_TIME = PROPERTY_TIMER_OUT_MS.encode()
_Trace = tuple[str, str, int, int, bool]


class NotNow(EngineError):
    """The store cannot be read or written now: retry after a pause."""


class NotYet(NotNow):
    """The message is in flight to another broker: retry soon."""


class Passed(NamedTuple):
    """Timers that another broker of the group delivered: those of the timer topic before `queue_offset` that
    were due before `time` (ms).
    """

    queue_offset: int
    time: int


class TimerDelivery:
    """Delivers from a store; `on_delivered` gets topic and bytes of each message put, and `leaves_out`
    returns True for messages to discard.
    """

    def __init__(
        self,
        store: MessageStore,
        options: StoreOptions,
        on_delivered: OnDelivered | None = None,
        leaves_out: LeavesOut = lambda *_: False,
    ) -> None:
        self._store = store
        self._options = options
        self._on_delivered = on_delivered
        self._leaves_out = leaves_out
        self._attempts = 0
        self.known: set[int | _Trace] = set()
        """Earlier deliveries: log offsets of originals, or traces of those by RocketMQ."""
        self.passed: Passed | None = None
        """Deliveries of another broker among this one's timers."""
        self._rolled: set[_Trace] = set()
        self.latest = 0
        """Time of the last of them, in ms."""
        self.count = 0
        """Messages delivered or rescheduled since the start."""

    def look_up(self, physical_offset: int) -> StoredMessage | None:
        """Return the original message; None if it is lost. Raises `NotNow`."""
        stored = self._store.look_up(physical_offset)
        if stored is not None:
            self._attempts = 0
            return stored
        self._attempts += 1
        is_gone = physical_offset < self._store.min_physical_offset
        if not is_gone and self._attempts < ATTEMPTS_MAX:
            raise NotNow(f"the log cannot be read at {physical_offset}")
        self._attempts = 0
        log.error("a timer is lost: the log has no message at offset %d", physical_offset)
        return None

    def deliver(self, stored: StoredMessage, written: int, now: int, *, is_roll: bool = False) -> None:
        """Put a message under its own topic, or with `is_roll` again under the timer topic.

        Nothing is done if that was done before a crash, or if the message's topic was deleted since. A
        message that no store would accept is skipped. `written` is the time at which it entered the wheel, in
        ms. Raises `NotNow`.
        """
        if self.is_done(stored):
            return
        # Before each roll too: the copy is later in the log than the original.
        if self._leaves_out(stored.properties.get(PROPERTY_REAL_TOPIC, ""), stored.physical_offset):
            return
        try:
            message = rolled(stored, written, now) if is_roll else given_back(stored, written, now)
        except MessageIllegal as error:
            log.error("the timer at %d is skipped: %s", stored.physical_offset, error)
            return
        result = self._store.put(message)
        if result.status is PutStatus.PROPERTIES_SIZE_EXCEEDED:
            result = self._store.put(without_notes(message))
        if result.status is PutStatus.PUT_OK:
            self.count += 1
            if self._on_delivered is not None:
                self._on_delivered(message.topic, result.end_offset - result.physical_offset)
        elif result.status is PutStatus.PUT_TO_REMOTE_BROKER_FAIL:
            raise NotYet(_reason(result))
        elif self._is_hopeless(result):
            log.error("the timer at %d is skipped: %s", stored.physical_offset, _reason(result))
        else:
            raise NotNow(_reason(result))

    def _is_hopeless(self, result: PutResult) -> bool:
        if result.status is PutStatus.UNKNOWN_ERROR:
            return self._options.timer_skip_unknown_error
        return result.status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED)

    def is_done(self, stored: StoredMessage) -> bool:
        """Return True if a message was delivered, or rescheduled, before a crash or by another broker."""
        if self.passed is not None and self._is_passed(stored, self.passed):
            return True
        if not self.known:
            return False
        times = rolls(stored.properties)
        return (
            stored.physical_offset in self.known
            or _trace(stored, times, False) in self.known
            or _trace(stored, times + 1, True) in self.known
        )

    def _is_passed(self, stored: StoredMessage, passed: Passed) -> bool:
        times = rolls(stored.properties)
        if times:
            self._rolled.add(_trace(stored, times, True))
        if self._rolled and _trace(stored, times + 1, True) in self._rolled:
            return True
        try:
            return stored.queue_offset < passed.queue_offset and out_time_of(stored) < passed.time
        except MessageIllegal:
            return False

    def learn(self, begin: int, file_size: int) -> Steps[None]:
        """Find earlier deliveries in the log, from an offset on."""
        for stored in messages_since(self._store, begin, file_size, _OUT_TIME):
            yield
            if stored is None:
                continue
            self.latest = max(self.latest, stored.store_timestamp)
            if stored.prepared_transaction_offset:
                self.known.add(stored.prepared_transaction_offset)
                continue
            times, is_roll = rolls(stored.properties), stored.topic == TIMER_TOPIC
            if times or not is_roll:
                self.known.add(_trace(stored, times, is_roll))


def _trace(stored: StoredMessage, times: int, is_roll: bool) -> _Trace:
    properties = stored.properties
    return (
        properties.get(PROPERTY_UNIQ_KEY, ""),
        properties.get(PROPERTY_TIMER_OUT_MS, ""),
        stored.born_timestamp,
        times,
        is_roll,
    )


def _reason(result: PutResult) -> str:
    return result.remark or result.status.name

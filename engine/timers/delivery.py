"""Puts due timers back under their own topic, and remembers which were delivered before a crash.

What was delivered is found in the commit log itself: every delivered message and every one set anew says
there of which message it was made (`messages`). Messages that a broker of the standard delivered do not; they
are known by key, time, birth and number of rolls, and so is what was made of the very first message of a log.
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
"""How often a message that cannot be read is tried before it is left out."""
OnDelivered = Callable[[str, int], None]
LeavesOut = Callable[[str, int], bool]
"""Return True for a record, by topic and log offset, whose topic was deleted since. See `TopicTable`."""
_OUT_TIME = PROPERTY_TIMER_OUT_MS.encode()
_Trace = tuple[str, str, int, int, bool]


class NotNow(EngineError):
    """The store cannot be read or written at the moment: the same is to be tried again after a while."""


class NotYet(NotNow):
    """The message is on its way to another broker: the same is to be tried again soon."""


class Passed(NamedTuple):
    """Which timers another broker of the group delivered: those of the timer topic before `queue_offset` that
    were due before `time` (ms)."""

    queue_offset: int
    time: int


class Delivery:
    """Delivers from a store; `on_delivered` is told topic and bytes of each message that was put, and
    `leaves_out` decides what is discarded."""

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
        """What was delivered before: places of the messages, or what those of the standard are known by."""
        self.passed: Passed | None = None
        """What another broker delivered, of this one's timers."""
        self._rolled: set[_Trace] = set()
        self.latest = 0
        """When the last of them was delivered, in ms."""
        self.count = 0
        """Messages delivered or set anew since the start."""

    def look_up(self, physical_offset: int) -> StoredMessage | None:
        """The message that was set; None when it is lost. Raises `NotNow`."""
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

    def deliver(self, stored: StoredMessage, written: int, now: int, *, anew: bool = False) -> None:
        """Put a message under its own topic, or with `anew` once more under the timers' one.

        Nothing is done when that was done before a crash, or when the message's topic was deleted since; one
        that no store would take is left out. `written` is when it came into the wheel, in ms. Raises
        `NotNow`.
        """
        if self.is_done(stored):
            return
        # Before each roll too: the copy lies later in the log than the message itself.
        if self._leaves_out(stored.properties.get(PROPERTY_REAL_TOPIC, ""), stored.physical_offset):
            return
        try:
            message = rolled(stored, written, now) if anew else given_back(stored, written, now)
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
        """Whether a message was delivered, or set anew, before a crash or by another broker."""
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
        """Find in the log, from an offset on, what was delivered."""
        for stored in messages_since(self._store, begin, file_size, _OUT_TIME):
            yield
            if stored is None:
                continue
            self.latest = max(self.latest, stored.store_timestamp)
            if stored.prepared_transaction_offset:
                self.known.add(stored.prepared_transaction_offset)
                continue
            times, anew = rolls(stored.properties), stored.topic == TIMER_TOPIC
            if times or not anew:
                self.known.add(_trace(stored, times, anew))


def _trace(stored: StoredMessage, times: int, anew: bool) -> _Trace:
    properties = stored.properties
    return (
        properties.get(PROPERTY_UNIQ_KEY, ""),
        properties.get(PROPERTY_TIMER_OUT_MS, ""),
        stored.born_timestamp,
        times,
        anew,
    )


def _reason(result: PutResult) -> str:
    return result.remark or result.status.name

"""Received messages that the broker renews: they stay invisible as long as their client is alive.

Every few seconds the messages are renewed whose time is nearly over, each time for longer. After three hours
they come again as the group's policy says. A client acknowledges with the handle that it got, which stands
for the newest one. A client that left loses the messages it had received. RocketMQ:
`DefaultReceiptHandleManager`, `RenewStrategyPolicy`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.gateway.broker.operations import OperationError, Operations, Reason
from mqgateway.gateway.grpc.service.handles import Handle
from mqgateway.gateway.grpc.service.sessions import ClientSession
from mqgateway.gateway.grpc.service.settings import RetryPolicy
from mqgateway.gateway.grpc.service.status import CallRefused
from mqgateway.gateway.runtime.outcomes import then

log = logging.getLogger(__name__)

_MINUTE = 60_000
TIMES = (1 * _MINUTE, 3 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE, 60 * _MINUTE)
"""Time for which a message is renewed, by the number of renewals before, in ms."""


class Key(NamedTuple):
    """A message as its client names it: with the handle that it got."""

    group: str
    message_id: str
    handle: str


class Received:
    """One message that is renewed. `since` is the time of its receipt, steady time in ms."""

    __slots__ = (
        "group",
        "handle",
        "is_gone",
        "lite_topic",
        "renewing",
        "since",
        "times",
        "topic",
        "tries",
        "turns",
    )

    def __init__(
        self, group: str, topic: str, handle: Handle, turns: int, since: int, lite_topic: str | None
    ) -> None:
        self.group = group
        self.topic = topic
        self.handle = handle
        self.turns = turns
        self.since = since
        self.lite_topic = lite_topic
        self.times = 0
        self.tries = 0
        self.is_gone = False
        self.renewing: Deferred[None] | None = None


Change = Callable[[Received, int], "Handle | Deferred[Handle]"]
"""Makes a message invisible for a number of ms from now on; raises `CallRefused` or `OperationError`."""


class Renewals:
    """All messages of all sessions that are renewed; at most `maxRenewedMessages`."""

    def __init__(self, operations: Operations, change: Change) -> None:
        self._operations = operations
        self._options = operations.options
        self._change = change
        self._of: dict[ClientSession, dict[Key, Received]] = {}
        self._count = 0
        self._next_look = 0

    def __len__(self) -> int:
        return self._count

    def count(self, session: ClientSession) -> int:
        """Return the number of messages of one client that are renewed."""
        return len(self._of.get(session, ()))

    def room(self) -> int:
        """Return the number of messages that may be added."""
        return max(0, self._options.max_renewed_messages - self._count)

    def add(self, session: ClientSession, key: Key, received: Received) -> None:
        """Renew a message from now on."""
        of_session = self._of.get(session)
        if of_session is None:
            of_session = self._of[session] = {}
            session.on_lost(self._left)
        if key not in of_session:
            self._count += 1
        of_session[key] = received

    def take(self, session: ClientSession | None, key: Key, handle: Handle) -> Handle | Deferred[Handle]:
        """Stop the renewal of a message, and return its newest handle; `handle` if it is not renewed."""
        received = self._pop(session, key)
        if received is None:
            return handle
        if received.renewing is not None:
            return received.renewing.addCallback(lambda _: received.handle)
        return received.handle

    def tick(self) -> None:
        """Renew the messages that are due, every `renewSchedulePeriodMillis`."""
        elapsed = elapsed_millis(self._operations.clock)
        if elapsed < self._next_look:
            return
        self._next_look = elapsed + self._options.renew_schedule_period_millis
        now = self._operations.steady.now()
        for session, key, received in list(self._all()):
            is_due = received.handle.visible_at - now <= self._options.renew_ahead_time_millis
            if is_due and received.renewing is None:
                self._renew(session, key, received, now)

    def _all(self) -> Iterator[tuple[ClientSession, Key, Received]]:
        for session, of_session in self._of.items():
            for key, received in of_session.items():
                yield session, key, received

    def _renew(self, session: ClientSession, key: Key, received: Received, now: int) -> None:
        options = self._options
        if received.tries >= options.max_renew_retry_times:
            log.warning(
                "message %s of %s is no longer renewed, because renewals failed", key.message_id, session
            )
            self._pop(session, key)
            return
        if now - received.since >= options.renew_max_time_millis:
            self._pop(session, key)
            group = self._operations.groups.get(received.group)
            if group is not None:
                self._hide(received, RetryPolicy(group).delay(received.turns))
            return
        self._hide(received, TIMES[min(received.times, len(TIMES) - 1)])
        if received.is_gone:
            self._pop(session, key)

    def _hide(self, received: Received, millis: int) -> None:
        """Change the invisible time of a message. Requests for the message wait meanwhile."""
        done: Deferred[None] = Deferred()
        received.renewing = done

        def hidden(handle: Handle) -> None:
            received.handle = handle
            received.times, received.tries = received.times + 1, 0

        def failed(failure: Failure) -> None:
            received.tries += 1
            error = failure.value
            is_stale = isinstance(error, OperationError) and error.reason is Reason.RECEIPT_STALE
            received.is_gone = is_stale or isinstance(error, CallRefused)
            log.info("message %d of %s: %s", received.handle.offset, received.topic, failure.value)

        def over(_: object) -> None:
            received.renewing = None
            done.callback(None)

        changing: Deferred[Handle] = Deferred()
        changing.addCallbacks(hidden, failed).addBoth(over)
        try:
            then(self._change(received, millis), changing.callback)
        except Exception as error:
            changing.errback(error)

    def _pop(self, session: ClientSession | None, key: Key) -> Received | None:
        of_session = None if session is None else self._of.get(session)
        received = None if of_session is None else of_session.pop(key, None)
        if session is None or of_session is None or received is None:
            return None
        self._count -= 1
        return received

    def _left(self, session: ClientSession) -> None:
        """Make the messages of a client that left visible soon."""
        of_session = self._of.pop(session, {})
        self._count -= len(of_session)
        for received in of_session.values():
            self._hide(received, self._options.invisible_time_millis_when_clear)

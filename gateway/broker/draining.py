"""Drain before a broker stops: redirect producers to other brokers, or have another replica elected master.

Producers refresh routes every 30 s. So name servers report that this broker takes no messages, while sends
that still arrive are accepted: a refused send would be lost if it is one-way, and fail if its queue was
chosen. The drain ends once no send has arrived for a while or `drainTimeoutMillis` is over; at once if name
servers know no other broker that does not stop too. Under a controller or in a DLedger group producers need
no redirection: another member is elected master. Not in RocketMQ, whose broker stops at once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.runtime.loop import Clockwork
from mqgateway.gateway.runtime.schedule import Schedule, ScheduledCall

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
QUIET_MILLIS = 5000
"""Milliseconds without a send after which producers are taken to be gone."""


class ReplaceableBroker(Protocol):
    """A broker that another member of its group can replace."""

    async def hand_over(self) -> None:
        """Have another member elected master, if there is one. May fail."""


class Draining:
    """Drain of one broker. `replica` is its controlled replica or DLedger member; None without either."""

    def __init__(self, broker: Broker, replica: ReplaceableBroker | None, reactor: Clockwork) -> None:
        self._broker = broker
        self._replica = replica
        self._reactor = reactor
        self._schedule = Schedule(reactor)
        self._put_total = -1
        self._quiet_since = self._began = 0
        self._looking: ScheduledCall | None = None
        self._drained: Deferred[None] | None = None
        self.shortfall = ""
        """Reason why the drain that has ended was incomplete; empty if it was complete."""

    def begin(self, leaving: Collection[str] = ()) -> Deferred[None]:
        """Return a Deferred of the end of the drain, at once if it is useless. It may be cancelled.

        `leaving` are the names of brokers that stop too, so that producers cannot switch to them.
        """
        broker = self._broker
        limit = broker.options.drain_timeout_millis
        if not limit or not broker.role.is_master:
            return succeed(None)
        if self._replica is not None:
            return self._hand_over(self._replica, limit)
        return Deferred.fromCoroutine(self._send_away(limit, leaving))

    async def _send_away(self, limit: int, leaving: Collection[str]) -> None:
        broker = self._broker
        if not set(await broker.cluster.broker_directory.other_masters()).difference(leaving):
            log.info("there is no other broker for producers")
            return
        log.info("producers are redirected to other brokers, for at most %d ms", limit)
        registration = broker.cluster.registration
        registration.announcement.takes_messages = False
        broker.tables.topics.data_version.next(broker.clock.millis())
        registration.soon()
        self._began = self._quiet_since = elapsed_millis(broker.clock)
        self._drained = Deferred(lambda _: self._end())
        self._looking = self._schedule.every(0, LOOK_SECONDS, self._look)
        await self._drained

    def _hand_over(self, replica: ReplaceableBroker, limit: int) -> Deferred[None]:
        handed = Deferred.fromCoroutine(replica.hand_over())
        handed.addTimeout(limit / 1000, self._reactor)  # type: ignore[arg-type]

        def failed(failure: Failure) -> None:
            self.shortfall = f"no other master was elected: {failure.getErrorMessage()}"
            log.warning("%s", self.shortfall)

        return handed.addErrback(failed)

    def _look(self) -> None:
        broker, now = self._broker, elapsed_millis(self._broker.clock)
        if broker.stats.put_total != self._put_total:
            self._put_total, self._quiet_since = broker.stats.put_total, now
        is_quiet = now - self._quiet_since >= QUIET_MILLIS
        if self._drained is not None and (
            is_quiet or now - self._began >= broker.options.drain_timeout_millis
        ):
            if is_quiet:
                log.info("no producer sends any more")
            else:
                self.shortfall = f"producers still sent to it after {broker.options.drain_timeout_millis} ms"
                log.warning("%s; the broker stops", self.shortfall)
            drained, self._drained = self._drained, None
            self._end()
            drained.callback(None)

    def _end(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

"""Drain before a broker stops: redirect producers to other brokers, or have another replica elected master.

Producers refresh routes every 30 s. So name servers report that this broker takes no messages, while sends
that still arrive are accepted: a refused send would be lost if it is one-way, and fail if its queue was
chosen. The drain ends once no send has arrived for a while or `drainTimeoutMillis` is over; at once if name
servers know no other broker that does not stop too. Kafka's producers are not waited for: their partitions
are led here until the end. Under a controller or in a DLedger group producers need no redirection: another
member is elected master. Clients of front ends are then given its address for a moment. So are readers of a
slave, whose address clients are not given any more. Not in RocketMQ, whose broker stops at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred, succeed

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.group_nodes import NO_NODE
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.runtime.loop import Clockwork
from mqgateway.gateway.runtime.schedule import Schedule, ScheduledCall

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
QUIET_MILLIS = 5000
"""Milliseconds without a send after which producers are taken to be gone."""
LEADER_LOOK_SECONDS = 0.1
ANSWER_SECONDS = 0.5
"""Time in which clients of front ends are answered with the address of the new leader, before the stop."""


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
        self._sends = -1
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
        if not limit:
            return succeed(None)
        broker.is_draining = True
        self._began = elapsed_millis(broker.clock)
        replica = self._replica
        if not broker.role.is_master:
            work = self._send_readers_away()
        elif replica is None:
            work = self._send_away(limit, leaving)
        else:
            work = self._hand_over(replica, limit)
        return Deferred.fromCoroutine(work)

    async def _send_readers_away(self) -> None:
        """Have readers of this slave turn to its master."""
        nodes = self._broker.nodes
        if nodes is not None and nodes.serves:
            nodes.leave()
            await self._schedule.pause(ANSWER_SECONDS)

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
        await self._looked(LOOK_SECONDS, self._look_for_sends)

    async def _hand_over(self, replica: ReplaceableBroker, limit: int) -> None:
        handed = Deferred.fromCoroutine(replica.hand_over())
        handed.addTimeout(limit / 1000, self._reactor)  # type: ignore[arg-type]
        try:
            await handed
        except CancelledError:
            raise
        except Exception as error:
            self.shortfall = f"no other master was elected: {error}"
            log.warning("%s", self.shortfall)
            return
        nodes = self._broker.nodes
        if nodes is None or self._broker.role.is_master or not nodes.view().nodes:
            return
        await self._looked(LEADER_LOOK_SECONDS, self._look_for_leader)
        nodes.leave()
        await self._schedule.pause(ANSWER_SECONDS)

    def _looked(self, seconds: float, look: Callable[[], None]) -> Deferred[None]:
        """Return a Deferred of the end of periodic looks."""
        self._drained = Deferred(lambda _: self._end())
        self._looking = self._schedule.every(0, seconds, look)
        return self._drained

    @property
    def _is_late(self) -> bool:
        return elapsed_millis(self._broker.clock) - self._began >= self._broker.options.drain_timeout_millis

    def _look_for_sends(self) -> None:
        stats, now = self._broker.stats, elapsed_millis(self._broker.clock)
        sends = stats.put_total - stats.batch_put_total
        if sends != self._sends:
            self._sends, self._quiet_since = sends, now
        is_quiet = now - self._quiet_since >= QUIET_MILLIS
        if is_quiet:
            log.info("no producer sends any more")
        elif self._is_late:
            self.shortfall = (
                f"producers still sent to it after {self._broker.options.drain_timeout_millis} ms"
            )
            log.warning("%s; the broker stops", self.shortfall)
        if is_quiet or self._is_late:
            self._finish()

    def _look_for_leader(self) -> None:
        nodes = self._broker.nodes
        is_known = nodes is not None and nodes.view().leader != NO_NODE
        if is_known or self._is_late:
            log.info("clients learn of the new master" if is_known else "the new master is not known in time")
            self._finish()

    def _finish(self) -> None:
        drained, self._drained = self._drained, None
        self._end()
        if drained is not None:
            drained.callback(None)

    def _end(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

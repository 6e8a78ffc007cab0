"""Periodic work of a broker: every 100 ms, earlier if something is scheduled, less often when idle.

Each tick writes and cleans the store, serves slaves, delivers delayed messages, and answers requests whose
deadline has passed. Due messages of delay levels are also delivered between ticks, a slice at a time, so that
neither they nor concurrent sends wait for the whole backlog.
"""

from __future__ import annotations

import logging

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.engine.message import SCHEDULE_TOPIC
from mqgateway.engine.steps import Steps, run_for
from mqgateway.gateway.broker.assembly import GroupParticipation
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.runtime.schedule import Schedule, ScheduledCall

log = logging.getLogger(__name__)

TICK_SECONDS = 0.1
IDLE_TICK_SECONDS = 0.4
"""Interval of ticks when idle: nothing is stored, no delay is pending. It may delay held pulls."""
BACKLOG_SECONDS = 0.002
"""Interval of ticks when more timers are due than one tick delivers."""
DELIVERY_SECONDS = 0.01
"""Messages of delay levels that are due within this time are delivered together."""
NOTE_SECONDS = 0.005
"""Time a sampling of counts may hold the event loop; the rest follows with the next ticks."""
FOREVER = 2**62


class PeriodicWork:
    """Periodic work, from `start` until the schedule is stopped. RocketMQ: threads of `BrokerController`."""

    def __init__(self, broker: Broker, group: GroupParticipation, schedule: Schedule) -> None:
        self._broker = broker
        self._group = group
        self._schedule = schedule
        self._next: ScheduledCall | None = None
        self._next_at = 0.0
        self._delivery: ScheduledCall | None = None
        self._is_dispatching = False
        self._stored_before = -1
        self._noting: Steps[None] | None = None
        self.is_stopping = False
        """True while the broker stops: parked requests are answered, so that connections can be settled."""
        self._has_lost_lead = False  # since the last tick
        self.puts_no_more = False
        """True once all requests are answered: nothing more is put."""
        broker.timers.acceptance.watch(self.within)
        broker.store.watch_rest(self.dispatch_soon)
        # A new master serves clients only after its services have resumed.
        broker.role.on_change(self._role_changed)
        if group.escape is not None:
            group.escape.watch_ends(lambda: self.within(0))

    def start(self) -> None:
        """Start the ticks."""
        self._plan(TICK_SECONDS)

    def begin_stop(self) -> None:
        """Answer parked requests from now on; see `is_stopping`."""
        self.is_stopping = True
        self.within(0)

    def within(self, millis: int) -> None:
        """Bring the next tick forward to at most `millis` ms from now, as something is due then."""
        seconds = max(millis / 1000, BACKLOG_SECONDS)
        if self._next is not None and self._next_at - self._schedule.seconds() > seconds:
            self._next.cancel()
            self._plan(seconds)

    def dispatch_soon(self) -> None:
        """Dispatch the remaining records after other events of the loop had their turn."""
        if not self._is_dispatching:
            self._is_dispatching = True
            self._schedule.later(0, self._dispatch)

    def note_counts(self) -> None:
        """Sample the counts; a long sampling continues with the next ticks."""
        if self._noting is None:
            clock = self._broker.clock
            self._noting = self._broker.stats.tick(clock.millis(), elapsed_millis(clock))
            self._continue_noting()

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        """Tick soon: a new master's services resume, and readers of an old one must turn to the new one."""
        self._has_lost_lead |= before.kind is RoleKind.MASTER and after.kind is not RoleKind.MASTER
        self.within(0)

    def _plan(self, seconds: float) -> None:
        self._next_at = self._schedule.seconds() + seconds
        self._next = self._schedule.later(seconds, self._tick)

    def _plan_delivery(self) -> None:
        """Schedule the delivery of messages that are due before the next tick."""
        wait = self._broker.delays.wait_millis(self._broker.store.steady.now())
        if wait is None or self._delivery is not None or self.puts_no_more or not self._group.services.is_on:
            return
        seconds = max(wait / 1000, DELIVERY_SECONDS) if wait else BACKLOG_SECONDS
        if self._schedule.seconds() + seconds < self._next_at:
            self._delivery = self._schedule.later(seconds, self._deliver)

    def _deliver(self) -> None:
        self._delivery = None
        if self._group.services.is_on and not self.puts_no_more:
            self._broker.delays.tick(self._broker.store.steady.now())
            self._plan_delivery()

    def _dispatch(self) -> None:
        self._is_dispatching = False
        self._broker.store.dispatch()

    def _tick(self) -> None:
        self._next = None
        try:
            self._run_due_work()
        except Exception:
            log.exception("a periodic task failed")
        seconds = TICK_SECONDS if self._is_busy() else IDLE_TICK_SECONDS
        wait = self._broker.timers.wait_millis(self._broker.store.steady.now())
        if self._group.services.is_behind:
            wait = 0
        if wait is not None:
            seconds = min(seconds, max(wait / 1000, BACKLOG_SECONDS))
        self._plan(seconds)
        self._plan_delivery()

    def _run_due_work(self) -> None:
        broker, group = self._broker, self._group
        broker.store.tick()
        now = broker.store.steady.now()
        broker.stats.settle()
        self._continue_noting()
        group.replication.tick()
        group.membership.tick()
        if group.controlled is not None:
            group.controlled.tick()
        if group.ledger is not None:
            group.ledger.tick()
        if self.puts_no_more:
            return
        elapsed = FOREVER if self.is_stopping else elapsed_millis(broker.clock)
        group.services.tick(now, elapsed)
        broker.lite.tick(now, elapsed)
        broker.retention.tick()
        broker.compaction.tick()
        broker.consume.answer_due(FOREVER if self._has_lost_lead else elapsed, broker.store)
        self._has_lost_lead = False

    def _is_busy(self) -> bool:
        """Return True if the interval must be short.

        That is so if something was stored since the last tick, a delay is pending, or the broker stops.
        """
        broker, store = self._broker, self._broker.store
        before, self._stored_before = self._stored_before, store.max_physical_offset
        if before != self._stored_before or self.is_stopping or broker.transactions.is_walking:
            return True
        if broker.pop.is_busy or broker.lite.is_busy or broker.compaction.is_working:
            return True
        done = broker.delays.offsets
        return any(
            store.max_offset(SCHEDULE_TOPIC, level - 1) > done.get(level, 0)
            for level in range(1, broker.delays.levels.max_level + 1)
        )

    def _continue_noting(self) -> None:
        if self._noting is not None and run_for(self._noting, self._broker.clock, NOTE_SECONDS):
            self._noting = None

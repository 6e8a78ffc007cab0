"""Periodic work of a master: delayed messages, timers, transactions, popped messages.

A master does all of it, once it is online. A slave does it only while it acts for its master: it continues
from the master's progress, as far as that is known here, and delivers to other brokers. Finding that progress
may take long, so it is a cooperative task that runs a few ms with each tick, before anything else. The
broker's writes follow: its log is closed in every role but master, and on a new master until the progress is
found. RocketMQ: `BrokerController.changeSpecialServiceStatus`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import EngineError
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.engine.message import PROPERTY_REAL_TOPIC
from mqgateway.engine.steps import Steps, run_for
from mqgateway.engine.tail import messages_since
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.replication.slave_tables import SlaveTables
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.broker.transactions.checks import check_back, is_reachable

if TYPE_CHECKING:
    from mqgateway.engine.transactions.escape import TransactionEscape

log = logging.getLogger(__name__)

TAKE_OVER_SECONDS = 0.01
"""Time of each tick for finding the master's progress."""
RETRY_MILLIS = 1000
"""Milliseconds until a failed takeover is retried."""
ACTIVE = (RoleKind.MASTER, RoleKind.ACTING)
"""Roles with services."""


class SpecialServices:
    """Services of a broker, which follow its role.

    `load` them at the start, `tick` them periodically. `tables` are a slave's copies of its master's,
    `escape` is for slaves that may act, `epochs` are those of the log.
    """

    def __init__(
        self,
        broker: Broker,
        tables: Callable[[], SlaveTables | None],
        escape: Escape | None,
        epochs: Epochs,
    ) -> None:
        self._broker = broker
        self._epochs = epochs
        self._tables = tables
        self._escape = escape
        self._transactions_from = 0
        self._wanted = _wanted(broker.role.state)
        self._begun: RoleKind | None = self._wanted
        self._is_ready = self._wanted is not None
        self._steps: Steps[None] | None = None
        self._retry_at = 0
        self.is_held = False
        """True while the broker is not online yet: everything is ready, and waits."""
        broker.role.on_change(self._changed)

    @cached_property
    def _transactions(self) -> TransactionEscape:
        from mqgateway.engine.transactions.escape import TransactionEscape

        return TransactionEscape(self._broker.store, self._broker.tables.offsets)

    @property
    def is_on(self) -> bool:
        """True if the broker does the periodic work."""
        return self._is_ready and not self.is_held

    @property
    def is_behind(self) -> bool:
        """True if `tick` should be called again soon."""
        return self._steps is not None or (self.is_on and self._broker.pop.is_behind)

    def load(self) -> None:
        """Continue from an earlier master's progress; a slave stands by. Raises `OSError`, `EngineError`."""
        broker = self._broker
        self._epochs.load(broker.store.max_physical_offset)
        state = broker.role.state
        broker.role.become(state.kind, epoch=max(state.epoch, self._epochs.last))
        if self._begun is None:
            broker.timers.stand_by()
            return
        broker.transactions.load()
        broker.timers.load()
        broker.pop.load()

    # Changes of the role

    def _changed(self, before: RoleState, after: RoleState) -> None:
        wanted = _wanted(after)
        if wanted is not None and wanted is self._wanted and self._continues_in(after):
            return
        self._wanted = wanted
        self._broker.store.gate = closed_gate(after.kind)
        self._retry_at = 0
        self._rest()

    def _continues_in(self, state: RoleState) -> bool:
        """Return True if running services continue in another epoch.

        A master's log accepts no record before the start of the epoch is on disk.
        """
        if state.kind is RoleKind.MASTER and self._is_ready:
            try:
                self._begin_epoch()
            except OSError:
                log.exception("this broker cannot become master in epoch %d", state.epoch)
                return False
        return True

    def _begin_epoch(self) -> None:
        """Record the start of the epoch on disk. Raises `OSError`."""
        self._epochs.begin(self._broker.role.state.epoch, self._broker.store.max_physical_offset)

    def _rest(self) -> None:
        """Stop all services, ready or not: another broker continues them, or this one begins again."""
        self._steps = None
        self._is_ready = False
        begun, self._begun = self._begun, None
        if begun is None:
            return
        broker = self._broker
        broker.delays.stand_by()
        broker.transactions.stand_by()
        if begun is RoleKind.ACTING:
            log.warning("this slave no longer acts for its master")
            broker.pop.act_no_more()
            if self._escape is not None:
                self._escape.forget()
        broker.pop.persist()
        try:
            broker.timers.hand_back()
        except (OSError, EngineError):
            log.exception("the progress of timers cannot be written")
        tables = self._tables()
        if begun is RoleKind.ACTING and broker.timers.is_enabled and tables is not None:
            # The log does not show what was delivered here, should this slave act again soon.
            tables.take_timers(broker.timers.checkpoint.encode())

    def _continue(self, wanted: RoleKind, steps: Steps[None]) -> None:
        """Run the takeover for a limited time."""
        try:
            is_done = run_for(steps, self._broker.clock, TAKE_OVER_SECONDS)
        except Exception:  # any error: a failed task has ended, and no part of it may remain
            log.exception("this broker cannot become %s; will retry", wanted.value)
            self._rest()
            self._retry_at = self._now() + RETRY_MILLIS
            return
        if is_done:
            self._steps = None
            self._is_ready = True

    def _begin(self, wanted: RoleKind) -> Steps[None]:
        self._begun = wanted
        return self._act() if wanted is RoleKind.ACTING else self._lead()

    def _lead(self) -> Steps[None]:
        """Become the master: continue after the earlier master's progress, and open the log."""
        broker, store = self._broker, self._broker.store
        log.warning("this broker becomes the master")
        store.raw.drop_partial()
        store.dispatch_all()
        restore_topics(broker)
        yield from broker.delays.resume()
        broker.transactions.load()
        yield from broker.timers.loading()
        yield from broker.pop.loading()
        self._begin_epoch()
        store.gate = None

    def _act(self) -> Steps[None]:
        """Act for the master: deliver due messages to other brokers."""
        broker, tables, escape = self._broker, self._tables(), self._escape
        assert tables is not None and escape is not None
        log.warning("this slave acts for its master")
        raw = broker.store.raw
        # A slave that has received nothing from its master since its start cannot scan the whole log.
        since = tables.reported_at or raw.position - raw.position % raw.file_size - raw.file_size
        later = messages_since(broker.store, max(since, 0), raw.file_size, PROPERTY_REAL_TOPIC.encode())
        yield from broker.delays.take_over(later)
        yield from broker.timers.take_over(tables.timers)
        yield from self._transactions.begin()
        self._transactions_from = self._now() + broker.options.transaction_check_interval
        yield from broker.pop.loading()
        broker.store.gate = closed_gate(RoleKind.ACTING, escape.put)
        broker.pop.act(escape)
        broker.tables.offsets.data_version.next(broker.clock.millis())

    # Ticks

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    def tick(self, now: int, elapsed: int) -> None:
        """Do the work due at `now` (ms since the epoch).

        `elapsed` is the time in ms by which parked requests expire.
        """
        broker, wanted = self._broker, self._wanted
        if wanted is not None and not self._is_ready:
            if self._steps is None and self._now() >= self._retry_at:
                self._steps = self._begin(wanted)
            if self._steps is not None:
                self._continue(wanted, self._steps)
        if not self.is_on:
            broker.pop.wait_no_longer(elapsed)
            return
        if self._escape is not None:
            self._escape.tick(self._now())
        broker.delays.tick(now)
        broker.timers.tick(now)
        broker.pop.tick(now, elapsed)
        if wanted is RoleKind.MASTER:
            due = broker.transactions.tick(now, partial(is_reachable, broker.clients))
            check_back(broker, due)
        elif self._now() >= self._transactions_from:
            self._transactions.tick()


def restore_topics(broker: Broker) -> None:
    """Restore missing topics that have messages, and delete queues of deleted topics.

    A slave has such queues if it replicates messages after it was notified that their topic was deleted.
    """
    topics, admin = broker.tables.topics, broker.store.admin
    topics.cut_ends()
    found = admin.topics_with_messages()
    past = [name for name in found if name not in topics and topics.is_past(name, admin.newest_place(name))]
    admin.delete_topics(past)
    for name in past:
        del found[name]
    topics.restore(found, admin.attributes_of)


def _wanted(state: RoleState) -> RoleKind | None:
    """Return the services to run in a role; None for no services."""
    return state.kind if state.kind in ACTIVE else None

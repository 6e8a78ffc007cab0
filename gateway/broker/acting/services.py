"""What a broker does of its own accord: delayed messages, timers, transactions, popped messages.

A master does all of it, once it is online; a slave only while it acts for its master, from where the master
was, as far as that is known here, and what it delivers goes to other brokers. To find out where that was may
take long: it is done in steps, a few ms with each beat, before anything else. What the broker puts follows:
its log is closed to all but a master, and to a new master until it has found out. Standard:
`BrokerController.changeSpecialServiceStatus`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import EngineError
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.engine.message import PROPERTY_REAL_TOPIC
from mqgateway.engine.steps import Steps, run_for
from mqgateway.engine.tail import messages_since
from mqgateway.engine.transactions.escape import TransactionEscape
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.pop.away import PopsAway
from mqgateway.gateway.broker.replication.slave_tables import SlaveTables
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.broker.transactions.checks import check_back, is_reachable

log = logging.getLogger(__name__)

TAKE_OVER_SECONDS = 0.01
"""How long a beat may find out where the master was."""
RETRY_MILLIS = 1000
"""How long after taking over failed it is tried again."""
ACTIVE = (RoleKind.MASTER, RoleKind.ACTING)
"""The roles with services."""


class SpecialServices:
    """`load` at the start, `tick` with every beat; `tables` are what a slave heard of its master, `escape` is
    for slaves that may act, `epochs` are those of the log. What runs follows the broker's role."""

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
        self._transactions = TransactionEscape(broker.store, broker.tables.offsets)
        self._transactions_from = 0
        self._wanted = _wanted(broker.role.state)
        self._begun: RoleKind | None = self._wanted
        self._is_ready = self._wanted is not None
        self._steps: Steps[None] | None = None
        self._retry_at = 0
        self.is_held = False
        """Whether the broker is not online yet: everything is ready, and waits."""
        broker.role.on_change(self._changed)

    @property
    def is_on(self) -> bool:
        """Whether the broker does what is due."""
        return self._is_ready and not self.is_held

    @property
    def is_behind(self) -> bool:
        """Whether `tick` should be called again soon."""
        return self._steps is not None or (self.is_on and self._broker.pop.is_behind)

    def load(self) -> None:
        """Go on where a master was before; a slave stands by. Raises `OSError` and `EngineError`."""
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

    # Changes of the role.

    def _changed(self, before: RoleState, after: RoleState) -> None:
        wanted = _wanted(after)
        if wanted is not None and wanted is self._wanted and self._goes_on_in(after):
            return
        self._wanted = wanted
        self._broker.store.gate = closed_gate(after.kind)
        self._retry_at = 0
        self._rest()

    def _goes_on_in(self, state: RoleState) -> bool:
        """Whether what was begun goes on in another epoch. A master's log takes nothing more before it is
        written down where that begins."""
        if state.kind is RoleKind.MASTER and self._is_ready:
            try:
                self._begin_epoch()
            except OSError:
                log.exception("this broker cannot become master in epoch %d", state.epoch)
                return False
        return True

    def _begin_epoch(self) -> None:
        """Raises `OSError`."""
        self._epochs.begin(self._broker.role.state.epoch, self._broker.store.max_physical_offset)

    def _rest(self) -> None:
        """Leave all as it is, ready or not: another broker goes on with it, or this one begins again."""
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
            broker.pop.away = None
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

    def _go_on(self, wanted: RoleKind, steps: Steps[None]) -> None:
        """Take over for a while."""
        try:
            is_done = run_for(steps, self._broker.clock, TAKE_OVER_SECONDS)
        except Exception:  # whatever it is: steps that failed are over, and nothing of them may stay
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
        """Become the master: go on behind what the one before did, and let the log be written."""
        broker, store = self._broker, self._broker.store
        log.warning("this broker becomes the master")
        store.raw.drop_partial()
        store.dispatch_all()
        restore_topics(broker)
        yield from broker.delays.going_on()
        broker.transactions.load()
        yield from broker.timers.loading()
        yield from broker.pop.loading()
        self._begin_epoch()
        store.gate = None

    def _act(self) -> Steps[None]:
        """Act for the master: what is due goes to other brokers."""
        broker, tables, escape = self._broker, self._tables(), self._escape
        gate = broker.store.gate
        assert tables is not None and escape is not None and gate is not None
        log.warning("this slave acts for its master")
        raw = broker.store.raw
        # A slave that has not heard of its master since it started cannot look through all there is.
        since = tables.reported_at or raw.position - raw.position % raw.file_size - raw.file_size
        later = messages_since(broker.store, max(since, 0), raw.file_size, PROPERTY_REAL_TOPIC.encode())
        yield from broker.delays.take_over(later)
        yield from broker.timers.take_over(tables.timers)
        yield from self._transactions.begin()
        self._transactions_from = self._now() + broker.options.transaction_check_interval
        yield from broker.pop.loading()
        gate.elsewhere = escape.put
        broker.pop.away = PopsAway(broker.pop.log, escape)
        broker.tables.offsets.data_version.next(broker.clock.millis())

    # Time.

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    def tick(self, now: int, elapsed: int) -> None:
        """Do what is due at `now` (ms since the epoch); `elapsed` is the time of who waits, in ms."""
        broker, wanted = self._broker, self._wanted
        if wanted is not None and not self._is_ready:
            if self._steps is None and self._now() >= self._retry_at:
                self._steps = self._begin(wanted)
            if self._steps is not None:
                self._go_on(wanted, self._steps)
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
    """Let topics be known that have messages; queues of topics that were deleted go, as a slave has them
    when it replicates messages after it heard that their topic was deleted."""
    topics, admin = broker.tables.topics, broker.store.admin
    topics.cut_ends()
    found = admin.topics_with_messages()
    past = [name for name in found if name not in topics and topics.is_past(name, admin.newest_place(name))]
    admin.delete_topics(past)
    for name in past:
        del found[name]
    topics.restore(found, admin.attributes_of)


def _wanted(state: RoleState) -> RoleKind | None:
    """What the broker is to do in a role."""
    return state.kind if state.kind in ACTIVE else None

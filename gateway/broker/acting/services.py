"""What a broker does of its own accord: delayed messages, timers, transactions, popped messages.

A master does all of it, once it is online; a slave only while it acts for its master, from where the master
was, as far as that is known here, and what it delivers goes to other brokers. To find out where that was may
take long: it is done in steps, a few ms with each beat, before anything else. Standard:
`BrokerController.changeSpecialServiceStatus`.
"""

from __future__ import annotations

import logging
from functools import partial

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import EngineError
from mqgateway.engine.ha.escape import Escape
from mqgateway.engine.message import PROPERTY_REAL_TOPIC
from mqgateway.engine.options import BrokerRole
from mqgateway.engine.steps import Steps, run_for
from mqgateway.engine.tail import messages_since
from mqgateway.engine.transactions.escape import TransactionEscape
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.pop.away import PopsAway
from mqgateway.gateway.broker.replication.slave_store import SlaveStore
from mqgateway.gateway.broker.replication.slave_tables import SlaveTables
from mqgateway.gateway.broker.transactions.checks import SendCheck, check_back, is_reachable

log = logging.getLogger(__name__)

TAKE_OVER_SECONDS = 0.01
"""How long a beat may find out where the master was."""


class SpecialServices:
    """`load` at the start, `tick` with every beat; `escape` is for slaves that may act, `send_check` asks a
    producer about a transaction."""

    def __init__(
        self, broker: Broker, tables: SlaveTables | None, escape: Escape | None, send_check: SendCheck
    ) -> None:
        self._broker = broker
        self._tables = tables
        self._escape = escape
        self._send_check = send_check
        self._is_slave = broker.store_options.broker_role is BrokerRole.SLAVE
        self._transactions = TransactionEscape(broker.store, broker.offsets)
        self._transactions_from = 0
        self._steps: Steps[None] | None = None
        self.is_on = not self._is_slave

    def load(self) -> None:
        """Go on where a master was before; a slave stands by. Raises `OSError` and `EngineError`."""
        broker = self._broker
        if self._is_slave:
            broker.timers.stand_by()
            return
        broker.transactions.load()
        broker.timers.load()
        broker.pops.load()

    def turn(self, on: bool) -> None:
        """Begin, or end: for a master only when it comes online, for a slave whenever it acts."""
        if not self._is_slave:
            self.is_on = on
        elif on and not self.is_on and self._steps is None:
            self._steps = self._take_over()
        elif not on:
            self._steps = None
            if self.is_on:
                self.is_on = False
                self._hand_back()

    @property
    def is_behind(self) -> bool:
        """Whether `tick` should be called again soon."""
        return self._steps is not None

    def _go_on(self, steps: Steps[None]) -> None:
        """Take over for a while."""
        self._steps = None
        try:
            self.is_on = run_for(steps, self._broker.clock, TAKE_OVER_SECONDS)
        except (OSError, EngineError):
            log.exception("this slave cannot act for its master")
        else:
            self._steps = None if self.is_on else steps

    def _take_over(self) -> Steps[None]:
        broker, tables = self._broker, self._tables
        assert isinstance(broker.store, SlaveStore) and tables is not None and self._escape is not None
        log.warning("this slave acts for its master")
        raw = broker.store.raw
        # A slave that has not heard of its master since it started cannot look through all there is.
        since = tables.told_at or raw.position - raw.position % raw.file_size - raw.file_size
        later = messages_since(broker.store, max(since, 0), raw.file_size, PROPERTY_REAL_TOPIC.encode())
        yield from broker.delays.take_over(later)
        yield from broker.timers.take_over(tables.timers)
        yield from self._transactions.begin()
        self._transactions_from = self._now() + broker.options.transaction_check_interval
        yield from broker.pops.loading()
        broker.store.escape = self._escape
        broker.pops.away = PopsAway(broker.pops.log, self._escape)
        broker.offsets.data_version.next(broker.clock.millis())

    def _hand_back(self) -> None:
        broker, tables = self._broker, self._tables
        assert isinstance(broker.store, SlaveStore) and tables is not None and self._escape is not None
        log.warning("this slave acts for its master no longer")
        broker.store.escape = None
        broker.pops.away = None
        self._escape.forget()
        broker.timers.hand_back()
        if broker.timers.is_enabled:
            # The log does not show what was delivered here, should this slave act again soon.
            tables.told_timers(broker.timers.checkpoint.encode())
        broker.pops.persist()

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    def tick(self, now: int, elapsed: int) -> None:
        """Do what is due at `now` (ms since the epoch); `elapsed` is the time of who waits, in ms."""
        broker = self._broker
        if self._steps is not None:
            self._go_on(self._steps)
        if not self.is_on:
            broker.pops.wait_no_longer(elapsed)
            return
        if self._escape is not None:
            self._escape.tick(self._now())
        broker.delays.tick(now)
        broker.timers.tick(now)
        broker.pops.tick(now, elapsed)
        if not self._is_slave:
            due = broker.transactions.tick(now, partial(is_reachable, broker.clients))
            check_back(broker, due, self._send_check)
        elif self._now() >= self._transactions_from:
            self._transactions.tick()

"""The controller: requests one after another, and elections when a master is lost; without sockets.

A decision is made on agreed sets. The next one waits until the change is agreed too, or it is confirmed that
no other controller has changed the sets. Then the decision is answered, and brokers are notified of a new
master. The state determines the leader.

A master is lost when its connection ends, or when it was silent for its own timeout. A new leader may not
have heard from a master that the previous leader did hear from: that one counts as live until its timeout,
unless its connection here has ended. So a restarted controller deposes no working master.

RocketMQ: `DLedgerController.EventScheduler`, `ControllerManager`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.counts import NEW_MASTER, NO_MASTER, SAME_MASTER, ControllerCounts
from mqgateway.engine.controller.decisions import (
    ControllerDecision,
    ControllerReason,
    DecisionInput,
    elect_master,
    sets_without_master,
)
from mqgateway.engine.controller.events import Event, text
from mqgateway.engine.controller.liveness import Liveness, ReplicaHeartbeat, ReplicaKey
from mqgateway.engine.controller.state import ControllerState, NotLeading, OnAgreed
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options.controller import ControllerOptions

log = logging.getLogger(__name__)

WAITING_MAX = 1024
"""Maximum of waiting decisions. RocketMQ: the capacity of the queue of events."""

A = TypeVar("A")
Decide = Callable[[DecisionInput], ControllerDecision[A]]
Decided = Callable[[ControllerDecision[A] | Exception], None]


class TooManyWaiting(EngineError):
    """A request is refused, as too many are waiting."""


class MasterChangeNotice(NamedTuple):
    """A notification of a new master: addresses of brokers, and the set after the election."""

    receivers: list[str]
    after: BrokerSet


class Controller:
    """One controller. `notify` sends a notice to brokers, which may miss it: they poll anyway."""

    def __init__(
        self,
        options: ControllerOptions,
        state: ControllerState,
        clock: Clock,
        notify: Callable[[MasterChangeNotice], None],
    ) -> None:
        self.options = options
        self.state = state
        self._clock = clock
        self._notify = notify
        self.counts = ControllerCounts()
        self._liveness = Liveness()
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_busy = self._is_running = self._is_stopping = False

    # Requests of brokers and administrators.

    def decide(self, decide: Decide[A], report: Decided[A]) -> None:
        """Make a decision after all earlier ones, and report it when it is agreed.

        Reports `NotLeading`, `TooManyWaiting`, or the reason why it could not be agreed.
        """
        if not self.state.is_leader:
            report(NotLeading("The controller is not in leader state"))
        elif len(self._waiting) >= WAITING_MAX:
            report(TooManyWaiting(f"{WAITING_MAX} requests wait already"))
        else:
            self._waiting.append(partial(self._carry_out, decide, report))
            self._run_waiting()

    def elect(
        self, name: str, broker_id: int | None, designate: bool, report: Decided[BrokerSet | None]
    ) -> None:
        """Elect a master if needed, as `decide`; brokers are notified of a new one."""

        def elected(outcome: ControllerDecision[BrokerSet | None] | Exception) -> None:
            self.counts.elections.add((_result(outcome),))
            if (
                isinstance(outcome, ControllerDecision)
                and outcome.refusal is None
                and outcome.answer is not None
            ):
                self._notify_brokers(outcome.answer)
            report(outcome)

        self.decide(lambda world: elect_master(world, name, broker_id, designate), elected)

    def is_alive(self, key: ReplicaKey) -> bool:
        """Return True if a broker is live, as known by this controller."""
        return self._liveness.is_alive(key, elapsed_millis(self._clock))

    def alive_brokers(self) -> list[ReplicaKey]:
        """Return all live brokers."""
        now = elapsed_millis(self._clock)
        return [key for key in self._liveness if self._liveness.is_alive(key, now)]

    # Liveness.

    def start(self) -> None:
        """Take part; to be called once."""
        self.state.start(self._begin_to_lead)

    def stop(self) -> None:
        """Depose no masters from now on: connections end because this controller closes them."""
        self._is_stopping = True

    def hear(self, key: ReplicaKey, heartbeat: ReplicaHeartbeat, peer: object) -> None:
        """Process a heartbeat on a connection. Raises `TooManyBrokers`."""
        now = elapsed_millis(self._clock)
        self._liveness.hear(key, heartbeat, peer, now, self.options.max_brokers)

    def connection_lost(self, peer: object) -> None:
        """Remove the brokers last heard from on a connection that has ended."""
        for key in self._liveness.lost(peer):
            log.warning("the connection of %s %s %d has ended", *key)
            self._gone(key)

    def drop_silent(self) -> list[object]:
        """Remove the brokers whose timeout has passed; return their connections, to be closed."""
        silent = self._liveness.expire(elapsed_millis(self._clock))
        for key, _ in silent:
            log.warning("%s %s %d sent no heartbeat in time", *key)
            self._gone(key)
        return [peer for _, peer in silent if peer is not None]

    def was_stopped(self, millis: int) -> None:
        """Extend timeouts by a pause of this process, in which no heartbeats could arrive."""
        log.warning(
            "this controller was paused for %d ms; brokers are not counted as silent for that time", millis
        )
        self._liveness.move_on(millis, elapsed_millis(self._clock))

    def silence_ends_in(self) -> int | None:
        """Return the ms until the next broker's timeout; None if there are no brokers."""
        end = self._liveness.next_end()
        return None if end is None else max(0, end - elapsed_millis(self._clock))

    def elect_where_needed(self) -> None:
        """Elect masters for sets whose loss was not noticed, as after a change of the leader."""
        if self.state.is_leader:
            for name in sets_without_master(self._world()):
                self._elect_again(name, self.options.elect_master_max_retry_count)

    def _begin_to_lead(self) -> None:
        sets = self.state.sets.values()
        masters = [ReplicaKey(one.cluster, one.name, one.master) for one in sets if one.master is not None]
        self._liveness.expect(masters, elapsed_millis(self._clock))
        self.elect_where_needed()

    def _gone(self, key: ReplicaKey) -> None:
        if self._is_stopping or not self.state.is_leader:
            return
        found = self.state.sets.get(key.name)
        if found is not None and (found.cluster, found.master) == (key.cluster, key.broker_id):
            self._elect_again(key.name, self.options.elect_master_max_retry_count)

    def _elect_again(self, name: str, tries: int) -> None:
        def report(outcome: ControllerDecision[BrokerSet | None] | Exception) -> None:
            if isinstance(outcome, ControllerDecision):
                return
            log.error("no master could be elected for %s: %s", name, outcome)
            if tries > 1 and self.state.is_leader:
                self._elect_again(name, tries - 1)

        self.elect(name, None, False, report)

    def _notify_brokers(self, after: BrokerSet) -> None:
        if not self.options.notify_broker_role_changed:
            return
        receivers = [
            replica.address
            for number, replica in sorted(after.replicas.items())
            if self.is_alive(ReplicaKey(after.cluster, after.name, number))
        ]
        self._notify(MasterChangeNotice(receivers, after))

    # Decisions, one after another.

    def _world(self) -> DecisionInput:
        now = elapsed_millis(self._clock)
        return DecisionInput(
            self.state.sets,
            lambda key: self._liveness.is_alive(key, now),
            self._liveness.said,
            unclean=self.options.enable_elect_unclean_master,
            most_replicas=self.options.max_brokers,
        )

    def _run_waiting(self) -> None:
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._waiting and not self._is_busy:
                self._is_busy = True
                self._waiting.popleft()()
        finally:
            self._is_running = False

    def _carry_out(self, decide: Decide[A], report: Decided[A]) -> None:
        if not self.state.is_leader:
            self._finish(report, NotLeading("The controller is not in leader state"))
            return
        try:
            decision = decide(self._world())
        except Exception as error:
            self._finish(report, error)
            return
        if decision.refusal is not None:
            log.warning("%s", decision.refusal.remark)

        def agreed(error: Exception | None) -> None:
            self._finish(report, decision if error is None else error)
            self._run_waiting()

        if decision.event is None:
            self.state.confirm(agreed)
        else:
            self._propose(decision.event, agreed)

    def _propose(self, event: Event, agreed: OnAgreed) -> None:
        log.info("term %d: %s", self.state.term, text(event))
        began = self._clock.monotonic()

        def counted(error: Exception | None) -> None:
            self.counts.changed(self._clock.monotonic() - began, error is None)
            agreed(error)

        self.state.propose(event, counted)

    def _finish(self, report: Callable[[Any], None], outcome: Any) -> None:
        self._is_busy = False
        report(outcome)


def _result(outcome: ControllerDecision[BrokerSet | None] | Exception) -> str:
    """Return the result of an election, in RocketMQ's words."""
    if isinstance(outcome, ControllerDecision) and outcome.refusal is None:
        return NEW_MASTER
    if (
        isinstance(outcome, ControllerDecision)
        and outcome.refusal
        and outcome.refusal.reason is ControllerReason.MASTER_STILL_EXIST
    ):
        return SAME_MASTER
    return NO_MASTER

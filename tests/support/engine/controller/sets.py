"""Broker sets for tests of the controller, and the replicas that are alive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mqgateway.engine.clock import Clock
from mqgateway.engine.controller.broker_set import BrokerSet, Replica, changed
from mqgateway.engine.controller.controller import Controller, MasterChangeNotice
from mqgateway.engine.controller.decisions import DecisionInput
from mqgateway.engine.controller.events import Event
from mqgateway.engine.controller.liveness import ReplicaHeartbeat, ReplicaKey
from mqgateway.engine.controller.state import Leader, NotLeading, OnAgreed
from mqgateway.engine.options.controller import ControllerOptions


def address(broker_id: int) -> str:
    return f"10.0.0.{broker_id}:10911"


def code(broker_id: int) -> str:
    return f"{address(broker_id)};1700000000000"


def a_set(ids: Collection[int] = (1, 2), **fields: Any) -> BrokerSet:
    """Return the set brk of the cluster CL: master 1 of epoch 1, alone in sync, unless `fields` differ."""
    usual: dict[str, Any] = {
        "replicas": {number: Replica(address(number), code(number)) for number in ids},
        "next_broker_id": max(ids, default=0) + 1,
        "master": 1,
        "master_epoch": 1,
        "sync_state_set": frozenset([1]),
        "sync_state_set_epoch": 1,
    }
    return BrokerSet("CL", "brk", **(usual | fields))


def key(broker_id: int, name: str = "brk") -> ReplicaKey:
    return ReplicaKey("CL", name, broker_id)


def world(
    *sets: BrokerSet,
    alive: Collection[int] = (),
    said: Mapping[int, ReplicaHeartbeat] | None = None,
    **more: Any,
) -> DecisionInput:
    """Return the input of a decision: the sets, and the live replicas of brk."""
    heartbeats = {key(number): heartbeat for number, heartbeat in (said or {}).items()}
    there = {key(number) for number in alive}
    return DecisionInput(
        {one.name: one for one in sets},
        there.__contains__,
        lambda k: heartbeats.get(k, ReplicaHeartbeat()),
        **more,
    )


class HeldState:
    """A state in memory that agrees to changes at once, on request, or never; in term 7."""

    def __init__(self, *sets: BrokerSet) -> None:
        self.sets = {one.name: one for one in sets}
        self.is_leader = True
        self.leader: Leader | None = Leader("n0", "127.0.0.1:9877")
        self.term = 7
        self.holds = False
        self.failures: list[Exception] = []
        self.events: list[Event] = []
        self.held: list[Callable[[], None]] = []
        self.leads: Callable[[], None] = lambda: None

    def start(self, leads: Callable[[], None]) -> None:
        self.leads = leads
        if self.is_leader:
            leads()

    def tick(self) -> None: ...

    def close(self, on_agreed: Callable[[], None]) -> None:
        on_agreed()

    def confirm(self, on_agreed: OnAgreed) -> None:
        on_agreed(None if self.is_leader else NotLeading("not"))

    def propose(self, event: Event, on_agreed: OnAgreed) -> None:
        if not self.is_leader:
            on_agreed(NotLeading("not"))
            return
        if self.failures:
            on_agreed(self.failures.pop(0))
            return

        def agree() -> None:
            self.events.append(event)
            after = changed(self.sets.get(event.broker_name), event)
            self.sets.pop(event.broker_name, None)
            if after is not None:
                self.sets[after.name] = after
            on_agreed(None)

        if self.holds:
            self.held.append(agree)
        else:
            agree()


class Bench:
    """A controller on a `HeldState`."""

    def __init__(self, clock: Clock, *sets: BrokerSet, **options: Any) -> None:
        self.state = HeldState(*sets)
        self.notices: list[MasterChangeNotice] = []
        self.controller = Controller(ControllerOptions(**options), self.state, clock, self.notices.append)

    def hear(self, broker_id: int, peer: object = None, **fields: Any) -> object:
        """Pass a heartbeat of a replica of brk to the controller, on a connection of its own unless `peer` is
        given."""
        peer = peer or f"connection of {broker_id}"
        self.controller.hear(key(broker_id), ReplicaHeartbeat(address(broker_id), **fields), peer)
        return peer

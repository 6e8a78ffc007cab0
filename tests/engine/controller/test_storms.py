"""Brokers that connect and disconnect, a disk that fails and loses power, a controller that is killed: all by
seed.

All reports to brokers are remembered. No epoch has two masters; reports never go back; a master was in sync
with the one before; after all faults the set has a master again.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.controller import Controller, MasterChangeNotice
from mqgateway.engine.controller.decisions import (
    ControllerDecision,
    alter_sync_state_set,
    apply_broker_id,
    replica_info,
)
from mqgateway.engine.controller.liveness import ReplicaHeartbeat
from mqgateway.engine.controller.local_state import LocalState
from mqgateway.engine.controller.state import Leader
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.controller.sets import address, code, key

PATH = "/controller/brokerSets.json"
IDS = (1, 2, 3)


class Storm:
    """Three replicas of brk, the controller, and the reported results."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = ManualClock()
        self.disk = CrashDisk()
        self.connections: dict[int, str] = {}
        self.masters: dict[int, int | None] = {}
        self.in_sync: dict[int, frozenset[int]] = {}
        self.newest = (0, 0)
        self.elections = 0
        self.begin()
        for number in IDS:
            self.ask(lambda world, n=number: apply_broker_id(world, "CL", "brk", n, code(n)))
            self.settle()

    def begin(self) -> None:
        """Start the controller on the disk's content."""
        self.worker = MemoryWorker()
        self.state = LocalState(Leader("n0", "h:1"), self.disk, PATH, self.clock, self.worker)
        self.controller = Controller(ControllerOptions(), self.state, self.clock, self.note)
        self.controller.start()
        self.connections.clear()

    def note(self, notice: MasterChangeNotice) -> None:
        self.see(notice.after)

    def reported(self, outcome: ControllerDecision[Any] | Exception) -> None:
        answer = outcome.answer if isinstance(outcome, ControllerDecision) else None
        if isinstance(answer, BrokerSet):
            self.see(answer)

    def see(self, one: BrokerSet) -> None:
        """Check a set that is reported."""
        epoch = one.master_epoch
        assert self.masters.setdefault(epoch, one.master) == one.master, "two masters in one epoch"
        assert self.in_sync.setdefault(one.sync_state_set_epoch, one.sync_state_set) == one.sync_state_set
        assert (epoch, one.sync_state_set_epoch) >= self.newest, "what was told went back"
        if epoch > self.newest[0] and one.master is not None:
            before = self.in_sync.get(one.sync_state_set_epoch - 1)
            assert before is None or one.master in before, "a master that lacks messages"
            self.elections += 1
        self.newest = (epoch, one.sync_state_set_epoch)

    def ask(self, decide: Any) -> None:
        self.controller.decide(decide, self.reported)

    def settle(self) -> None:
        self.worker.perform_all()

    def look(self) -> None:
        self.ask(lambda world: replica_info(world, "brk"))

    def heartbeat(self, number: int) -> None:
        peer = self.connections.setdefault(number, f"{number}-{self.random.random()}")
        self.controller.hear(key(number), ReplicaHeartbeat(address(number), epoch=self.newest[0]), peer)

    def alter(self) -> None:
        """Change the in-sync set as the master, from its own view."""
        known = self.state.sets["brk"]
        ids = frozenset(self.random.sample(IDS, self.random.randint(1, 3)))
        self.ask(
            lambda world: alter_sync_state_set(
                world,
                "brk",
                master=known.master,
                master_epoch=known.master_epoch - self.random.choice((0, 0, 0, 1)),
                ids=ids,
                ids_epoch=known.sync_state_set_epoch,
            )
        )

    def step(self) -> None:
        """Inject one event."""
        pick = self.random.random()
        number = self.random.choice(IDS)
        if pick < 0.35:
            self.heartbeat(number)
        elif pick < 0.45 and number in self.connections:
            self.controller.connection_lost(self.connections.pop(number))
        elif pick < 0.60:
            self.alter()
        elif pick < 0.70:
            self.controller.elect("brk", number, self.random.random() < 0.5, self.reported)
        elif pick < 0.78:
            self.clock.advance(self.random.choice((10, 1000, 11_000)))
            self.controller.drop_silent()
        elif pick < 0.84:
            self.controller.elect_where_needed()
            self.state.tick()
        elif pick < 0.88:
            call = self.random.choice(("write", "sync", "rename", "sync_dir", "open"))
            self.disk.fail_next(call, skip=self.random.randrange(3), times=self.random.randint(1, 3))
        elif pick < 0.90:
            self.disk.heal()
            self.disk = self.disk.crash(self.random.randrange(1 << 30))
            self.begin()
        else:
            self.look()
        if self.random.random() < 0.6:
            self.worker.perform()

    def calm(self) -> None:
        """End all faults: all brokers send heartbeats, and the disk accepts writes."""
        self.disk.heal()
        for _ in range(20):
            self.clock.advance(1000)
            self.state.tick()
            for number in IDS:
                self.heartbeat(number)
            self.controller.drop_silent()
            self.controller.elect_where_needed()
            self.settle()


@pytest.mark.parametrize("seed", range(40))
def test_no_epoch_has_two_masters_and_nothing_that_was_reported_is_taken_back(seed: int) -> None:
    storm = Storm(seed)
    for number in IDS:
        storm.heartbeat(number)
    storm.controller.elect("brk", 1, False, storm.reported)
    storm.settle()
    for _ in range(400):
        storm.step()
    storm.calm()
    storm.look()
    storm.settle()
    assert storm.state.is_leader
    found = storm.state.sets["brk"]
    assert found.master is not None and found.master in found.sync_state_set
    assert storm.elections > 1

"""Controllers with a shared store, and all faults that can happen to them, by seed.

Their clocks differ in speed. Calls are late, answers are lost, and some calls are carried out long after they
were given up. Controllers are isolated, paused, killed. The store loses its leader, and the server that led
it renews expired leases. At no time do two controllers lead. Every answer equals the store's content. No
agreed change is lost or done twice, and after all faults one controller leads and the brokers have a master.
If the store ends leases too early, two may believe that they lead; but every answer is the store's content at
the time of the request.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.controller import Controller, MasterChangeNotice
from mqgateway.engine.controller.decisions import (
    ControllerDecision,
    alter_sync_state_set,
    apply_broker_id,
    replica_info,
)
from mqgateway.engine.controller.key_values import Kept, Lease, Outcome, Transaction, Unanswered
from mqgateway.engine.controller.liveness import ReplicaHeartbeat
from mqgateway.engine.controller.shared_state import SharedState
from mqgateway.engine.controller.state import Leader
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options.controller import ControllerOptions
from tests.support.engine.controller.etcd_model import EtcdModel
from tests.support.engine.controller.sets import address, code, key

IDS = (1, 2, 3)
SET = "/p/sets/brk"
GIVEN_UP = 1250
SPEEDS = (0.85, 1.15)
STEPS = 1500


class NodeClock:
    """A controller's monotonic clock, which has a speed of its own."""

    def __init__(self, model: EtcdModel, speed: float) -> None:
        self._model = model
        self.speed = speed

    def millis(self) -> int:
        return 0

    def monotonic(self) -> float:
        return self._model.now * self.speed / 1000


class Node:
    """One controller: its connection to the store, and its timers. Events during a pause arrive after it."""

    def __init__(self, storm: Storm, number: int) -> None:
        self.storm = storm
        self.number = number
        self.clock = NodeClock(storm.model, storm.random.uniform(*SPEEDS))
        self.stopped_until = 0
        self.is_cut_off = self.is_dead = False
        self.connections: dict[int, str] = {}
        self.state = SharedState(Leader(f"n{number}", f"h:{number}"), self, self.clock, "/p", 5)
        self.controller = Controller(ControllerOptions(), self.state, self.clock, self.note)
        self.server = ""
        self.at(0, self.controller.start)
        self.at(100, self.tick)

    def at(self, delay: float, work: Callable[[], object]) -> None:
        """Run work here later, unless this controller is paused then."""

        def run() -> None:
            if self.is_dead:
                return
            if self.storm.model.now < self.stopped_until:
                self.storm.at(self.stopped_until - self.storm.model.now, run)
            else:
                work()

        self.storm.at(delay, run)

    def tick(self) -> None:
        self.state.tick()
        self.controller.drop_silent()
        if self.storm.random.random() < 0.2:
            self.controller.elect_where_needed()
        self.at(1000 / self.clock.speed, self.tick)

    def note(self, notice: MasterChangeNotice) -> None:
        self.storm.see(notice.after, self.storm.model.now - GIVEN_UP)

    # The connection to the store.

    def _call(self, work: Callable[[], object], on_answer: Callable[[Any], None]) -> None:
        storm, answered = self.storm, [False]

        def answer_once(outcome: object) -> None:
            if not answered[0]:
                answered[0] = True
                on_answer(outcome)

        def arrive() -> None:
            try:
                outcome = work()
            except Unanswered as error:
                outcome = error
            if not self.is_cut_off and storm.random.random() > storm.trouble:
                self.at(storm.random.uniform(1, 20), lambda: answer_once(outcome))

        self.at(GIVEN_UP / self.clock.speed, lambda: answer_once(Unanswered("given up")))
        pick = storm.random.random()
        if self.is_cut_off or pick < storm.trouble:
            return
        late = pick < 3 * storm.trouble
        storm.at(storm.random.uniform(500, 6000) if late else storm.random.uniform(1, 20), arrive)

    def transact(self, wanted: Transaction, on_answer: Callable[[Outcome | Exception], None]) -> None:
        self._call(lambda: self.storm.model.transact(wanted), on_answer)

    def grant(self, seconds: int, on_answer: Callable[[Lease | Exception], None]) -> None:
        self._call(lambda: self.storm.model.grant(seconds), on_answer)

    def keep(self, lease: int, on_answer: Callable[[Kept | Exception], None]) -> None:
        model = self.storm.model

        def work() -> Kept:
            if model.cut_off and self.storm.random.random() < 0.5:
                return Kept(5, next(iter(model.cut_off)))
            return model.keep(lease)

        self._call(work, on_answer)

    def revoke(self, lease: int, on_answer: Callable[[Exception | None], None]) -> None:
        self._call(lambda: self.storm.model.revoke(lease), on_answer)


class Storm:
    """True time, the store, the controllers, and the reported results."""

    def __init__(self, seed: int, count: int, ends_too_early: bool) -> None:
        self.random = random.Random(seed)
        self.ends_too_early = ends_too_early
        self.trouble = 0.0
        self.model = EtcdModel()
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()
        self.masters: dict[int, int | None] = {}
        self.newest = (0, 0)
        self.terms: set[str] = set()
        self.agreed = 0
        self.nodes = [Node(self, number) for number in range(count)]
        self.down_until = dict.fromkeys(IDS, 0)
        for number in IDS:
            self.heartbeats(number)

    def at(self, delay: float, work: Callable[[], object]) -> None:
        heapq.heappush(self._queue, (self.model.now + delay, next(self._numbers), work))

    def run(self, millis: int) -> None:
        end = self.model.now + millis
        while self._queue and self._queue[0][0] <= end:
            when, _, work = heapq.heappop(self._queue)
            self.model.advance(int(when))
            work()
            leaders = [node for node in self.nodes if not node.is_dead and node.state.is_leader]
            assert len(leaders) <= 1 or self.ends_too_early, "two lead"
            self.terms.update(f"{node.number}:{node.state.term}" for node in leaders)
        self.model.advance(end)

    def kept(self) -> BrokerSet | None:
        found = self.model.keys.get(SET)
        return None if found is None else BrokerSet.from_json("brk", loads(found.value))

    def kept_since(self, since: int) -> list[BrokerSet]:
        """Return the sets stored at any time since then, as seen now."""
        versions = [(at, value) for at, key, value in self.model.history if key == SET and value]
        begins = max((at for at, _ in versions if at < since), default=0)
        return [BrokerSet.from_json("brk", loads(value)) for at, value in versions if at >= begins]

    def see(self, one: BrokerSet, since: int) -> None:
        """Check a set that is reported now, for a request made then."""
        assert one in self.kept_since(since), "what is on_answer was not kept when it was asked for"
        if self.ends_too_early:
            return
        assert one == self.kept(), "what is on_answer is not what is kept"
        epochs = (one.master_epoch, one.sync_state_set_epoch)
        assert self.masters.setdefault(one.master_epoch, one.master) == one.master, "two masters in one epoch"
        assert epochs >= self.newest, "what was on_answer went back"
        self.newest = epochs

    def ask(self, node: Node, decide: Any) -> None:
        node.controller.decide(decide, self.recorder(node))

    def recorder(self, node: Node) -> Callable[[ControllerDecision[Any] | Exception], None]:
        """Return a callback for a controller's results."""
        asked = self.model.now

        def record(outcome: ControllerDecision[Any] | Exception) -> None:
            if isinstance(outcome, ControllerDecision):
                assert node.state.is_leader, "somebody answers who does not lead"
                self.agreed += outcome.event is not None
                if isinstance(outcome.answer, BrokerSet):
                    self.see(outcome.answer, asked)

        return record

    def heartbeats(self, number: int) -> None:
        """Send a broker's heartbeat each second, unless it is down."""
        self.at(1000, lambda: self.heartbeats(number))
        for node in self.nodes if self.model.now >= self.down_until[number] else ():
            peer = node.connections.setdefault(number, f"{number}-{self.random.random()}")
            tick = ReplicaHeartbeat(address(number), epoch=self.newest[0])
            node.at(1, lambda n=node, p=peer, b=tick: n.controller.hear(key(number), b, p))

    def alter(self, node: Node) -> None:
        known = node.state.sets.get("brk")
        if known is None or known.master is None:
            return
        ids = frozenset(self.random.sample(IDS, self.random.randint(1, 3))) | {known.master}
        self.ask(
            node,
            lambda world: alter_sync_state_set(
                world,
                "brk",
                master=known.master,
                master_epoch=known.master_epoch,
                ids=ids,
                ids_epoch=known.sync_state_set_epoch,
            ),
        )

    def disturb(self) -> None:
        """Inject one fault."""
        node, number = self.random.choice(self.nodes), self.random.choice(IDS)
        pick = self.random.random()
        if pick < 0.15:
            self.alter(node)
        elif pick < 0.20:
            self.ask(node, lambda world: apply_broker_id(world, "CL", "brk", number, code(number)))
        elif pick < 0.30:
            node.controller.elect("brk", number, self.random.random() < 0.5, self.recorder(node))
        elif pick < 0.60:
            self.ask(node, lambda world: replica_info(world, "brk"))
        elif pick < 0.70:
            node.controller.connection_lost(node.connections.pop(number, None))
        elif pick < 0.74:
            self.down_until[number] = self.model.now + self.random.choice((2000, 20_000))
        elif pick < 0.76:
            node.is_cut_off = not node.is_cut_off
        elif pick < 0.78:
            node.stopped_until = self.model.now + self.random.choice((500, 3000, 6000, 15_000))
        elif pick < 0.80:
            node.is_dead = True
            self.nodes[node.number] = Node(self, node.number)
        elif pick < 0.82:
            self.model.lose_leader()
        elif pick < 0.85:
            self.trouble = self.random.choice((0.0, 0.02, 0.1))
        elif pick < 0.86:
            self.model.cut_off.clear()
        elif pick < 0.87 and self.ends_too_early:
            self.end_too_early()
        elif pick < 0.88:
            for one in self.nodes:
                one.is_cut_off = one.state.is_leader
        else:
            self.alter(next((one for one in self.nodes if one.state.is_leader), node))

    def end_too_early(self) -> None:
        """Let another controller lead while the first one believes that it does, and query all of them."""
        before = [one for one in self.nodes if one.state.is_leader]
        self.model.end_too_early()
        for node in self.nodes:
            if node not in before:
                node.at(1, node.state.tick)
        for _ in range(10):
            self.run(40)
            for node in self.nodes:
                if node not in before:
                    self.alter(node)
                self.ask(node, lambda world: replica_info(world, "brk"))

    def calm(self) -> None:
        self.trouble = 0.0
        self.model.cut_off.clear()
        for node in self.nodes:
            node.is_cut_off, node.stopped_until = False, 0
        self.down_until = dict.fromkeys(IDS, 0)
        self.run(60_000)

    def check_history(self) -> None:
        """Check that consecutive versions of the set differ by exactly one event."""
        versions = [BrokerSet.from_json("brk", loads(v)) for _, k, v in self.model.history if k == SET and v]
        for before, after in itertools.pairwise(versions):
            masters = after.master_epoch - before.master_epoch
            sets = after.sync_state_set_epoch - before.sync_state_set_epoch
            steps = (masters, sets)
            expected = {(0, 0), (0, 1)} if not masters else {(1, 0)} if after.master is None else {(1, 1)}
            assert steps in expected, steps
        assert len(versions) >= self.agreed, "what was agreed is not there"


@pytest.mark.parametrize("ends_too_early", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_one_leads_at_most_and_nothing_agreed_is_lost(seed: int, count: int, ends_too_early: bool) -> None:
    storm = Storm(seed, count, ends_too_early)
    storm.run(3000)
    leader = next(node for node in storm.nodes if node.state.is_leader)
    for number in IDS:
        storm.ask(leader, lambda world, n=number: apply_broker_id(world, "CL", "brk", n, code(n)))
        storm.run(200)
    leader.controller.elect("brk", 1, False, lambda _: None)
    for _ in range(STEPS):
        storm.disturb()
        storm.run(storm.random.choice((5, 50, 500)))
    storm.calm()
    leaders = [node for node in storm.nodes if node.state.is_leader]
    assert len(leaders) == 1
    found = storm.kept()
    assert found is not None and found == leaders[0].state.sets["brk"]
    assert found.master in found.sync_state_set
    assert len(storm.terms) > 5 and storm.agreed > 8
    storm.check_history()

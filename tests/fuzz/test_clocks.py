"""Name server, broker and clients whose wall clock leaps, drifts and stands still, both ways, by hours.

A seed chooses the changes of the clock. Meanwhile everything takes as long as docs/durability.md and the
settings say: syncs, checkpoints, offsets, registrations, heartbeats, locks, delays, timers, pops, transaction
checks. `MQGATEWAY_CLOCK_SEEDS` is the number of seeds.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.client.errors import Unreachable
from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.pop_consumption import FROM_MAX, Popper, PopRequest, PopStatus
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.client.subscriptions import subscription
from mqgateway.gateway.client.transactions import TransactionProducer
from tests.fuzz.world import STEP_SECONDS
from tests.support.gateway.client.cluster import Cluster, queue_of

SEEDS = int(os.environ.get("MQGATEWAY_CLOCK_SEEDS", "2"))
HOUR = 3_600_000
ROUNDS = 14
INVISIBLE_SECONDS = 10.0
SLACK_SECONDS = 4.0
"""Allowed delay after the due time: periodic tasks, slots of timers, a rebalance."""
TRANSACTION_SECONDS = 6.0
LEVELS = {1: 1.0, 2: 5.0, 3: 10.0}


class Listener:
    """A listener that notes the time of the first delivery of each message."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.times: dict[str, float] = {}

    def __call__(self, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        for message in messages:
            self.times.setdefault(message.body.decode(), self._cluster.net.seconds())
        return Consumed.SUCCESS


class Unsure:
    """A transaction listener that decides only when it is checked."""

    def execute(self, message: Message, argument: Any) -> TransactionState:
        return TransactionState.UNKNOWN

    def check(self, message: ReceivedMessage) -> TransactionState:
        return TransactionState.COMMIT


class Life:
    """A cluster, the messages sent in it, and a clock that is changed at random."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self.drift = 0
        self.acts: list[str] = []
        self.due: dict[str, tuple[float, float]] = {}
        self.popped: dict[bytes, float] = {}
        self.stored: list[tuple[float, int]] = []
        self.committed: list[float] = []
        cluster.make_topic("T")
        cluster.make_topic("P", 1)
        self.listener, self.ordered = Listener(cluster), Listener(cluster)
        self.producer = TransactionProducer("Asked", cluster.around, Unsure(), **cluster.settings({}))
        cluster.begin(self.producer)
        self.members = [self._consumer("G", self.listener), self._consumer("O", self.ordered)]
        self.popper = Popper(cluster.client(), "PG")
        self.popping: Deferred[Any] | None = None
        self.settle(3)

    def _consumer(self, group: str, listener: Listener) -> PushConsumer:
        given = self.cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
        is_ordered = group == "O"
        consumer = PushConsumer(group, self.cluster.around, listener, is_ordered=is_ordered, **given)
        self.cluster.run(consumer.subscribe("T", "*"))
        self.cluster.begin(consumer)
        return consumer

    # Time

    def settle(self, seconds: float) -> None:
        """Advance time; the wall clock drifts meanwhile, by a fixed number of ms a step."""
        for _ in range(round(seconds / STEP_SECONDS)):
            self.cluster.clock.ahead += self.drift
            self.cluster.settle(STEP_SECONDS)
            self.pop()
            self.look()

    def act(self) -> None:
        """Change the wall clock at random."""
        chance, clock = self.chance, self.cluster.clock
        act = chance.choice(("back", "forward", "back", "forward", "freeze", "drift", "go on"))
        self.drift = 0
        if act == "back":
            clock.ahead -= chance.choice((2000, 120_000, HOUR, chance.randrange(9 * HOUR)))
        elif act == "forward":
            clock.ahead += chance.choice((2000, HOUR, chance.randrange(9 * HOUR)))
        elif act == "freeze":
            self.drift = -round(STEP_SECONDS * 1000)
        elif act == "drift":
            self.drift = chance.randrange(-300, 300)
        self.acts.append(f"{act} {clock.ahead} {self.drift}")

    # Requests

    def send(self) -> None:
        """Send a message of each kind."""
        number = len(self.acts)
        now = self.cluster.net.seconds()
        for level, seconds in LEVELS.items():
            self._send(f"level {level} of {number}", seconds, delay_level=level)
        wait = self.chance.randrange(1, 20)
        self._send(f"timer of {number}", wait, delay_millis=wait * 1000)
        at = self.cluster.clock.millis() + wait * 1000
        self._send(f"time of {number}", wait, deliver_at=at)
        self._send(f"at once {number}", 0.0)
        name = f"open {number}"
        self.due[name] = now, TRANSACTION_SECONDS
        self.cluster.run(self.producer.send_in_transaction(Message("T", name)))
        self.cluster.run(self.producer.send(Message("P", str(number))))
        self.committed.append(now)
        self.cluster.broker.tables.offsets.commit("Committed", "T", 0, len(self.committed))
        self.stored.append((self.cluster.net.seconds(), self.cluster.broker.store.max_physical_offset))

    def _send(self, name: str, seconds: float, **how: int) -> None:
        self.due[name] = self.cluster.net.seconds(), seconds
        self.cluster.run(self.producer.send(Message("T", name, **how)))  # type: ignore[arg-type]

    def pop(self) -> None:
        """Keep a pop in flight; acknowledge messages at the second delivery, after their invisible time."""
        if self.popping is not None:
            return
        request = PopRequest(32, round(INVISIBLE_SECONDS * 1000), 1000, FROM_MAX)
        wanted = subscription("P", "*", 0)
        self.popping = Deferred.fromCoroutine(self.popper.pop(queue_of("P", -1), wanted, request))
        self.popping.addCallbacks(self._popped, lambda failure: failure.trap(Unreachable))  # at the end

    def _popped(self, found: tuple[PopStatus, list[ReceivedMessage]]) -> None:
        self.popping, now = None, self.cluster.net.seconds()
        for message in found[1]:
            first = self.popped.setdefault(message.body, now)
            if first != now:
                took = now - first
                assert took >= INVISIBLE_SECONDS - STEP_SECONDS, f"{message} is visible after {took} s"
                assert took <= INVISIBLE_SECONDS + 2 * SLACK_SECONDS, f"{message} came after {took} s"
                del self.popped[message.body]
                Deferred.fromCoroutine(self.popper.acknowledge(message, "P"))

    # Invariants

    def look(self) -> None:
        """Assert that nothing is late, and that no broker, member or lock is missing."""
        cluster, now = self.cluster, self.cluster.net.seconds()
        store = cluster.broker.store
        for listener in (self.listener, self.ordered):
            for name, (began, seconds) in self.due.items():
                received = listener.times.get(name)
                late = began + seconds + (2 * SLACK_SECONDS if name.startswith("open") else SLACK_SECONDS)
                assert received is not None or now <= late + self.asking(name), f"{name} is late, {self.acts}"
                assert received is None or received >= began + seconds - STEP_SECONDS, (
                    f"{name}: early, {self.acts}"
                )
        for received, first in list(self.popped.items()):
            late = first + INVISIBLE_SECONDS + 2 * SLACK_SECONDS
            assert now <= late, f"{received!r} stays invisible, {self.acts}"
        for sent, end in self.stored:
            assert now - sent <= 10.5 + STEP_SECONDS or store.flushed_offset >= end, "it is not synced"
        (live,) = cluster.namesrv.namesrv.tables.live.values()
        assert now * 1000 - live.last_update <= 31_000, f"the broker does not register, {self.acts}"
        groups = cluster.broker.clients.consumer_groups
        assert groups["G"].clients and groups["O"].clients, "a member was dropped"
        assert cluster.broker.clients.locks.any_live("O", round(now * 1000)), "locks are not renewed"
        self._look_at_file(now)

    def asking(self, name: str) -> float:
        """Return the seconds between two rounds of transaction checks; zero for other messages."""
        return self.cluster.broker_options.transaction_check_interval / 1000 if name.startswith("open") else 0

    def _look_at_file(self, now: float) -> None:
        """Assert that offsets are on the disk five seconds after their commit."""
        path, disk = "/store/config/consumerOffset.json", self.cluster.disk
        text = disk.open(path).read(0, 1 << 16).decode() if disk.exists(path) else "{}"
        offsets: dict[str, dict[int, int]] = loads(text.encode()).get("offsetTable") or {}
        noted = offsets.get("T@Committed", {}).get(0, 0)
        for number, when in enumerate(self.committed, 1):
            assert noted >= number or now - when <= 5.5 + STEP_SECONDS, "no offset is written"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_everything_takes_as_long_as_it_should(seed: int) -> None:
    with Cluster(transaction_check_interval=5000) as cluster:
        life = Life(cluster, seed)
        for _ in range(ROUNDS):
            life.act()
            life.send()
            life.settle(life.chance.randrange(2, 16))
        life.drift = 0
        life.settle(40)

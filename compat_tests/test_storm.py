"""Timers, transactions and popped messages under load, while the server is killed repeatedly.

Each part keeps a model of the answers: acknowledged actions take effect, exactly once where that is promised,
refused ones do not, and only actions without an answer may do either. MQGATEWAY_STORM_KILLS is the number of
kills. Only our server runs: Apache's delivers timers of its last second twice after a kill, and loses
acknowledgements of popped messages.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from random import Random

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import ClientError, PopClient, Received, message
from compat_tests.support.peers import IMPATIENT, Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME, Server
from compat_tests.test_timers import check_times, due_of, now, read_all, timed
from compat_tests.test_transactions import COMMIT, ROLLBACK, UNKNOWN

SETTINGS = {**IMPATIENT, "transactionCheckMax": "100", "recallMessageEnable": "true"}
ENOUGH = 60
"""Steps of each part between two kills."""
PAUSE_SECONDS = 0.2
"""Pause after a step that failed, as the server is down."""
LATE_MILLIS = 25_000
RECALLED_AHEAD = 4000
RECALL_MILLIS = 2000
"""A recall that was acknowledged this long before its message is due is in time."""
INVISIBLE = 5000
NEARLY = 1000
"""An acknowledgement this long (ms) before a message is visible again is in time."""
QUIET_SECONDS = 10
"""Longer than the invisible time and the delay of the redelivery."""
SETTLE_SECONDS = 120
"""Clients send heartbeats to a restarted server every 30 seconds, or only the second time."""


class Part:
    """A load that runs step after step all the time, also while the server is down."""

    def __init__(self, peer: Peer, what: str) -> None:
        self.peer = peer
        self.topic = peer.topic(what)
        self.random = Random(what)
        self.steps = 0
        self.unsure: set[str] = set()
        """Bodies of sends without an answer, which the server may have stored."""
        self.failure: BaseException | None = None

    def body(self) -> str:
        """Return a unique body."""
        return f"{self.topic}-{self.steps}-{self.random.randrange(1 << 30)}"

    def step(self) -> None:
        """Do one step. Raises `ClientError` when the server does not answer."""
        raise NotImplementedError

    def arrived(self) -> set[str]:
        """Return the bodies that the topic has."""
        return {one.body for one in read_all(self.peer, self.topic)}

    def run(self, over: threading.Event) -> None:
        """Do steps until `over` is set."""
        try:
            while not over.is_set():
                try:
                    self.step()
                    self.steps += 1
                except ClientError:
                    time.sleep(PAUSE_SECONDS)
        except BaseException as failure:
            self.failure = failure
            raise


class Timers(Part):
    """Messages with timers, of which some are recalled."""

    def __init__(self, peer: Peer, open_: ExitStack) -> None:
        super().__init__(peer, "storm_timers")
        self.producer = open_.enter_context(peer.producer(retries=0))
        self.set: set[str] = set()
        self.recalled: set[str] = set()

    def step(self) -> None:
        shape = timed(self.topic, now() + self.random.randrange(500, 9000), body=self.body())
        body = str(shape["body"])
        due = due_of(body)
        self.unsure.add(body)
        [sent] = self.producer.send([shape])
        if due > now() + RECALLED_AHEAD and self.random.random() < 0.4:
            self.producer.recall(self.topic, str(sent.recall_handle))
            if now() > due - RECALL_MILLIS:
                return  # on a busy machine the server may have delivered before it read the request
            self.recalled.add(body)
        else:
            self.set.add(body)
        self.unsure.remove(body)

    def check(self) -> None:
        """Check that each message came once and not early, and recalled ones did not come."""
        every = self.set | self.recalled | self.unsure
        time.sleep(max(0, max(map(due_of, every)) - now()) / 1000 + 4)
        wait_until(lambda: self.set <= self.arrived(), SETTLE_SECONDS, "all timers arrive", 1)
        found = read_all(self.peer, self.topic)
        check_times(found, LATE_MILLIS)
        bodies = {one.body for one in found}
        assert not bodies & self.recalled
        assert bodies <= self.set | self.unsure


class Transactions(Part):
    """Half messages that are ended at once, or when the server checks them."""

    def __init__(self, peer: Peer, open_: ExitStack) -> None:
        super().__init__(peer, "storm_transactions")
        self.producer = open_.enter_context(peer.transactions(self.topic))
        self.committed: set[str] = set()

    def step(self) -> None:
        body, decision = self.body(), self.random.choice((COMMIT, ROLLBACK))
        self.producer.decide([body], decision)
        if decision == COMMIT:
            self.unsure.add(body)
        self.producer.send([message(self.topic, body)], self.random.choice((decision, UNKNOWN)))
        if decision == COMMIT:
            self.unsure.remove(body)
            self.committed.add(body)

    def check(self) -> None:
        """Check that all committed messages come, and no others."""
        wait_until(lambda: self.committed <= self.arrived(), SETTLE_SECONDS, "all commits arrive", 1)
        assert self.arrived() <= self.committed | self.unsure


class Pops(Part):
    """Messages that are sent, popped, and acknowledged more often than not."""

    def __init__(self, peer: Peer, address: str, open_: ExitStack) -> None:
        super().__init__(peer, "storm_pops")
        self.producer = open_.enter_context(peer.producer(retries=0))
        group = peer.name("storm_poppers")
        self.client: PopClient = open_.enter_context(PopClient(peer.driver, BROKER_NAME, address, group))
        self.sent: set[str] = set()
        self.gone: set[str] = set()
        self.maybe_gone: set[str] = set()
        self.hidden_until: dict[str, int] = {}

    def step(self) -> None:
        for _ in range(2):
            body = self.body()
            self.unsure.add(body)
            self.producer.send([message(self.topic, body)])
            self.unsure.remove(body)
            self.sent.add(body)
        for one in self.pop(0):
            if self.random.random() < 0.7:
                self.acknowledge(one)

    def pop(self, poll: int) -> list[Received]:
        """Return the popped messages; check that none is acknowledged or still invisible."""
        popped = self.client.pop(self.topic, invisible=INVISIBLE, poll=poll)
        for one in popped.messages:
            assert one.body not in self.gone, f"acknowledged, and given out again: {one}"
            assert popped.pop_time >= self.hidden_until.get(one.body, 0), f"given out to two: {one}"
            self.hidden_until[one.body] = popped.pop_time + INVISIBLE
        return popped.messages

    def acknowledge(self, one: Received) -> None:
        self.maybe_gone.add(one.body)
        answer = self.client.ack(one)
        if answer == "OK" and now() < self.hidden_until[one.body] - NEARLY:
            self.gone.add(one.body)

    def check(self) -> None:
        """Check that every message without acknowledgement is redelivered after its time, and no others."""
        end = time.monotonic() + SETTLE_SECONDS
        quiet_since = time.monotonic()
        while not self.sent <= self.maybe_gone or time.monotonic() < quiet_since + QUIET_SECONDS:
            assert time.monotonic() < end, f"never came: {sorted(self.sent - self.maybe_gone)[:5]}"
            for one in self.pop(1000):
                self.acknowledge(one)
                quiet_since = time.monotonic()
        assert self.hidden_until.keys() <= self.sent | self.unsure


@pytest.mark.overlap
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [int(os.environ.get("MQGATEWAY_STORM_KILLS", "2"))])
def test_a_storm_that_the_server_is_killed_in(kills: int, peers: Peers) -> None:
    """Acknowledged actions are neither lost nor repeated; recalled and rolled back ones do not happen."""
    with peers.fresh("ours", SETTINGS) as server, ExitStack() as open_:
        peer = peers.with_server(server, CURRENT)
        open_.callback(peer.close)
        timers, transactions = Timers(peer, open_), Transactions(peer, open_)
        pops = Pops(peer, server.broker_address, open_)
        storm(server, [timers, transactions, pops], kills)
        together([timers.check, transactions.check, pops.check])


def storm(server: Server, parts: list[Part], kills: int) -> None:
    """Run all parts while the server is killed and restarted."""
    over = threading.Event()
    threads = [threading.Thread(target=part.run, args=(over,), name=part.topic) for part in parts]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            targets = [part.steps + ENOUGH for part in parts]
            wait_until(partial(has_come, parts, targets), SETTLE_SECONDS, "the storm goes on")
            server.kill9()
            server.start()
        targets = [part.steps + ENOUGH // 4 for part in parts]
        wait_until(lambda: has_come(parts, targets), SETTLE_SECONDS, "the storm goes on")
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    for part in parts:
        assert part.failure is None, part.failure


def has_come(parts: list[Part], targets: list[int]) -> bool:
    """Return True if each part has done its steps, or one has failed."""
    return any(part.failure for part in parts) or all(
        part.steps >= target for part, target in zip(parts, targets, strict=True)
    )


def together(checks: list[Callable[[], None]]) -> None:
    """Run all checks concurrently: they mostly wait."""
    failures: list[BaseException] = []

    def run(check: Callable[[], None]) -> None:
        try:
            check()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(check,)) for check in checks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure

"""A group whose slave acts, through whatever a seed brings: nothing is lost, and nothing comes early.

The master dies or leaves and comes back, the other broker goes away and comes back, and all the time messages
are sent: plain ones, with delay levels, with timers. ``MQGATEWAY_ACTING_SEEDS`` (1) is how many seeds run.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.record import decode
from tests.support.gateway.broker.acting import ASYNC, Scene
from tests.support.gateway.broker.group import Member

pytestmark = pytest.mark.usefixtures("short_wheel")

SEEDS = int(os.environ.get("MQGATEWAY_ACTING_SEEDS", "1"))
STEPS = 12
DELAYS = {1: 1000, 2: 5000, 3: 10_000, 4: 30_000}
"""Delay levels and their ms."""
SETTLE_SECONDS = 90


class History:
    """One seed. `due` is when each message that was taken may come (ms)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.scene = Scene()
        self.due: dict[bytes, int] = {}
        self.events: list[str] = []
        self.is_up = {"master": True, "other": True}
        self.changes = 0

    def run(self) -> None:
        """Run some steps, and then all brokers for a while."""
        for _ in range(STEPS):
            if self.is_up["master"]:
                self.send(self.random.randrange(6))
            if self.random.random() < 0.4:
                self.change()
            self.wait(self.random.choice((0.3, 2, 7, 20)))
        for name in ("master", "other"):
            if not self.is_up[name]:
                self.turn(name)
        self.wait(SETTLE_SECONDS)

    def wait(self, seconds: float) -> None:
        self.events.append(f"{seconds} s")
        self.scene.group.wait(seconds)

    def change(self) -> None:
        """The master, or more seldom the other broker, goes or comes back."""
        self.turn(self.random.choice(("master", "master", "other")))

    def turn(self, name: str) -> None:
        """One that was there goes, one that was gone comes back."""
        self.changes += 1
        member: Member = getattr(self.scene, name)
        if not self.is_up[name]:
            member.begin(ASYNC, 0)
        elif self.random.random() < 0.5:
            member.kill()
        else:
            member.stop()
        self.is_up[name] = not self.is_up[name]
        self.events.append(f"{name} {'up' if self.is_up[name] else 'down'}")

    def send(self, count: int) -> None:
        for _ in range(count):
            body = b"%d" % len(self.due)
            now = self.scene.group.clock.millis()
            kind = self.random.choice(("plain", "level", "timer"))
            due, properties = now, {}
            if kind == "level":
                level = self.random.choice(list(DELAYS))
                due, properties = now + DELAYS[level], {"DELAY": str(level)}
            elif kind == "timer":
                due = now + self.random.randrange(1000, 40_000)
                properties = {"TIMER_DELIVER_MS": str(due)}
            assert self.scene.send(body, **properties) == 0
            self.due[body] = due
            self.events.append(f"{kind} {body.decode()}")

    def delivered(self) -> list[StoredMessage]:
        """All messages of both groups."""
        found = []
        for member in (self.scene.master, self.scene.other):
            store = member.store
            units = store.consume_queue_units("T", 0, store.min_offset("T", 0), 100_000)
            found += [decode(store.record_at(unit[0])) for unit in units]
        return found

    def check(self) -> None:
        found = self.delivered()
        counts = Counter(one.body for one in found)
        assert counts.keys() == self.due.keys(), sorted(self.due.keys() - counts.keys())
        early = [one.body for one in found if one.store_timestamp < self.due[one.body]]
        assert not early
        # One of each service may be in flight in the moment of a change.
        twice = sum(counts.values()) - len(counts)
        assert twice <= 2 * self.changes, counts.most_common(5)
        assert self.scene.master.log() == self.scene.slave.log()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_lost_and_nothing_comes_early(seed: int) -> None:
    history = History(seed)
    try:
        history.run()
        history.check()
    except BaseException:
        print(f"seed {seed}: " + ", ".join(history.events))
        raise

"""Offsets of consumer groups over three broker groups through seeded histories of stops, kills and
fail-overs.

Each consumer group commits numbers that grow, and a transaction commits one number in two groups with
different coordinators. At the end every group has the last number whose commit was answered, or a later one
whose answer did not come; both groups of the transactions have the same.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.gateway.kafka.test_peer_offsets import NODES, Producer
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.coordinated import (
    GROUP_KEYS,
    TRANSACTION_KEYS,
    commit,
    committed,
    coordinators,
)
from tests.support.gateway.kafka.requests import batch_of_values, produce_request, produced

NAMES = ("a", "b", "c")
TRANSACTIONAL_ID = "t"
STEPS = 40
PARTITIONS = 3
SEEDS = (1, 2, 3, 4)


class History:
    """One history. `masters` has the running master of each broker group."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = KafkaCluster(NAMES)
        self.topic = self.cluster.make_spread("b", partitions=PARTITIONS)
        for partition, name in enumerate("bca"):
            values = [b"x"] * STEPS
            data = batch_of_values(*values, now=self.cluster.world.clock.millis())
            request = produce_request(self.topic, data, partition=partition)
            assert produced(self.cluster.client(name), request).error_code == 0
        self.masters = {name: name for name in NAMES}
        self.plain = [self.cluster.key_at(name, word) for name in NAMES for word in ("one", "two")]
        self.atomic = [self.cluster.key_at(name, "both") for name in ("b", "c")]
        self.number = 0
        self.answered = dict.fromkeys((*self.plain, *self.atomic), -1)
        self.doubtful: dict[str, set[int]] = {name: set() for name in self.answered}
        self.producer: Producer | None = None
        self.counts = dict.fromkeys(("commit", "transaction", "stop", "fail over", "refused"), 0)

    def play(self, steps: int) -> None:
        """Do so many steps, have all broker groups up again, and check what is committed."""
        for _ in range(steps):
            kinds = (self.commit, self.transaction, self.disturb)
            self.random.choices(kinds, weights=(5, 2, 2))[0]()
            self.cluster.wait(self.random.choice((0.2, 1, 3)))
        for name in NAMES:
            if name not in self.masters:
                self.restart(name)
        self.cluster.wait(60)
        self.check()

    def coordinator(self, key: str, kind: int = GROUP_KEYS) -> str:
        """Return the master that coordinates a key, as any running one answers; empty for none.

        A client that reaches none asks again later.
        """
        at = self.random.choice(list(self.masters.values()))
        error, node = coordinators(self.cluster, at, [key], kind)[key]
        name = "" if error else NODES[node]
        return self.masters.get(name, "")

    def commit(self) -> None:
        """Commit the next number in a consumer group, in every partition."""
        self.number += 1
        group = self.random.choice(self.plain)
        at = self.coordinator(group)
        codes = [-1]
        if at:
            cluster, topic, number = self.cluster, self.topic, self.number
            codes = [commit(cluster, at, group, topic, number, one) for one in range(PARTITIONS)]
        self.note([group], codes, "commit")

    def transaction(self) -> None:
        """Commit the next number in two consumer groups with one transaction."""
        self.number += 1
        places = [self.coordinator(group) for group in self.atomic]
        coordinator = self.coordinator(TRANSACTIONAL_ID, TRANSACTION_KEYS)
        if not all(places) or not coordinator:
            self.counts["refused"] += 1
            return
        if self.producer is None or self.producer.at != coordinator:
            self.cluster.wait(2)
            self.producer = Producer(self.cluster, TRANSACTIONAL_ID, coordinator)
        pairs = zip(places, self.atomic, strict=True)
        codes = [self.producer.commit(at, group, self.topic, self.number) for at, group in pairs]
        if not any(codes):
            codes = [self.producer.end()]
            self.note(self.atomic, codes, "transaction")
        if any(codes):
            self.producer = None

    def note(self, groups: list[str], codes: list[int], kind: str) -> None:
        """Note the answer to a commit."""
        for group in groups:
            if any(codes):
                self.doubtful[group].add(self.number)
            else:
                self.answered[group] = self.number
        self.counts["refused" if any(codes) else kind] += 1

    def disturb(self) -> None:
        """Stop, kill or replace the master of a broker group, or restart one that is down."""
        down = [name for name in NAMES if name not in self.masters]
        if down:
            self.restart(down[0])
            return
        name = self.random.choice(NAMES)
        if self.masters[name] == name and not (self.counts["fail over"] and self.random.random() < 0.7):
            self.fail_over(name)
            return
        called = self.masters.pop(name)
        if self.random.random() < 0.5:
            self.cluster.stop(called)
        else:
            self.cluster.kill(called)
        self.down = called
        self.counts["stop"] += 1

    def restart(self, name: str) -> None:
        """Start the master of a broker group again."""
        self.cluster.restart(self.down)
        self.masters[name] = self.down

    def fail_over(self, name: str) -> None:
        """Replace the master of a broker group by a slave that has copied it."""
        slave = self.cluster.start_slave(name)
        self.cluster.wait(60)
        for called in (name, slave):
            self.cluster.stop(called)
        self.cluster.restart(slave)
        self.masters[name] = slave
        self.cluster.wait(5)
        self.counts["fail over"] += 1

    def check(self) -> None:
        """Check that no answered commit is lost, and that transactions are whole."""
        for group, answered in self.answered.items():
            at = self.coordinator(group)
            assert at
            partitions = 1 if group in self.atomic else PARTITIONS
            for partition in range(partitions):
                error, offset = committed(self.cluster, at, group, self.topic, partition)
                allowed = {answered, *(one for one in self.doubtful[group] if one > answered)}
                assert (error, offset in allowed) == (0, True), (group, partition, offset, allowed)
        [one, other] = [
            committed(self.cluster, self.coordinator(group), group, self.topic) for group in self.atomic
        ]
        assert one == other


@pytest.mark.parametrize("seed", SEEDS)
def test_answered_commits_survive_stops_kills_and_fail_overs(seed: int) -> None:
    history = History(seed)
    history.play(STEPS)
    assert all(history.counts.values()), history.counts

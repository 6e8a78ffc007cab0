"""A generated history of a group: crashes, power cuts, pauses, partitions, lost and doubled messages, clocks
that drift, disks that sync late. The invariants are checked all the time; at the end everything heals."""

from __future__ import annotations

from collections import Counter

from mqgateway.engine.raft.messages import Code, LeadershipTransfer
from mqgateway.engine.raft.settings import RaftRules
from tests.support.engine.raft.group import Group, with_crc

HASTY = {
    "heart_beat_interval": 200,
    "vote_interval_min": 30,
    "vote_interval_max": 100,
    "vote_wait": 200,
    "push_timeout": 100,
    "request_timeout": 300,
    "push_pause": 50,
    "commit_interval": 100,
    "transfer_wait": 100,
    "preferred_interval": 100,
    "ack_timeout": 250,
}
"""Timeouts at a tenth of their defaults, so that more happens."""


class History:
    """One seed is one history; two in three have short timeouts. With `files` the logs are on disks."""

    def __init__(
        self, seed: int, count: int, rules: RaftRules | None = None, power: bool = True, files: bool = False
    ) -> None:
        self._is_hasty = seed // 3 % 3 != 0
        times = HASTY if self._is_hasty else {}
        self.group = group = Group(count, seed, rules, files, batch_push=bool(seed % 2), **times)
        self._random = group.random
        self._power = power
        self.faults = Counter[str]()
        self.number = 0
        self._tokens: list[object] = []
        group.delays = (1, 40)
        group.lost, group.doubled = 0.02, 0.05
        group.sync_chance = 0.3
        for node in group.nodes.values():
            node.clock_rate = self._random.uniform(0.8, 1.25)
            node.clock_start = self._random.randrange(1_000_000)

    def run(self, steps: int) -> None:
        """Play `steps` faults, then heal; raises AssertionError for a violated invariant."""
        group = self.group
        for _ in range(steps):
            self._fault()
            until = group.now + self._random.choice(
                (20, 100, 400, 900) if self._is_hasty else (200, 1000, 4000, 9000)
            )
            while group.now < until:
                if self._random.random() < 0.3:
                    self._append()
                group.run(self._random.choice((10, 10, 50) if self._is_hasty else (10, 50, 300)))
            assert not group.lost_committed, group.lost_committed[0]
        group.check()
        self._heal()

    def _append(self) -> None:
        up = [node.id for node in self.group.nodes.values() if node.member is not None]
        leader = self.group.leader_id
        for one in {leader, self._random.choice(up)} - {""} if up else ():
            if self.group.nodes[one].paused_until <= self.group.now:
                self.number += 1
                self._tokens.append(self.group.append(one, with_crc(b"message %d" % self.number)))

    def _fault(self) -> None:
        group, random = self.group, self._random
        nodes = list(group.nodes.values())
        down = [node.id for node in nodes if node.member is None]
        one = group.leader_id if group.leader_id and random.random() < 0.5 else random.choice(nodes).id
        kind = random.choice(
            ("crash", "crash", "start", "start", "isolate", "split", "heal", "pause", "transfer", "slow")
        )
        if kind == "crash" and group.nodes[one].member is not None and len(down) < self._down_max():
            power = self._power and random.random() < 0.5
            group.crash(one, power)
            kind = "power cut" if power else "crash"
        elif kind == "start" and down:
            group.start(random.choice(down))
        elif kind == "isolate":
            group.isolate(one)
        elif kind == "split":
            left = {node.id for node in nodes if random.random() < 0.5}
            group.apart = {frozenset((a, b)) for a in left for b in group.nodes if b not in left}
        elif kind == "heal":
            group.heal()
        elif kind == "pause":
            longest = 900 if self._is_hasty else 9000
            group.nodes[one].paused_until = group.now + random.randrange(longest // 20, longest)
        elif kind == "transfer" and group.nodes[one].member is not None:
            other = random.choice(nodes).id
            group.request(one, LeadershipTransfer(one, other, group.member(one).term))
        elif kind == "slow":
            group.delays = random.choice(
                ((1, 5), (1, 5), (1, 40), (30, 300))
                if self._is_hasty
                else ((1, 5), (1, 40), (1, 400), (500, 4000))
            )
        else:
            return
        self.faults[kind] += 1

    def _down_max(self) -> int:
        """Return how many members may be down: mostly a majority stays up."""
        count = len(self.group.nodes)
        return count - 1 if self._random.random() < 0.1 else (count - 1) // 2

    def _heal(self) -> None:
        group = self.group
        group.heal()
        group.delays, group.lost, group.doubled, group.sync_chance = (1, 5), 0.0, 0.0, 1.0
        for node in group.nodes.values():
            node.paused_until = 0
            node.clock_rate, node.clock_start = 1.0, max(0, node.clock_start) + group.now
            if node.member is None:
                group.start(node.id)
        group.elect()
        last = self._last()
        group.run(20_000)
        group.check()
        assert group.answers[last].code is Code.SUCCESS
        ends = {node.log.end_index for node in group.nodes.values()}
        assert {node.log.committed_index for node in group.nodes.values()} == ends, ends
        bodies = [node.log.entries(0, 1 << 40) for node in group.nodes.values()]
        assert all(one == bodies[0] for one in bodies)
        assert group.acknowledged.items() <= {entry.index: entry.body for entry in bodies[0]}.items()

    def _last(self) -> object:
        """Append until an entry is accepted by a leader that is no longer deposed, and return its token."""
        for _ in range(100):
            self.group.elect()
            token = self.group.append(self.group.leader_id, with_crc(b"last"))
            self.group.run(3000)
            if self.group.answers[token].code is Code.SUCCESS:
                return token
        raise AssertionError("nothing is taken in the end")

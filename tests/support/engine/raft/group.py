"""A group of members in memory: a network with delays, losses and partitions, disks that sync late, clocks
that drift, all moved by hand. The invariants of every history are checked as it proceeds.

    group = Group(3)
    group.run(10_000)
    group.append(group.leader_id, b"one")
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from zlib import crc32

from mqgateway.engine.raft.effects import RaftReply, Send
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.log import Entry, RaftLog
from mqgateway.engine.raft.member import TICK, RaftMember
from mqgateway.engine.raft.messages import AppendAnswer, Code, Request
from mqgateway.engine.raft.quorum import AppendRefused
from mqgateway.engine.raft.settings import MemberSettings, RaftRules
from mqgateway.engine.raft.state import RaftRole
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.raft_log import MemoryRaftLog

FILE_SIZE = 1500
INDEX_FILE_SIZE = 320
FOLDER = "/store/dledger"


def _disk() -> CrashDisk:
    """Return a disk on which the store's folder already exists."""
    disk = CrashDisk()
    disk.makedirs("/store")
    disk.sync_dir("/")
    return disk


def with_crc(body: bytes) -> bytes:
    """Return a body with a checksum, which detects a torn one, as that of a message's record does."""
    return crc32(body).to_bytes(4, "big") + body


def is_whole(body: bytes, _position: int) -> bool:
    """Return True if a body is complete; the entry by which a leader opens its term has an empty
    one."""
    return not body or body == with_crc(body[4:])


@dataclass
class Node:
    """One machine with its disk: `member` is None while it is down. It does nothing until `paused_until`."""

    id: str
    settings: MemberSettings
    log: RaftLog
    disk: CrashDisk | None = None
    clock_rate: float = 1.0
    clock_start: int = 0
    member: RaftMember | None = None
    paused_until: int = 0
    syncs: bool = True
    life: int = 0
    roles: list[tuple[int, RaftRole]] = field(default_factory=list)


class Group:
    """`seed` decides everything that is random. With `files` the logs are on disks that lose power; bodies
    must then be `with_crc`."""

    def __init__(
        self, count: int, seed: int = 0, rules: RaftRules | None = None, files: bool = False, **settings: Any
    ) -> None:
        self.random = Random(seed)
        self.now = 0
        peers = {f"n{number}": f"127.0.0.1:{40911 + number}" for number in range(count)}
        common = MemberSettings("group", "n0", peers, rules=rules or RaftRules(), **settings)
        self.nodes = {
            one: Node(one, replace(common, self_id=one), MemoryRaftLog(FILE_SIZE), _disk() if files else None)
            for one in peers
        }
        self.apart: set[frozenset[str]] = set()
        """Pairs of members that cannot reach each other."""
        self.delays = (1, 5)
        self.lost = self.doubled = 0.0
        """Probabilities that a message does not arrive, and that it arrives twice."""
        self.sync_chance = 1.0
        """Probability that a disk has synced everything within a tick."""
        self.sent: list[tuple[str, str, Request]] = []
        self.answers: dict[object, Any] = {}
        self.acknowledged: dict[int, bytes] = {}
        self.committed: dict[int, Entry] = {}
        """Entries that any member had as committed."""
        self.leaders: dict[int, set[tuple[str, int]]] = {}
        self.lost_committed: list[str] = []
        """Violated invariants; empty in a sound history."""
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        for one in peers:
            self.start(one)

    # API for tests.

    def start(self, one: str) -> None:
        """Start a member that is down, with the content of its disk."""
        node = self.nodes[one]
        node.life += 1
        if node.disk is not None:
            node.log = FileLog(node.disk, FOLDER, FILE_SIZE, INDEX_FILE_SIZE, is_whole)
        node.member = RaftMember(node.settings, node.log, Random(self.random.random()))
        node.roles.clear()
        node.member.on_role = lambda: self._role_changed(node)

    def crash(self, one: str, power: bool = False) -> None:
        """End a member's process; with `power` its disk keeps only synced data."""
        node = self.nodes[one]
        node.member = None
        node.paused_until = 0
        if node.disk is not None:
            node.disk = node.disk.crash(self.random.randrange(1 << 30)) if power else node.disk.kill()
            return
        log = self.memory_log(one)
        if power:
            log.power_cut()
        log.committed_index = max(log.begin_index - 1, min(log.committed_index, log.end_index) - 2)

    def memory_log(self, one: str) -> MemoryRaftLog:
        """Return a member's log, in a group without files."""
        log = self.nodes[one].log
        assert isinstance(log, MemoryRaftLog)
        return log

    def isolate(self, one: str) -> None:
        """Cut a member off from all others."""
        self.apart |= {frozenset((one, other)) for other in self.nodes if other != one}

    def heal(self) -> None:
        """Reconnect all members."""
        self.apart.clear()

    def member(self, one: str) -> RaftMember:
        """Return a member that is up."""
        member = self.nodes[one].member
        assert member is not None
        return member

    @property
    def leader_id(self) -> str:
        """The leader of the newest term; "" without one."""
        leading = [
            (node.member.term, node.id)
            for node in self.nodes.values()
            if node.member is not None and node.member.role is RaftRole.LEADER
        ]
        return max(leading, default=(0, ""))[1]

    def append(self, one: str, body: bytes) -> object:
        """Append at a member and return a token, under which `answers` has the outcome."""
        node, token = self.nodes[one], object()
        assert node.member is not None
        try:
            node.member.append(body, (None, token), self.local_time(node))
        except AppendRefused as refused:
            self.answers[token] = AppendAnswer(refused.code)
        else:
            node.member.push(self.local_time(node))
        self._carry_out(node)
        return token

    def request(self, one: str, request: Request) -> object:
        """Pass a request to a member and return a token; see `append`."""
        node, token = self.nodes[one], object()
        assert node.member is not None
        node.member.receive(request, (None, token), self.local_time(node))
        self._carry_out(node)
        return token

    def run(self, millis: int, until: Callable[[], bool] | None = None) -> bool:
        """Advance the time by `millis`, or until `until` returns True; return True in the second case."""
        end = self.now + millis
        while self.now < end:
            if until is not None and until():
                return True
            self._step()
        return until is not None and until()

    def elect(self) -> str:
        """Advance the time until a majority follows a leader, and return its id."""

        def is_settled() -> bool:
            leader = self.leader_id
            followers = [
                node
                for node in self.nodes.values()
                if node.member is not None and leader and node.member.leader == leader
            ]
            return 2 * len(followers) > len(self.nodes)

        assert self.run(120_000, is_settled)
        return self.leader_id

    # Implementation.

    def local_time(self, node: Node) -> int:
        """Return the time by a machine's own clock."""
        return int(self.now * node.clock_rate) + node.clock_start

    def _step(self) -> None:
        self.now += TICK
        while self._events and self._events[0][0] <= self.now:
            heapq.heappop(self._events)[2]()
        for node in self.nodes.values():
            if node.member is None or node.paused_until > self.now:
                continue
            if node.syncs and self.random.random() < self.sync_chance:
                self._sync(node)
            node.member.tick(self.local_time(node))
            self._carry_out(node)
            self._note_committed(node)

    def _sync(self, node: Node) -> None:
        assert node.member is not None
        work = node.log.unsynced()
        if work is not None:
            work.sync()
            node.log.note_synced(work)
            node.member.synced(self.local_time(node))
        if node.disk is not None and self.random.random() < 0.05:
            node.log.save_progress()

    def _later(self, millis: int, call: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.now + millis, self._count, call))

    def _carry_out(self, node: Node) -> None:
        assert node.member is not None
        for effect in node.member.take():
            if isinstance(effect, Send):
                self._send(node, effect)
            else:
                self._reply(node, effect)

    def _send(self, node: Node, effect: Send) -> None:
        life = node.life
        self.sent.append((node.id, effect.peer, effect.request))
        is_answered = False

        def answered(answer: Any) -> None:
            nonlocal is_answered
            if not is_answered and node.member is not None and node.life == life:
                is_answered = True
                effect.answered(answer, self.local_time(node))
                self._carry_out(node)

        def arrive() -> None:
            self._arrive(node.id, effect.peer, effect.request, answered)

        self._later(node.settings.request_timeout, lambda: answered(None))
        for _ in range(1 + (self.random.random() < self.doubled)):
            self._travel(node.id, effect.peer, arrive)

    def _travel(self, sender: str, receiver: str, arrive: Callable[[], None]) -> None:
        if self.random.random() < self.lost:
            return

        def at_end() -> None:
            if frozenset((sender, receiver)) in self.apart:
                return
            node = self.nodes[receiver]
            if node.paused_until > self.now:
                self._later(node.paused_until - self.now, at_end)
            elif node.member is not None:
                arrive()

        self._later(self.random.randint(*self.delays), at_end)

    def _arrive(self, sender: str, receiver: str, request: Request, on_answer: Callable[[Any], None]) -> None:
        node = self.nodes[receiver]
        assert node.member is not None
        node.member.receive(request, (sender, on_answer), self.local_time(node))
        self._carry_out(node)

    def _reply(self, node: Node, effect: RaftReply) -> None:
        sender, on_answer = effect.token  # type: ignore[misc]
        if sender is not None:
            self._travel(node.id, sender, lambda: on_answer(effect.answer))
            return
        self.answers[on_answer] = effect.answer
        if isinstance(effect.answer, AppendAnswer) and effect.answer.code is Code.SUCCESS:
            entry = node.log.entry(effect.answer.index)
            assert entry is not None
            self.acknowledged[entry.index] = entry.body

    # Invariants.

    def _role_changed(self, node: Node) -> None:
        assert node.member is not None
        member = node.member
        node.roles.append((member.term, member.role))
        if member.role is not RaftRole.LEADER:
            return
        leaders = self.leaders.setdefault(member.term, set())
        leaders.add((node.id, node.life))
        if len({one for one, _ in leaders}) > 1:
            self.lost_committed.append(f"term {member.term} has the leaders {leaders}")
        for entry in self.committed.values():
            if entry.term < member.term and node.log.entry(entry.index) != entry:
                self.lost_committed.append(
                    f"{node.id} leads in term {member.term} without the committed {entry.index}"
                )

    def _note_committed(self, node: Node) -> None:
        index = node.log.committed_index
        while index >= node.log.begin_index and index not in self.committed:
            entry = node.log.entry(index)
            assert entry is not None
            self.committed[index] = entry
            index -= 1
        last = node.log.entry(node.log.committed_index)
        if last is not None and self.committed[last.index] != last:
            self.lost_committed.append(f"{node.id} has another entry {last.index} committed")

    def check(self) -> None:
        """Compare all logs: entries of one index and term are equal, and so are all before them; no
        acknowledged or committed entry was lost."""
        seen: dict[tuple[int, int], tuple[Entry, int]] = {}
        for node in self.nodes.values():
            before = -1
            for index in range(node.log.begin_index, node.log.end_index + 1):
                entry = node.log.entry(index)
                assert entry is not None and entry.term >= before
                if index > node.log.begin_index:
                    known = seen.setdefault((index, entry.term), (entry, before))
                    assert known == (entry, before), f"{node.id}: {entry} is not {known}"
                before = entry.term
        assert not self.lost_committed, self.lost_committed[0]
        for index, body in self.acknowledged.items():
            assert self.committed[index].body == body


def bodies(group: Group, one: str) -> list[bytes]:
    """Return the bodies in a member's log."""
    log = group.nodes[one].log
    return [entry.body for entry in log.entries(log.begin_index, 1 << 30)]

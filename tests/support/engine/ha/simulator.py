"""A group of three brokers over a faulty network and faulty disks, driven by a seed.

The store is the real one, on a disk that loses power, and so are the rules of replication; the network
between brokers is bytes in pipes. Connections are delayed, disconnected, and hang unnoticed by one side or
both. Brokers die, with or without a power cut, and restart on what their disk has left. Sometimes the master
is abandoned and the slave with the longest log takes its place, as an operator would do it. A store whose log
diverged from the new master's is removed and copied again.

The invariants (`check`): messages acknowledged under the setting can be read from the current master; any two
logs are equal byte for byte in their common range; an offset that a slave adopted never exceeds its messages,
and never goes back unless the master's did.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import StoreError
from mqgateway.engine.ha.adoption import OffsetAdoption
from mqgateway.engine.ha.feed import Feed
from mqgateway.engine.ha.follow import Follow
from mqgateway.engine.ha.frames import StreamBroken, encode_header
from mqgateway.engine.ha.log_prefix import Masters, Own, where_to_begin, why_not
from mqgateway.engine.ha.replicas import Replicas
from mqgateway.engine.message import Message
from mqgateway.engine.options import BrokerRole, FlushDiskType, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import BORN, GIB, HOST, options

NODES = 3
FILE_SIZE = 4096
WINDOW = 16 * 1024
"""Maximum number of bytes in flight in one direction."""
RETRY_MILLIS = 5000
DELAY_MILLIS = 200
OFFSETS_MILLIS = 3000
PACES = (0.02, 0.2, 0.9)


class Pipe:
    """Bytes in flight in one direction."""

    def __init__(self) -> None:
        self.parts: deque[tuple[int, bytes]] = deque()

    @property
    def size(self) -> int:
        return sum(len(data) for _, data in self.parts)

    def put(self, due: int, data: bytes) -> None:
        self.parts.append((max(due, self.parts[-1][0] if self.parts else 0), data))

    def take(self, now: int) -> bytes:
        found = []
        while self.parts and self.parts[0][0] <= now:
            found.append(self.parts.popleft()[1])
        return b"".join(found)


class Link:
    """One connection of a slave. Either side may still consider it open."""

    def __init__(self, feed: Feed, follow: Follow) -> None:
        self.feed, self.follow = feed, follow
        self.up, self.down = Pipe(), Pipe()
        self.slave_open = self.master_open = True


class Node:
    """One broker: a durable disk, and a store while it is up."""

    def __init__(self, group: Simulation, number: int) -> None:
        self.group = group
        self.number = number
        self.disk = CrashDisk(millis=group.clock.millis)
        self.store: MessageStore | None = None
        self.offset = -1
        self.adoption = OffsetAdoption()
        self.next_try = 0
        self.link: Link | None = None
        self.back_at = 0
        self.pace = 1.0
        """Probability that its disk completes a piece of work in a step."""

    def start(self, *, is_master: bool) -> None:
        role = BrokerRole.SYNC_MASTER if is_master else BrokerRole.SLAVE
        self.options: StoreOptions = options(
            mapped_file_size_commit_log=FILE_SIZE, broker_role=role, **self.group.settings
        )
        self.worker = MemoryWorker()
        store = MessageStore(
            self.options,
            disk=self.disk,
            clock=self.group.clock,
            worker=self.worker,
            store_host=HOST,
            memory=GIB,
        )
        store.start()
        self.store = store
        self.replicas = Replicas(self.options, store.raw)
        self.adoption = OffsetAdoption()
        self.next_try = 0

    def die(self, power: bool, seed: int) -> None:
        """Kill the process; with `power` lose the data that was not synced."""
        self.disk = self.disk.crash(seed) if power else self.disk.kill()
        self.store = None
        self.link = None

    def wipe(self) -> None:
        self.disk = CrashDisk(millis=self.group.clock.millis)

    def acknowledged(self) -> int:
        """Return the end of the part of this slave's log that is safe."""
        assert self.store is not None
        if self.group.syncs:
            return self.store.flushed_offset
        return self.store.raw.position

    def log(self, begin: int, end: int) -> bytes:
        """Return the bytes of the log in [begin, end)."""
        assert self.store is not None
        found = []
        while begin < end:
            size = min(end - begin, FILE_SIZE - begin % FILE_SIZE)
            found.append(self.store.raw.read(begin, size))
            begin += size
        return b"".join(found)


class Violation(AssertionError):
    """A violated invariant."""


class Simulation:
    """A simulated group; with `asks_first` slaves check that their log is the beginning of the master's."""

    def __init__(self, seed: int, *, power: bool, in_sync: int = 2) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.clock = ManualClock()
        self.power = self.syncs = power
        flush = FlushDiskType.SYNC_FLUSH if power else FlushDiskType.ASYNC_FLUSH
        self.settings: dict[str, Any] = {
            "flush_disk_type": flush,
            "in_sync_replicas": in_sync,
            "ha_copy_whole_log": True,
            "ha_transfer_batch_size": 900,
        }
        self.asks_first = True
        self.nodes = [Node(self, number) for number in range(NODES)]
        self.master = self.nodes[0]
        for node in self.nodes:
            node.start(is_master=node is self.master)
        self.links: list[Link] = []
        self.hung: set[int] = set()
        self.number = 0
        self.acknowledged: dict[int, bytes] = {}
        self.is_whole = False
        self.faults = self.failovers = self.copies = 0
        self.next_offsets = 0
        self.next_fault = self._soon(8000)

    @property
    def now(self) -> int:
        return int(self.clock.monotonic() * 1000)

    def _soon(self, mean: int) -> int:
        return self.now + int(self.random.expovariate(1 / mean)) + 1

    def run(self, seconds: int) -> None:
        """Advance the time by `seconds`, then mend everything and check the invariants."""
        end = self.now + seconds * 1000
        while self.now < end:
            self.step()
            if self.now >= self.next_fault:
                self.next_fault = self._soon(8000)
                self.fault()
        self.settle()

    def settle(self) -> None:
        """Stop the faults; wait until every broker is back and has all messages."""
        self.hung.clear()
        if self.master.store is None:
            self.master.start(is_master=True)
        self.is_whole = False
        for _ in range(6000):
            self.step(puts=False)
            if self.is_whole:
                break
        else:
            raise Violation(f"{self}: the group never becomes whole")
        self.check()

    def step(self, *, puts: bool = True) -> None:
        self.clock.advance(self.random.choice((5, 20, 50)))
        for node in self.nodes:
            if node.store is None and node is not self.master and self.now >= node.back_at:
                node.start(is_master=False)
            elif node.store is None and self.now >= node.back_at:
                node.start(is_master=True)
        if puts:
            self._put()
        for link in list(self.links):
            self._carry(link)
        for node in self.nodes:
            self._live(node)
        if self.now >= self.next_offsets:
            self.next_offsets = self.now + OFFSETS_MILLIS
            self._offsets()
        ends = {node.store.raw.position if node.store else -1 for node in self.nodes}
        self.is_whole |= len(ends) == 1 and -1 not in ends

    # Work of the nodes

    def _live(self, node: Node) -> None:
        if node.store is None:
            return
        if self.random.random() < node.pace:
            node.worker.perform()
        node.store.tick()
        if node is self.master:
            node.replicas.expire(self.now)
            for link in [link for link in self.links if link.master_open]:
                self._pump(link)
                if link.feed.is_expired(self.now):
                    self._close_master(link)
        elif node.link is None:
            if self.now >= node.next_try and node.number not in self.hung:
                self._connect(node)
        else:
            self._report(node, node.link)
            if node.link.follow.is_expired(self.now):
                self._close_slave(node)

    def _put(self) -> None:
        node = self.master
        if node.store is None:
            return
        for _ in range(self.random.randrange(3)):
            need = node.replicas.need(self.now)
            assert need is not None
            self.number += 1
            body = b"%d:" % self.number + self.random.randbytes(self.random.randrange(200))
            result = node.store.put(Message("T", 0, body, {}, 1, BORN, HOST))
            if result.status is PutStatus.PUT_OK:
                self._wait(node, node.store, self.number, body, result.end_offset, need)
        node.store.dispatch()

    def _wait(self, node: Node, store: MessageStore, number: int, body: bytes, end: int, need: int) -> None:
        """Count a message as acknowledged once disk and slaves have it."""
        parts = 2 if self.syncs else 1

        def done(status: PutStatus) -> None:
            nonlocal parts
            parts -= status is PutStatus.PUT_OK
            if not parts and node.store is store:
                self.acknowledged[number] = body

        node.replicas.wait(end, self.now, need, done)
        if self.syncs:
            store.when_flushed(end, done)

    def _offsets(self) -> None:
        """Move the group's offset on the master and replicate it to slaves."""
        master = self.master
        if master.store is None:
            return
        held = master.store.max_offset("T", 0)
        master.offset = self.random.randint(max(0, min(master.offset, held)), held)
        for node in self.nodes:
            if node is master or node.store is None or node.number in self.hung:
                continue
            before, known = node.offset, node.adoption._known.get(("g", "T", 0))
            offsets = {("g", "T", 0): master.offset}
            for _, offset in list(
                node.adoption.changes(offsets, node.store.max_offset, lambda *_, mine=before: mine)
            ):
                node.offset = offset
            if node.offset > node.store.max_offset("T", 0):
                raise Violation(f"{self}: node {node.number} took over {node.offset}, which it does not have")
            if node.offset < before and known == master.offset:
                raise Violation(f"{self}: node {node.number} went back from {before} to {node.offset}")

    # Connections

    def _connect(self, node: Node) -> None:
        node.next_try = self.now + RETRY_MILLIS
        master = self.master.store
        if master is None:
            return
        assert node.store is not None
        raw = node.store.raw
        raw.drop_partial()
        last = raw.last_record()
        begin = 0
        if last is None:
            begin = where_to_begin(master.min_physical_offset, master.raw.position, FILE_SIZE)
        elif self.asks_first:
            own = Own(last.start, last.record, raw.position)
            there = Masters(master.record_at(last.start), master.min_physical_offset, master.raw.position)
            if why_not(own, there):
                # An operator removes the store, to be copied again.
                node.die(False, 0)
                node.wipe()
                self.copies += 1
                node.start(is_master=False)
                return
        feed = Feed(self.master.options, master.raw, f"10.0.0.{node.number}:{self.now}", self.now)
        node.link = Link(feed, Follow(node.options, raw, self.now, begin))
        self.links.append(node.link)
        self.master.replicas.add(feed, self.now)

    def _close_master(self, link: Link) -> None:
        if link.master_open:
            link.master_open = False
            if link.feed in self.master.replicas.feeds:
                self.master.replicas.remove(link.feed)

    def _close_slave(self, node: Node) -> None:
        if node.link is not None:
            node.link.slave_open = False
            node.link = None
            node.next_try = self.now + RETRY_MILLIS

    def _node(self, link: Link) -> Node | None:
        return next((node for node in self.nodes if node.link is link), None)

    def _carry(self, link: Link) -> None:
        node = self._node(link)
        if not link.master_open and node is None:
            self.links.remove(link)
        elif node is not None and node.number in self.hung:
            return
        elif not link.master_open:
            assert node is not None
            self._close_slave(node)
        elif node is None:
            if not self._is_hung(link):
                self._close_master(link)
        else:
            self._bring_up(link, link.up.take(self.now))
            self._bring_down(node, link, link.down.take(self.now))

    def _is_hung(self, link: Link) -> bool:
        return int(link.feed.address.rpartition(":")[0].rpartition(".")[2]) in self.hung

    def _bring_up(self, link: Link, data: bytes) -> None:
        try:
            if data and link.feed.receive(data, self.now):
                self.master.replicas.acknowledged()
        except StreamBroken:
            self._close_master(link)

    def _bring_down(self, node: Node, link: Link, data: bytes) -> None:
        store = node.store
        assert store is not None
        try:
            if data and link.follow.receive(data, self.now):
                store.dispatch()
        except (StreamBroken, StoreError):
            self._close_slave(node)

    def _pump(self, link: Link) -> None:
        store = self.master.store
        assert store is not None
        while link.down.size < WINDOW and (outgoing := link.feed.take(self.now)) is not None:
            body = store.raw.read(*outgoing) if outgoing.size else b""
            due = self.now + self.random.randrange(DELAY_MILLIS)
            data = encode_header(*outgoing) + body
            cut = self.random.randrange(len(data))
            link.down.put(due, data[:cut])
            link.down.put(due + self.random.randrange(30), data[cut:])
            if not outgoing.size:
                return

    def _report(self, node: Node, link: Link) -> None:
        store = node.store
        assert store is not None
        if self.syncs and store.flushed_offset < store.raw.position and not node.worker.waiting:
            store.when_flushed(store.raw.position, lambda _: None)
            store.dispatch()
        report = link.follow.report(node.acknowledged(), self.now)
        if report:
            link.up.put(self.now + self.random.randrange(DELAY_MILLIS), report)

    # Faults

    def fault(self) -> None:
        self.faults += 1
        for node in self.nodes:
            node.pace = self.random.choice(PACES)
        kind = self.random.choice(("cut", "hang", "die", "die", "heal", "give up"))
        node = self.random.choice(self.nodes)
        if kind == "heal":
            self.hung.clear()
        elif kind == "hang":
            self.hung.add(node.number)
        elif kind == "cut" and node.link is not None:
            link = node.link
            self._close_slave(node)
            if node.number not in self.hung:
                self._close_master(link)
        elif kind == "die" and node.store is not None:
            self._die(node, self._soon(4000))
        elif kind == "give up" and self.is_whole:
            self._give_up_master()

    def _die(self, node: Node, back_at: int) -> None:
        node.die(self.power, self.random.randrange(1 << 30))
        node.back_at = back_at
        if node is self.master:
            for link in self.links:
                link.master_open = False

    def _give_up_master(self) -> None:
        """Lose the master. The slave with the longest log takes over, after all slaves were compared."""
        slaves = [node for node in self.nodes if node is not self.master]
        for node in slaves:
            if node.store is None:
                node.start(is_master=False)
        self._die(self.master, self._soon(6000))
        self.master = max(slaves, key=lambda node: node.store.raw.drop_partial() or node.store.raw.position)
        self._die(self.master, self.now)
        self.master.start(is_master=True)
        for node in slaves:
            self._close_slave(node)
        # Until every broker has all messages again, another loss could be one too many.
        self.is_whole = False
        self.failovers += 1
        self.check()

    def check(self) -> None:
        """Check the invariants. Raises `Violation`."""
        store = self.master.store
        assert store is not None
        store.dispatch()
        for _ in range(100):
            self.master.worker.perform()
        store.dispatch()
        found: dict[int, bytes] = {}
        for unit in store.consume_queue_units("T", 0, store.min_offset("T", 0), 1 << 20):
            message = store.look_up(unit[0])
            assert message is not None
            found[int(message.body.partition(b":")[0])] = message.body
        lost = [number for number, body in self.acknowledged.items() if found.get(number) != body]
        if lost:
            raise Violation(f"{self}: acknowledged and lost: {lost[:5]} and {len(lost)} in all")
        for node in self.nodes:
            if node.link is not None and node.store is not None and node is not self.master:
                end = min(node.store.raw.position, store.raw.position)
                begin = max(node.store.raw.min_offset, store.raw.min_offset)
                if node.log(begin, end) != self.master.log(begin, end):
                    raise Violation(f"{self}: the log of node {node.number} is not the master's")

    def __str__(self) -> str:
        return f"seed {self.seed} after {self.now / 1000:.0f} s"

"""The life of a store on a disk that may lose power at every operation, and the invariants afterwards.

`Storm(seed)` drives a store with random puts, batches, flushes, restarts, kills and deletions, and records
the messages it put (`Model`). At every operation of the disk it takes the disk as a power cut may leave it,
sometimes cuts the power again during the recovery, starts a store on it and compares (`Check`).
"""

import random
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store import schema
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation, PowerCut
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import GIB, HOST, drain, message, options

T = TypeVar("T")
TOPICS = ("orders", "bills", "letters")
QUEUES = 2
LOOKED_FOR = 6
"""Number of messages whose keys are queried after each crash."""


class Broken(BaseException):
    """A violated promise. Not an `Exception`: the tested code would take it for a failure of the disk."""


class Entry(NamedTuple):
    """A message that was put: its queue, its content and its position in the log."""

    topic: str
    queue_id: int
    generation: int
    queue_offset: int
    body: bytes
    properties: dict[str, str]
    start: int
    end: int

    def says(self, found: StoredMessage) -> bool:
        """Return True if `found` is this message."""
        return (
            self.topic == found.topic
            and self.queue_id == found.queue_id
            and self.queue_offset == found.queue_offset
            and self.body == found.body
            and self.properties == found.properties
        )


class Model:
    """The messages that were put, in the order of the log; those being put (`pending`); the offset up to
    which durability was promised; and the number of deletions of each topic."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.pending: list[Entry] = []
        self.promised = 0
        self.generations = dict.fromkeys(TOPICS, 0)
        self.number = 0

    def next_offset(self, topic: str, queue_id: int, otherwise: int) -> int:
        generation = self.generations[topic]
        for entry in reversed(self.entries):
            if (entry.topic, entry.queue_id, entry.generation) == (topic, queue_id, generation):
                return entry.queue_offset + 1
        return otherwise

    def make(
        self, choose: random.Random, topic: str, queue_id: int, count: int, otherwise: int
    ) -> list[Entry]:
        """Return messages that will be put; the first of a queue gets the offset `otherwise`."""
        first = self.next_offset(topic, queue_id, otherwise)
        made = []
        for i in range(count):
            self.number += 1
            size = choose.choice((0, 10, 100, 700, 1500)) // count
            more = choose.choice((0, 0, 30, 600, 1300)) // count
            properties = {"KEYS": f"k{self.number}", "UNIQ_KEY": f"u{self.number}", "TAGS": "a"}
            if more:
                properties["more"] = chr(97 + self.number % 26) * more
            body = b"%d " % self.number + bytes([97 + self.number % 26]) * size
            made.append(Entry(topic, queue_id, self.generations[topic], first + i, body, properties, -1, -1))
        return made


def settings(choose: random.Random) -> dict[str, Any]:
    """Return the settings of one life: small files, short intervals, either way of flushing."""
    return {
        "flush_disk_type": choose.choice((FlushDiskType.SYNC_FLUSH, FlushDiskType.ASYNC_FLUSH)),
        "flush_consume_queue_thorough_interval": 2000,
        "flush_commit_log_least_pages": choose.choice((0, 1)),
        "flush_commit_log_thorough_interval": 3000,
        "clean_resource_interval": 1000,
    }


class Check:
    """Starts a store on the disk that a crash left and compares it with the model."""

    def __init__(self, model: Model, changes: dict[str, Any], millis: int, seed: int) -> None:
        self._model = model
        self._changes = changes
        self._clock = ManualClock(millis)
        self._choose = random.Random(seed)
        self.cuts = 0

    def run(self, disk: CrashDisk) -> None:
        """Raise `AssertionError` if the model does not allow the content of the disk."""
        while self._choose.random() < 0.3:
            disk.cut_at = self._choose.randint(1, 30)
            try:
                self._start(disk)
            except PowerCut:
                self.cuts += 1
            disk = disk.crash(self._choose.randrange(1 << 30))
        disk.cut_at = None
        self.compare(self._start(disk))

    def _start(self, disk: CrashDisk) -> MessageStore:
        store = MessageStore(
            options(**self._changes),
            disk=disk,
            clock=self._clock,
            worker=InlineWorker(),
            store_host=HOST,
            memory=GIB,
        )
        store.start()
        return store

    def compare(self, store: MessageStore) -> None:
        """Check that all promised messages exist, that all existing ones were put, and that queues and index
        match the log."""
        model = self._model
        low, end = store.min_physical_offset, store.max_physical_offset
        assert end >= model.promised, f"promised up to {model.promised}, the log ends at {end}"
        entries = [entry for entry in model.entries if low <= entry.start and entry.end <= end]
        extra: list[StoredMessage] = []
        for topic in TOPICS:
            for queue_id in range(QUEUES):
                found = drain(store, topic, queue_id)
                least, most = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
                offsets = [each.queue_offset for each in found]
                assert offsets == list(range(least, most)), (
                    f"{topic} {queue_id}: {offsets}, not {least} to {most}"
                )
                mine = [e for e in entries if (e.topic, e.queue_id) == (topic, queue_id)]
                extra += self._compare_queue(topic, found, mine)
        extra.sort(key=lambda each: each.physical_offset)
        pending = model.pending[: len(extra)]
        assert len(extra) <= len(pending), "more than was put"
        assert all(entry.says(each) for entry, each in zip(pending, extra, strict=True)), "never put"
        self._look_for_keys(store, entries)
        self._continue(store)

    def _compare_queue(
        self, topic: str, found: list[StoredMessage], entries: list[Entry]
    ) -> list[StoredMessage]:
        """Return the messages of a queue that are new to the model's entries, and check the others."""
        newest = self._model.generations[topic]
        live = [entry for entry in entries if entry.generation == newest]
        last = self._model.entries[-1].end if self._model.entries else 0
        extra = [each for each in found if each.physical_offset >= last]
        found = found[: len(found) - len(extra)]
        older = {entry.start: entry for entry in entries if entry.generation != newest}
        # Of a deleted topic any run of messages may be back, before those that were put later.
        back = [each for each in found if each.physical_offset in older]
        assert all(older[each.physical_offset].says(each) for each in back)
        assert found[: len(back)] == back
        found = found[len(back) :]
        if live or found:
            bodies = [each.body[:8] for each in found]
            assert len(found) == len(live), f"{topic}: {bodies} instead of {[e.body[:8] for e in live]}"
            assert all(entry.says(each) for entry, each in zip(live, found, strict=True)), topic
        return extra

    def _look_for_keys(self, store: MessageStore, entries: list[Entry]) -> None:
        live = [e for e in entries if e.generation == self._model.generations[e.topic]]
        for entry in self._choose.sample(live, min(LOOKED_FOR, len(live))):
            for key in ("KEYS", "UNIQ_KEY"):
                found = store.query(entry.topic, entry.properties[key], 64, 0, 1 << 60).records
                bodies = [schema.RECORD.parse(record).body for record in found]
                assert entry.body in bodies, f"key {entry.properties[key]} of {entry.start} is not found"

    def _continue(self, store: MessageStore) -> None:
        """Check that the store works: it takes a message and returns it, by queue and by key."""
        topic, queue_id = self._choose.choice(TOPICS), self._choose.randrange(QUEUES)
        offset = store.max_offset(topic, queue_id)
        result = store.put(message(topic, queue_id, b"after", {"KEYS": "after"}))
        assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, offset), result.remark
        self._clock.advance(10_000)
        store.tick()
        assert drain(store, topic, queue_id)[-1].body == b"after"
        assert len(store.query(topic, "after", 9, 0, 1 << 60).records) == 1


class _StormWorker:
    """Runs work at once, or when the storm calls `perform`; during the work the storm may put messages."""

    def __init__(self, storm: "Storm", at_once: bool) -> None:
        self._storm = storm
        self._at_once = at_once
        self.waiting: list[Callable[[], None]] = []

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        def perform() -> None:
            self._storm.working = True
            outcome: T | Exception
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            self._storm.working = False
            done(outcome)

        if self._at_once:
            perform()
        else:
            self.waiting.append(perform)

    def perform(self) -> None:
        if self.waiting:
            self.waiting.pop(0)()


class Storm:
    """One life of a store. `points` counts the checked crashes, `cuts` those during recovery."""

    def __init__(self, seed: int, crashes: int = 1) -> None:
        self.seed = seed
        self.crashes = crashes
        self.choose = random.Random(seed)
        self.clock = ManualClock()
        self.disk = CrashDisk(millis=self.clock.millis)
        self.changes = settings(self.choose)
        self.model = Model()
        self.worker = _StormWorker(self, self.choose.random() < 0.5)
        self.working = False
        self.points = self.cuts = 0
        self.calls: set[str] = set()
        self._busy = self._opening = False
        if crashes:
            self.disk.watch = self._watch
        self.store = self._open()

    def _open(self) -> MessageStore:
        self.worker.waiting.clear()
        self._opening = True
        store = MessageStore(
            options(**self.changes),
            disk=self.disk,
            clock=self.clock,
            worker=self.worker,
            store_host=HOST,
            on_arrivals=lambda _: None,
            memory=GIB,
        )
        store.start()
        self._opening = False
        return store

    def _watch(self, operation: Operation) -> None:
        if self._busy:
            return
        self._busy = True
        self.calls.add(operation.call)
        if hasattr(self, "store"):
            self.model.promised = max(self.model.promised, self.store.flushed_offset)
        for i in range(self.crashes):
            seed = self.seed * 1_000_003 + operation.number * 101 + i
            check = Check(self.model, self.changes, self.clock.millis(), seed)
            try:
                check.run(self.disk.crash(seed))
            except Exception as error:
                recent = "\n".join(map(str, self.disk.recent))
                raise Broken(f"seed {self.seed}, {operation}: {error!r}\n{recent}") from error
            self.points += 1
            self.cuts += check.cuts
        self._busy = False
        if self.working and not self._opening and operation.call == "sync" and self.choose.random() < 0.2:
            self.put()

    # Actions of a life.

    def live(self, steps: int) -> None:
        """Do `steps` random actions."""
        things: list[tuple[int, Callable[[], None]]] = [
            (12, self.put),
            (4, self.put_batch),
            (8, self.dispatch),
            (8, self.wait),
            (6, self.promise),
            (6, self.worker.perform),
            (1, self.restart),
            (1, self.die),
            (1, self.delete_topic),
            (1, self.delete_old_files),
        ]
        weights = [weight for weight, _ in things]
        for _ in range(steps):
            self.choose.choices(things, weights)[0][1]()

    def put(self) -> None:
        topic, queue_id = self.choose.choice(TOPICS), self.choose.randrange(QUEUES)
        (entry,) = self._make(topic, queue_id, 1)
        result = self.store.put(message(topic, queue_id, entry.body, entry.properties))
        self._took(result)

    def _make(self, topic: str, queue_id: int, count: int) -> list[Entry]:
        # A start reads the end of the log again: messages of a topic that was deleted may be back.
        otherwise = self.store.max_offset(topic, queue_id)
        self.model.pending = self.model.make(self.choose, topic, queue_id, count, otherwise)
        return self.model.pending

    def put_batch(self) -> None:
        topic, queue_id = self.choose.choice(TOPICS), self.choose.randrange(QUEUES)
        entries = self._make(topic, queue_id, self.choose.randint(1, 4))
        parts = [
            {
                "magic": 0,
                "body_crc": 0,
                "flag": 0,
                "body": entry.body,
                "properties": "".join(f"{k}\1{v}\2" for k, v in entry.properties.items()).encode(),
            }
            for entry in entries
        ]
        self._took(self.store.put_batch(message(topic, queue_id), schema.BATCH.build(parts)))

    def _took(self, result: PutResult) -> None:
        assert result.status is PutStatus.PUT_OK, result.remark
        assert result.queue_offset == self.model.pending[0].queue_offset
        at = result.physical_offset
        for entry in self.model.pending:
            record = self.store.record_at(at)
            assert record is not None
            self.model.entries.append(entry._replace(start=at, end=at + len(record)))
            at += len(record)
        self.model.pending = []

    def dispatch(self) -> None:
        self.store.dispatch()

    def wait(self) -> None:
        self.clock.advance(self.choose.choice((10, 100, 600, 1000, 2500)))
        self.store.tick()

    def promise(self) -> None:
        """Wait for the disk to sync the log; its end counts as promised once that is acknowledged."""
        end = self.store.max_physical_offset

        def said(status: PutStatus) -> None:
            if status is PutStatus.PUT_OK:
                self.model.promised = max(self.model.promised, end)

        self.store.when_flushed(end, said)
        self.store.dispatch()

    def restart(self) -> None:
        self.store.stop()
        self.model.promised = self.store.max_physical_offset
        self.store = self._open()

    def die(self) -> None:
        self.disk.kill()
        self.store = self._open()

    def delete_topic(self) -> None:
        topic = self.choose.choice(TOPICS)
        self.model.generations[topic] += 1
        self.store.admin.delete_topics([topic])

    def delete_old_files(self) -> None:
        self.store.admin.delete_expired_files()
        self.clock.advance(80 * 3_600_000)
        for _ in range(4):
            self.clock.advance(1000)
            self.store.tick()

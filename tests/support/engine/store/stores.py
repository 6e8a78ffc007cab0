"""Helpers for tests of the store: small files, messages, and a store on a disk in memory."""

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import Message, StoredMessage, pack_host
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store import schema
from mqgateway.engine.store.message_store import Arrival, GetResult, MessageStore
from mqgateway.engine.store.older_messages import OlderMessages
from mqgateway.engine.store.record import decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, Worker

ROOT = "/store"
HOST = pack_host("127.0.0.1", 10911)
BORN = pack_host("192.168.7.9", 51000)
HOST_V6 = pack_host("fe80::1", 10911)
GIB = 1 << 30


def options(**changes: Any) -> StoreOptions:
    """Return settings with small files: 4 KiB of log, 10 units of queue, 64 index entries."""
    settings: dict[str, Any] = {
        "store_path_root_dir": ROOT,
        "mapped_file_size_commit_log": 4096,
        "mapped_file_size_consume_queue": 200,
        "max_hash_slot_num": 16,
        "max_index_num": 64,
    }
    return StoreOptions(**{**settings, **changes})


def message(
    topic: str = "orders", queue_id: int = 0, body: bytes = b"hello", properties: Any = None, **more: Any
) -> Message:
    """Return a message as the broker passes it to the store."""
    kept = {"TAGS": "a"} if properties is None else properties
    return Message(topic, queue_id, body, dict(kept), 1_700_000_000_123, BORN, HOST, **more)


def parts_of(arrival: Arrival) -> tuple[object, ...]:
    """Return the fields of an arrival, for comparison."""
    where = arrival.topic, arrival.queue_id, arrival.next_offset
    return *where, arrival.tags_code, arrival.store_timestamp, arrival.properties


class Bench:
    """A store with its disk and clock, and its arrivals. The topic `batched` has queues of batches, unless
    the store `knows_topics` no more."""

    def __init__(
        self,
        disk: CrashDisk | None = None,
        clock: ManualClock | None = None,
        worker: Worker | None = None,
        aside: Worker | None = None,
        knows_topics: bool = True,
        older: OlderMessages | None = None,
        agrees: bool = False,
        **changes: Any,
    ) -> None:
        self.clock = clock or ManualClock()
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.changes = changes
        self.arrivals: list[Arrival] = []
        self.store = MessageStore(
            options(**changes),
            disk=self.disk,
            clock=self.clock,
            worker=worker or InlineWorker(),
            store_host=HOST,
            on_arrivals=self.arrivals.extend,
            is_batch_topic=lambda topic: knows_topics and topic == "batched",
            memory=GIB,
            aside=aside,
            older=older,
            agrees=agrees,
        )
        self.report = self.store.start()

    def put(self, *messages: Message) -> list[int]:
        """Put and dispatch messages; return their queue offsets."""
        results = [self.store.put(each) for each in messages]
        self.store.dispatch()
        assert all(result.status.name == "PUT_OK" for result in results), results
        return [result.queue_offset for result in results]

    def again(self, disk: CrashDisk | None = None) -> "Bench":
        """Return a new store on the same disk, or on another."""
        return Bench(disk or self.disk, self.clock, **self.changes)

    def restart(self) -> "Bench":
        """Stop cleanly and start again."""
        self.store.stop()
        return self.again()

    def kill(self) -> "Bench":
        """Start again after the process was killed."""
        return self.again(self.disk.kill())

    def crash(self, seed: int) -> "Bench":
        """Start again after a power cut."""
        return self.again(self.disk.crash(seed))


def batch(*bodies: bytes, properties: bytes = b"KEYS\1k\2") -> bytes:
    """Return a client's batch body; flags are 0, 1, 2 ..."""
    parts = [
        {"magic": 0, "body_crc": 0, "flag": i, "body": body, "properties": properties}
        for i, body in enumerate(bodies)
    ]
    return bytes(schema.BATCH.build(parts))


def records(result: GetResult) -> list[StoredMessage]:
    """Return the messages of an answer."""
    found, at = [], 0
    while at < len(result.body):
        found.append(decode(result.body, at))
        at += found[-1].size
    return found


def drain(store: MessageStore, topic: str = "orders", queue_id: int = 0) -> list[StoredMessage]:
    """Return all messages of a queue, read as a consumer would."""
    found: list[StoredMessage] = []
    offset = store.min_offset(topic, queue_id)
    while True:
        result = store.get(topic, queue_id, offset, 32)
        if result.status.name != "FOUND":
            return found
        found += records(result)
        offset = result.next_offset

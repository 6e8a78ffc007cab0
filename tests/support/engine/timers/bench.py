"""Helpers for tests of timers: a store on a disk in memory, its timers, a clock moved by hand."""

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import TIMER_TOPIC, Message, StoredMessage, pack_host
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.timers import Timers
from mqgateway.engine.worker import InlineWorker, Worker

HOST = pack_host("127.0.0.1", 10911)
ROOT = "/store"
START = 1_700_000_000_000
SLOTS = 512


def message(body: bytes = b"hello", key: str = "", topic: str = "orders", **properties: Any) -> Message:
    """Return a message as the broker passes it to the store; properties are given as keywords."""
    kept = {name: str(value) for name, value in properties.items()}
    if key:
        kept["UNIQ_KEY"] = key
    return Message(topic, 1, body, {"TAGS": "red"} | kept, START - 5, HOST, HOST)


class Bench:
    """A store and its timers; small files, a short wheel."""

    def __init__(
        self,
        disk: CrashDisk | None = None,
        clock: ManualClock | None = None,
        worker: Worker | None = None,
        **changes: Any,
    ) -> None:
        self.clock = clock or ManualClock(START)
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.worker = worker or InlineWorker()
        self.changes = changes
        settings: dict[str, Any] = {
            "store_path_root_dir": ROOT,
            "mapped_file_size_commit_log": 1 << 16,
            "mapped_file_size_consume_queue": 2000,
            "mapped_file_size_timer_log": 4096,
            "timer_max_delay_sec": 365 * 86400,
            "message_index_enable": False,
            "file_reserved_time": 10**6,
        }
        self.options = StoreOptions(**{**settings, **changes})
        self.store = MessageStore(
            self.options, disk=self.disk, clock=self.clock, worker=self.worker, store_host=HOST
        )
        self.store.start()
        self.timers = self.make_timers()

    def make_timers(self) -> Timers:
        timers = Timers(
            self.store, self.options, self.disk, self.clock, self.worker, slots=SLOTS, on_delivered=self.note
        )
        timers.load()
        return timers

    def note(self, topic: str, size: int) -> None:
        assert size > 0

    @property
    def now(self) -> int:
        return self.clock.millis()

    @property
    def steady(self) -> int:
        """The timers' clock."""
        return self.store.steady.now()

    def set(self, *messages: Message) -> list[PutStatus | None]:
        """Put messages as a send does; return the refusals, None for an accepted message."""
        refusals = []
        for each in messages:
            refusals.append(self.timers.acceptance.rewrite(each, self.now))
            if refusals[-1] is None:
                assert self.store.put(each).status is PutStatus.PUT_OK
        self.store.dispatch()
        return refusals

    def set_at(self, body: bytes, time: int, key: str = "", **properties: Any) -> None:
        """Set a timer to be delivered at a time."""
        assert self.set(message(body, key, TIMER_DELIVER_MS=time, **properties)) == [None]

    def delete(self, key: str, time: int) -> PutStatus | None:
        """Delete the timer with a key that is due at a time."""
        return self.set(message(b"0", key, TIMER_DELIVER_MS=time, TIMER_DEL_UNIQKEY=key))[0]

    def tick(self) -> None:
        """Run the work of timers and store that is due now."""
        self.store.tick()
        self.timers.tick(self.steady)
        for _ in range(10_000):
            if not self.timers.is_behind:
                break
            self.timers.tick(self.steady)
        self.store.tick()

    def pass_time(self, millis: int, step: int = 100) -> None:
        """Advance the clock in steps, with a tick after each."""
        while millis > 0:
            self.clock.advance(min(step, millis))
            millis -= step
            self.tick()

    def jump(self, millis: int) -> None:
        """Set the wall clock, forwards or back, without time passing."""
        self.clock._millis += millis
        self.tick()

    def delivered(self, topic: str = "orders", queue_id: int = 1) -> list[StoredMessage]:
        """Return the messages that can be read from a queue."""
        units = self.store.consume_queue_units(topic, queue_id, 0, 10_000)
        found = [self.store.look_up(offset) for offset, _, _ in units]
        return [one for one in found if one is not None]

    def bodies(self, topic: str = "orders") -> list[bytes]:
        return [one.body for one in self.delivered(topic)]

    def set_aside(self) -> list[StoredMessage]:
        """Return the messages of the timer topic."""
        return self.delivered(TIMER_TOPIC, 0)

    def stop(self) -> None:
        self.store.stop()
        self.timers.close()

    def restart(self) -> "Bench":
        """Stop cleanly and start again."""
        self.stop()
        return self.again(self.disk)

    def kill(self) -> "Bench":
        """Start again after the process was killed."""
        return self.again(self.disk.kill())

    def crash(self, seed: int) -> "Bench":
        """Start again after a power cut."""
        return self.again(self.disk.crash(seed))

    def again(self, disk: CrashDisk) -> "Bench":
        return Bench(disk, self.clock, **self.changes)

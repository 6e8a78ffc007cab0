"""Delay of sends while old messages are read from disk and while old files are removed.

A loop stores a message every millisecond, as a broker at 1,000 sends a second, while one consumer reads the
cold log from its beginning or gigabytes of log expire. The longest turn of the loop counts: a send that
arrives at the wrong moment waits that long.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench.store_fill import message, open_store
from bench.store_loop import Loop
from mqgateway.engine.store.message_store import ColdRead, GetStatus, MessageStore

PACE_SECONDS = 0.001
LOG_FILE = 256 << 20
"""Length of log files, so that a few gigabytes make several files."""
BODY = os.urandom(1024)
READ_MESSAGES_MAX = 200_000
WATCH_SECONDS_MAX = 60.0


@dataclass
class Stalls:
    """Turns of the loop in milliseconds; `done` counts the work done alongside the sends."""

    p50_ms: float
    p99_ms: float
    longest_ms: float
    seconds: float
    done: int


class Sends:
    """Sends of one message a millisecond, with each turn of the loop measured."""

    def __init__(self, store: MessageStore, loop: Loop) -> None:
        self._store = store
        self._loop = loop
        self._turns: list[float] = []
        self._last_tick = 0.0
        self.began = time.perf_counter()

    def turn(self, beside: object = None) -> None:
        """Send, call `beside` if it is a function, and wait for the next millisecond."""
        began = time.perf_counter()
        self._store.put(message("sends", 0, BODY))
        self._store.dispatch()
        if callable(beside):
            beside()
        self._loop.turn()
        if began - self._last_tick > 0.1:
            self._last_tick = began
            self._store.tick()
        took = time.perf_counter() - began
        self._turns.append(took)
        if took < PACE_SECONDS:
            time.sleep(PACE_SECONDS - took)

    def result(self, done: int) -> Stalls:
        """Return the result of all turns so far; `done` counts the other work."""
        turns = sorted(self._turns)
        return Stalls(
            turns[len(turns) // 2] * 1000,
            turns[len(turns) * 99 // 100] * 1000,
            turns[-1] * 1000,
            time.perf_counter() - self.began,
            done,
        )


def drop_from_memory(folder: Path) -> None:
    """Sync a folder's files and drop them from the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


class _Consumer:
    """A consumer that reads topic `bench-000000` from its beginning, one answer a turn."""

    def __init__(self, store: MessageStore, may_wait: bool) -> None:
        self._store = store
        self._may_wait = may_wait
        self._offsets = [0] * 8
        self._waiting = False
        self.count = 0
        self.ended = False

    def read(self) -> None:
        if self._waiting or self.ended:
            return
        queue_id = min(range(8), key=self._offsets.__getitem__)
        try:
            result = self._store.get(
                "bench-000000", queue_id, self._offsets[queue_id], 32, may_wait=self._may_wait
            )
        except ColdRead as cold:
            self._waiting = True
            self._store.bring(cold, self._brought)
            return
        self._offsets[queue_id] = result.next_offset
        self.count += result.count
        self.ended = result.status is not GetStatus.FOUND or self.count >= READ_MESSAGES_MAX

    def _brought(self) -> None:
        self._waiting = False


def cold_reads(folder: Path, may_wait: bool) -> Stalls:
    """Read cold messages, on the loop (`may_wait`) or with the help of a worker."""
    drop_from_memory(folder)
    loop = Loop()
    store = open_store(str(folder), loop, newest_log_bytes=0, mapped_file_size_commit_log=LOG_FILE)
    sends, consumer = Sends(store, loop), _Consumer(store, may_wait)
    while not consumer.ended and time.perf_counter() - sends.began < WATCH_SECONDS_MAX:
        sends.turn(consumer.read)
    loop.stop()
    store.stop()
    return sends.result(consumer.count)


def removals(folder: Path, aside: bool) -> Stalls:
    """Expire and remove all log files but the last: on a worker (`aside`) or on the loop."""
    loop = Loop()
    store = open_store(
        str(folder),
        loop,
        file_reserved_time=0,
        clean_resource_interval=1000,
        mapped_file_size_commit_log=LOG_FILE,
    )
    files = folder / "commitlog"
    before = len(list(files.iterdir()))
    if not aside:
        store._log.files.pool.remove = os.unlink
    sends = Sends(store, loop)
    for _ in range(200):
        sends.turn()
    store.admin.delete_expired_files()
    while len(list(files.iterdir())) > 1 and time.perf_counter() - sends.began < WATCH_SECONDS_MAX:
        sends.turn()
    loop.stop()
    store.stop()
    return sends.result(before - len(list(files.iterdir())))

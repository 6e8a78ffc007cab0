"""How long a send is held up while old messages are read from disk and while old files are removed.

A loop puts a message every millisecond, as a broker at 1,000 sends a second; beside it one consumer reads the
log from its beginning, cold, or gigabytes of log expire. What counts is the longest time that one turn of
the loop took: a send that comes at the wrong moment waits that long.
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
"""Length of log files here: several of them in a few gigabytes."""
BODY = os.urandom(1024)
READ_MESSAGES_MAX = 200_000
WATCH_SECONDS_MAX = 60.0


@dataclass
class Stalls:
    """Turns of the loop in milliseconds, and what was done beside the sends."""

    p50_ms: float
    p99_ms: float
    longest_ms: float
    seconds: float
    done: int


class Sends:
    """One message a millisecond, each turn of the loop measured."""

    def __init__(self, store: MessageStore, loop: Loop) -> None:
        self._store = store
        self._loop = loop
        self._turns: list[float] = []
        self._last_tick = 0.0
        self.began = time.perf_counter()

    def turn(self, beside: object = None) -> None:
        """Send, do what else is to be done (`beside`, a function), and wait for the next millisecond."""
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
        """What came of it."""
        turns = sorted(self._turns)
        return Stalls(
            turns[len(turns) // 2] * 1000,
            turns[len(turns) * 99 // 100] * 1000,
            turns[-1] * 1000,
            time.perf_counter() - self.began,
            done,
        )


def drop_from_memory(folder: Path) -> None:
    """Let the system forget what it has of a folder's files; what is not written yet is written."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


class _Consumer:
    """Reads topic `bench-000000` from its beginning, an answer a turn."""

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
    """A consumer reads cold messages, on the loop (`may_wait`) or with the help of a worker."""
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
    """All log files but the last expire and go: on a worker, or as they would on the loop."""
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

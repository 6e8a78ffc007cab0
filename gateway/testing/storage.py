"""Storage of a server for tests: in memory, or in a folder.

Both can simulate a full disk, and can be taken over from a broker that was killed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mqgateway.engine.disk import Disk
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import Worker
from mqgateway.gateway.runtime.threads import ThreadedLoop, ThreadWorker

ROOT = "/rocketmq"
"""The folder of a server in memory."""


class Storage(Protocol):
    """A disk, and the worker that runs its blocking calls."""

    disk: Disk
    root: str

    def worker(self, loop: ThreadedLoop) -> Worker:
        """Return a new worker, for a broker that starts."""
        ...

    def set_full(self, is_full: bool) -> None:
        """Make the disk full, or free it."""
        ...

    def take_over(self) -> None:
        """Release the disk from the broker that used it and was killed or stopped."""
        ...


class LoopWorker:
    """Worker on the event loop itself, in a later iteration: memory does not block."""

    def __init__(self, loop: ThreadedLoop) -> None:
        self._loop = loop

    def run(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """See `engine.worker.Worker`."""
        self._loop.callFromThread(self._perform, work, done)

    def _perform(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        outcome: Any
        try:
            outcome = work()
        except Exception as error:
            outcome = error
        done(outcome)


class InMemory:
    """Files in memory; they are lost with the server."""

    root = ROOT

    def __init__(self, millis: Callable[[], int]) -> None:
        self._disk = CrashDisk(millis=millis)
        self.disk: Disk = self._disk

    def worker(self, loop: ThreadedLoop) -> Worker:
        """Return a worker without a thread."""
        return LoopWorker(loop)

    def set_full(self, is_full: bool) -> None:
        """See `Storage`."""
        self._disk.used = self._disk.total if is_full else None

    def take_over(self) -> None:
        """Release the locks. Written data is kept, synced or not: the machine did not fail."""
        self._disk.kill()


class _Folder(RealDisk):
    """The machine's disk. Its locks are between processes, so brokers of this process do not conflict."""

    def __init__(self) -> None:
        self.is_full = False

    def usage(self, path: str) -> tuple[int, int]:
        total, free = super().usage(path)
        return total, 0 if self.is_full else free


class InFolder:
    """Files in a folder; they are kept."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._folder = _Folder()
        self.disk: Disk = self._folder
        self._threads: list[ThreadWorker] = []

    def worker(self, loop: ThreadedLoop) -> Worker:
        """Return a new worker thread; the previous one has ended."""
        self._threads.append(ThreadWorker(loop))
        return self._threads[-1]

    def set_full(self, is_full: bool) -> None:
        """See `Storage`."""
        self._folder.is_full = is_full

    def take_over(self) -> None:
        """End the threads, as the system does for a killed process."""
        while self._threads:
            self._threads.pop().stop()

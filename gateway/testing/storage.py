"""Where a server for tests keeps its files: in memory, or in a folder.

Either way the disk can be said to be full, and can be taken over from a broker that was killed.
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
    """A disk, and the worker that waits for it."""

    disk: Disk
    root: str

    def worker(self, loop: ThreadedLoop) -> Worker:
        """A new worker, for a broker that begins."""
        ...

    def set_full(self, is_full: bool) -> None:
        """Say that nothing more goes on the disk, or that something does."""
        ...

    def take_over(self) -> None:
        """Whoever used the disk was killed, or has ended."""
        ...


class LoopWorker:
    """Does its work on the loop itself, a moment later: memory is not waited for."""

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
    """Everything in memory; it is gone with the server."""

    root = ROOT

    def __init__(self, millis: Callable[[], int]) -> None:
        self._disk = CrashDisk(millis=millis)
        self.disk: Disk = self._disk

    def worker(self, loop: ThreadedLoop) -> Worker:
        """One without a thread."""
        return LoopWorker(loop)

    def set_full(self, is_full: bool) -> None:
        """See `Storage`."""
        self._disk.used = self._disk.total if is_full else None

    def take_over(self) -> None:
        """What was written is there, synced or not: the machine did not fail."""
        self._disk.kill()


class _Folder(RealDisk):
    """The machine's disk; its locks are between processes, so that nobody here is in the way."""

    def __init__(self) -> None:
        self.is_full = False

    def usage(self, path: str) -> tuple[int, int]:
        total, free = super().usage(path)
        return total, 0 if self.is_full else free


class InFolder:
    """Files in a folder, which stay."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._folder = _Folder()
        self.disk: Disk = self._folder
        self._threads: list[ThreadWorker] = []

    def worker(self, loop: ThreadedLoop) -> Worker:
        """A thread; the one before has ended."""
        self._threads.append(ThreadWorker(loop))
        return self._threads[-1]

    def set_full(self, is_full: bool) -> None:
        """See `Storage`."""
        self._folder.is_full = is_full

    def take_over(self) -> None:
        """End the threads, which the system does for a process that is killed."""
        while self._threads:
            self._threads.pop().stop()

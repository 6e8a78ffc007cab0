"""Termination of programs that only consume: waiting for it, and SIGTERM as its trigger."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class OneTimeEvent:
    """One-time event.

    A signal handler may open it while its own thread waits. Unlike `threading.Event`, it has no lock that the
    interrupted thread could hold.
    """

    def __init__(self) -> None:
        self._shut = threading.Lock()
        self._shut.acquire()
        self._is_open = False

    def open(self) -> None:
        """Wake all waiters. Idempotent."""
        if not self._is_open:
            self._is_open = True
            self._shut.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the gate is opened. Returns False if `timeout` seconds pass before."""
        passed = self._shut.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        if passed:
            self._shut.release()
        return passed


@contextmanager
def on_sigterm(end: Callable[[], object]) -> Iterator[None]:
    """Call `end` on SIGTERM instead of killing the process, within the context.

    Does nothing if the program handles or ignores SIGTERM, and outside the main thread, which alone gets
    signals.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: end())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

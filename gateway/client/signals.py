"""The end of a program that only consumes: waiting for it, and SIGTERM as what asks for it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Gate:
    """Something to wait for that happens once.

    A signal's handler may open it while its own thread waits: unlike `threading.Event` it has no lock that
    the thread which was interrupted could hold.
    """

    def __init__(self) -> None:
        self._shut = threading.Lock()
        self._shut.acquire()
        self._is_open = False

    def open(self) -> None:
        """Let everybody go; harmless when that has been done."""
        if not self._is_open:
            self._is_open = True
            self._shut.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is opened; false when `timeout` seconds were up before."""
        passed = self._shut.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        if passed:
            self._shut.release()
        return passed


@contextmanager
def on_sigterm(end: Callable[[], object]) -> Iterator[None]:
    """Meanwhile SIGTERM calls `end` instead of killing the process.

    A program that handles or ignores it is left alone, and so are threads other than the main one, to which
    signals never come.
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

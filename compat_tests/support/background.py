"""A thread that repeats an action while a scenario or a measurement runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Background(ABC):
    """Thread that runs while its context is entered."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._over.set()
        self._thread.join()

    def _is_over(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end; return True if it came."""
        return self._over.wait(seconds)

    @abstractmethod
    def _run(self) -> None:
        """Repeat the action until `_is_over`."""

"""A thread that does something again and again while a scenario or a measurement runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Background(ABC):
    """Runs from entering it to leaving it."""

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
        """Wait so long for the end; whether it came."""
        return self._over.wait(seconds)

    @abstractmethod
    def _run(self) -> None:
        """Go on until `_is_over`."""

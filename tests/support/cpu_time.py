"""CPU time of some work, without full garbage collections: these visit the objects of all other tests."""

from __future__ import annotations

import gc
import time
from types import TracebackType

FULL_COLLECTION = 2
"""The generation of Python's garbage collector that visits all objects."""


class CpuTime:
    """Measures its `with` block in `seconds`; it can be entered again."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> CpuTime:
        gc.callbacks.append(self._leave_out)
        self._began = time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.seconds = time.process_time() - self._began
        gc.callbacks.remove(self._leave_out)

    def _leave_out(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == FULL_COLLECTION:
            self._began += time.process_time() * (1 if phase == "stop" else -1)

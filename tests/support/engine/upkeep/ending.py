"""A real disk on which the process is ended."""

from __future__ import annotations

from mqgateway.engine.disk import File
from mqgateway.engine.real_disk import RealDisk


class Interrupted(BaseException):
    """The process was ended."""


class EndingDisk(RealDisk):
    """Ends the process at the n-th change of names, or sync of them; never without `end_at`."""

    def __init__(self, end_at: int = 0) -> None:
        self.changes = 0
        self.end_at = end_at

    def _step(self) -> None:
        self.changes += 1
        if self.end_at and self.changes >= self.end_at:
            raise Interrupted

    def rename(self, old: str, new: str) -> None:
        self._step()
        super().rename(old, new)

    def rmtree(self, path: str) -> None:
        self._step()
        super().rmtree(path)

    def sync_dir(self, path: str) -> None:
        self._step()

    def open(self, path: str, create: bool = False) -> File:
        if create:
            self._step()
        return super().open(path, create)

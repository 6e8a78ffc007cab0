"""An object store in memory, whose verbs fail, or end the process, on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TypeVar

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.object_store import (
    ObjectExists,
    ObjectMissing,
    ObjectStoreUnavailable,
    check_name,
)

T = TypeVar("T")


class Killed(BaseException):
    """The end of the process that called a verb."""


class StoreFault(Enum):
    """Fate of a call: its process ends before or after its effect, the store cannot be reached, or its
    answer is lost. After the latter the store's client repeats the call, which is then refused as a creation.
    """

    KILL_BEFORE = 1
    KILL_AFTER = 2
    AWAY = 3
    LOST = 4
    REPEATED = 5


class MemoryObjects:
    """The objects by name. `faults` are those of calls by their numbers, from 1 on; `before` is called with
    the number of each call.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.calls = 0
        self.faults: dict[int, StoreFault] = {}
        self.before: Callable[[int], None] = lambda _: None

    def create(self, name: str, data: bytes | memoryview) -> None:
        check_name(name)

        def act() -> None:
            if name in self.objects:
                raise ObjectExists(name)
            self.objects[name] = bytes(data)

        if self._call(act) is StoreFault.REPEATED:
            raise ObjectExists(name)

    def put(self, name: str, data: bytes) -> None:
        self._call(lambda: self.objects.__setitem__(check_name(name), bytes(data)))

    def get_range(self, name: str, start: int, length: int) -> bytes:
        self._call(lambda: None)
        if name not in self.objects:
            raise ObjectMissing(name)
        data = self.objects[name][start : start + length]
        if len(data) < length:
            raise CorruptFile(name, start, f"{length} bytes were expected")
        return data

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        self._call(lambda: None)
        for name in sorted(self.objects):
            if name.startswith(prefix) and name > after:
                yield name, len(self.objects[name])

    def delete(self, name: str) -> None:
        self._call(lambda: self.objects.pop(name, None))

    def head(self, name: str) -> int | None:
        self._call(lambda: None)
        return len(self.objects[name]) if name in self.objects else None

    def _call(self, act: Callable[[], object]) -> StoreFault | None:
        self.calls += 1
        number = self.calls
        fault = self.faults.get(number)
        self.before(number)
        if fault is StoreFault.KILL_BEFORE:
            raise Killed
        if fault is StoreFault.AWAY:
            raise ObjectStoreUnavailable("the store is away")
        act()
        if fault is StoreFault.KILL_AFTER:
            raise Killed
        if fault is StoreFault.LOST:
            raise ObjectStoreUnavailable("the answer was lost")
        return fault

from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tier.object_folder import ObjectFolder
from mqgateway.engine.tier.object_store import ObjectExists, ObjectStoreUnavailable
from mqgateway.gateway.object_stores.self_test import verify_store
from tests.support.engine.tier.memory_objects import MemoryObjects


class _Right(MemoryObjects):
    """A store for several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def create(self, name: str, data: bytes) -> None:
        with self._lock:
            super().create(name, data)


def test_right_store_passes_and_is_left_empty(tmp_path: Path) -> None:
    store = _Right()
    verify_store(store)
    assert store.objects == {}
    folder = ObjectFolder(RealDisk(), str(tmp_path))
    folder.prepare(0)
    verify_store(folder)
    assert list(folder.list_from("")) == []
    directories = sorted(tmp_path.rglob("*"))
    verify_store(folder)
    assert sorted(tmp_path.rglob("*")) == directories  # no start leaves more


class _Overwriting(MemoryObjects):
    """Ignores the condition of a creation, as some servers that speak like S3 do."""

    def create(self, name: str, data: bytes) -> None:
        self.put(name, data)


class _Replacing(MemoryObjects):
    """Refuses a second creation after it has written."""

    def create(self, name: str, data: bytes) -> None:
        is_there = name in self.objects
        self.put(name, data)
        if is_there:
            raise ObjectExists(name)


class _Racing(MemoryObjects):
    """Checks, and then acts: two writers that come at the same time both create."""

    def create(self, name: str, data: bytes) -> None:
        if "/race-" in name and data != b"00":
            self.put(name, data)
        else:
            super().create(name, data)


class _ByParts(MemoryObjects):
    """Lists in the order of a directory tree."""

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        return iter(sorted(super().list_from(prefix, after), key=lambda found: found[0].split("/")))


class _WithoutAfter(MemoryObjects):
    """Ignores where a list begins."""

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        return super().list_from(prefix)


class _WithoutRanges(MemoryObjects):
    """Answers every range with the whole object."""

    def get_range(self, name: str, start: int, length: int) -> bytes:
        return super().get_range(name, 0, len(self.objects[name]))


class _Lenient(MemoryObjects):
    """Answers a range beyond the end."""

    def get_range(self, name: str, start: int, length: int) -> bytes:
        return self.objects[name][start : start + length]


class _Keeping(MemoryObjects):
    """Deletes nothing."""

    def delete(self, name: str) -> None:
        pass


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        (_Overwriting(), "an object was created twice: the store ignores the condition"),
        (_Replacing(), "a second creation of an object was refused, and still changed it"),
        (_Racing(), "writers created one object at the same time"),
        (_ByParts(), "a list is not complete, or not in the order of names"),
        (_WithoutAfter(), "a list after a name, or with a prefix, has wrong objects"),
        (_WithoutRanges(), "a range of a replaced object has wrong bytes"),
        (_Lenient(), "a range beyond the end of an object was answered"),
        (_Keeping(), "objects that were deleted are still listed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, MemoryObjects) else "",
)
def test_store_that_does_not_keep_its_promises_is_refused(store: MemoryObjects, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        verify_store(store)


def test_lost_answer_of_a_creation_is_no_reason_to_refuse() -> None:
    class Losing(_Right):
        def create(self, name: str, data: bytes) -> None:
            super().create(name, data)
            raise ObjectExists(name)

    verify_store(Losing())


def test_store_that_is_away_is_no_wrong_store() -> None:
    class Away(MemoryObjects):
        def head(self, name: str) -> int | None:
            raise ObjectStoreUnavailable("away")

    with pytest.raises(ObjectStoreUnavailable, match="away"):
        verify_store(Away())

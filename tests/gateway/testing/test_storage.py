"""Disks of a server for tests: full on request, and taken over from a killed server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mqgateway.gateway.testing.storage import InFolder, InMemory, Storage


class Loop:
    """A loop that makes each call at once."""

    def callFromThread(self, callable: Any, /, *args: Any, **kw: Any) -> None:
        callable(*args, **kw)


def storages(tmp_path: Path) -> list[Storage]:
    return [InMemory(lambda: 0), InFolder(str(tmp_path))]


def test_disk_is_full_on_request(tmp_path: Path) -> None:
    for storage in storages(tmp_path):
        storage.disk.makedirs(storage.root)
        storage.set_full(True)
        assert storage.disk.usage(storage.root)[1] == 0
        storage.set_full(False)
        assert storage.disk.usage(storage.root)[1] > 0


def test_files_and_locks_can_be_taken_over(tmp_path: Path) -> None:
    for storage in storages(tmp_path):
        storage.disk.makedirs(storage.root)
        file = storage.disk.open(f"{storage.root}/file", create=True)
        file.write(0, b"written, not synced")
        storage.disk.lock(f"{storage.root}/lock")
        if isinstance(storage, InMemory):
            with pytest.raises(BlockingIOError):
                storage.disk.lock(f"{storage.root}/lock")
        storage.worker(Loop())
        storage.take_over()
        storage.disk.lock(f"{storage.root}/lock")
        assert storage.disk.read_bytes(f"{storage.root}/file") == b"written, not synced"
        storage.take_over()


def test_memory_is_not_waited_for() -> None:
    def fail() -> None:
        raise OSError("no")

    worker, outcomes = InMemory(lambda: 0).worker(Loop()), list[Any]()
    worker.run(lambda: 1, outcomes.append)
    worker.run(fail, outcomes.append)
    assert outcomes[0] == 1 and isinstance(outcomes[1], OSError)

"""Old files are deleted one by one on a worker, in order, and retried after a failure."""

import errno

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.store.removal import PORTION, Removals, remove
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.stores import options

RETRY = 120_000


class Scene:
    """Three files in each of two directories, and their removal queue."""

    def __init__(self) -> None:
        self.disk = CrashDisk()
        self.clock = ManualClock()
        self.worker = MemoryWorker()
        self.removals = Removals(self.disk, self.clock, self.worker, options())
        for directory in ("/s/a", "/s/b"):
            self.disk.makedirs(directory)
            for name in "123":
                self.disk.open(f"{directory}/{name}", create=True).write(0, b"x")

    def add(self, *paths: str) -> None:
        for path in paths:
            self.removals.add(path)

    @property
    def left(self) -> list[str]:
        return [f"{d}{name}" for d in "ab" for name in self.disk.listdir(f"/s/{d}")]


def test_one_file_goes_at_a_time_and_not_on_the_callers_thread() -> None:
    scene = Scene()
    scene.add("/s/a/1", "/s/a/2")
    assert (len(scene.left), scene.removals.waiting, scene.worker.waiting) == (6, 2, 1)
    scene.worker.perform()
    assert scene.left[0] == "a2"
    scene.worker.perform_all()
    assert (scene.left, scene.removals.waiting) == (["a3", "b1", "b2", "b3"], 0)


def test_later_files_of_a_directory_wait_for_the_one_that_cannot_be_removed() -> None:
    scene = Scene()
    scene.disk.fail_next("unlink", "/s/a/1", errno.EACCES, times=2)
    scene.add("/s/a/1", "/s/a/2", "/s/b/1")
    scene.worker.perform_all()
    scene.add("/s/a/3")
    scene.worker.perform_all()
    assert scene.left == ["a1", "a2", "a3", "b2", "b3"]
    assert scene.removals.is_hanging("/s/a") and not scene.removals.is_hanging("/s/b")
    for _ in range(2):
        scene.clock.advance(RETRY - 1)
        scene.removals.tick()
        assert scene.worker.waiting == 0
        scene.clock.advance(1)
        scene.removals.tick()
        scene.worker.perform_all()
    assert scene.left == ["b2", "b3"]
    assert scene.removals.waiting == 0


def test_stopping_removes_what_waits() -> None:
    scene = Scene()
    scene.disk.fail_next("unlink", "/s/a/1", errno.EACCES, times=1)
    scene.disk.fail_next("unlink", "/s/b/1", errno.EACCES, times=1)
    scene.add("/s/a/1", "/s/a/2")
    scene.worker.perform_all()
    scene.add("/s/b/3", "/s/b/1", "/s/b/2", "/s/b/0")
    scene.worker.perform()
    scene.removals.finish()
    # Files behind one that cannot be deleted are kept: a log with a gap could not be opened.
    assert scene.left == ["a3", "b1", "b2"]


def test_a_file_that_has_gone_is_no_failure() -> None:
    scene = Scene()
    scene.add("/s/a/9", "/s/a/1")
    scene.worker.perform_all()
    assert scene.left[0] == "a2"


def test_a_large_file_loses_its_name_for_good_before_its_content() -> None:
    """A short file, or a missing one before others, would keep brokers from starting."""
    disk = CrashDisk()
    disk.makedirs("/s")
    size = 3 * PORTION + 5
    disk.open("/s/large", create=True).truncate(size)
    disk.sync_dir("/s")
    held = disk.open("/s/large")
    remove(disk, "/s/large")
    assert held.size() == 5
    for seed in range(10):
        assert not disk.crash(seed).exists("/s/large")


def test_the_room_is_given_back_in_portions() -> None:
    disk = CrashDisk()
    disk.makedirs("/s")
    disk.open("/s/large", create=True).truncate(2 * PORTION + 5)
    held = disk.open("/s/large")
    disk.fail_next("truncate", "/s/large")
    with pytest.raises(OSError):
        remove(disk, "/s/large")
    assert held.size() == 2 * PORTION + 5
    assert not disk.exists("/s/large")

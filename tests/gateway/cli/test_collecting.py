"""Garbage collection: long-lived entries are scanned once, at a new maximum, and then frozen."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from mqgateway.gateway.cli.collecting import ENTRIES, FULL_PASS_EVERY, Collecting, EntryCounter


class Table:
    """Entries that live long."""

    def __init__(self) -> None:
        self.kept: list[dict[str, object]] = []

    @property
    def entries(self) -> int:
        return len(self.kept)

    def grow(self, count: int) -> None:
        self.kept += [{"of": [number]} for number in range(count)]


class Loop:
    """An event loop whose calls a test runs by hand."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], None]] = []

    def soon(self, call: Callable[[], None]) -> None:
        self.asked.append(call)

    def turn(self) -> int:
        gc.collect(1)
        count = len(self.asked)
        while self.asked:
            self.asked.pop(0)()
        return count


@pytest.fixture
def collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.fixture
def scene(collector: None) -> Iterator[tuple[Table, Loop]]:
    table, loop = Table(), Loop()
    collecting = Collecting(table, loop.soon)
    yield table, loop
    collecting.end()
    assert gc.callbacks.count(collecting._passed) == 0


def test_long_lived_entries_are_not_scanned_again(scene: tuple[Table, Loop]) -> None:
    table, loop = scene
    table.grow(ENTRIES - 1)
    assert loop.turn() == 0
    table.grow(1)
    assert loop.turn() == 1
    assert not any(entry is table.kept[5] for entry in gc.get_objects())
    table.grow(ENTRIES - 1)
    assert loop.turn() == 0


def test_freeze_is_scheduled_once_and_only_at_a_new_maximum(scene: tuple[Table, Loop]) -> None:
    table, loop = scene
    table.grow(ENTRIES)
    gc.collect(1)
    gc.collect(1)
    assert len(loop.asked) == 1
    loop.turn()
    for _ in range(3):
        del table.kept[10:]
        table.grow(ENTRIES - 10)
        assert loop.turn() == 0


def test_earlier_garbage_is_collected_and_frozen_objects_are_freed_later(scene: tuple[Table, Loop]) -> None:
    table, loop = scene

    class Ring:
        def __init__(self) -> None:
            self.me: object = self

    before, kept = Ring(), Table()
    gone, ended = weakref.ref(before), weakref.ref(kept)
    del before
    table.grow(ENTRIES)
    loop.turn()
    assert gone() is None
    del kept
    assert ended() is None


def test_full_passes_are_rare(scene: tuple[Table, Loop]) -> None:
    assert gc.get_threshold()[2] == FULL_PASS_EVERY
    assert isinstance(scene[0], EntryCounter) and not isinstance(object(), EntryCounter)

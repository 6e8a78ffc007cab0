"""What a server keeps is looked at once, when there is more of it than ever, and never again."""

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
    """What was asked of the loop, done by hand."""

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


def test_what_came_to_be_is_not_looked_at_again(scene: tuple[Table, Loop]) -> None:
    table, loop = scene
    table.grow(ENTRIES - 1)
    assert loop.turn() == 0
    table.grow(1)
    assert loop.turn() == 1
    assert not any(entry is table.kept[5] for entry in gc.get_objects())
    table.grow(ENTRIES - 1)
    assert loop.turn() == 0


def test_it_is_asked_for_once_and_only_when_there_are_more_than_ever(scene: tuple[Table, Loop]) -> None:
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


def test_garbage_of_before_is_found_and_what_is_let_go_of_later_goes(scene: tuple[Table, Loop]) -> None:
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

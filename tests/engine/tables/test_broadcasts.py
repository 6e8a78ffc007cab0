"""Offsets of broadcasting clients: observed per client, used when a path changes, committed for a group."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.broadcasts import UNKNOWN, BroadcastOffsets

ONE, TWO = ("T", "G", "one"), ("T", "G", "two")
ELSEWHERE = 1000


class Watch:
    """Broadcast offsets, their clock, connected members and commits."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.options = BrokerOptions(
            broadcast_offset_expire_second=120, broadcast_offset_expire_max_second=300
        )
        self.offsets = BroadcastOffsets(self.options, self.clock)
        self.online = {"one", "two"}
        self.committed: dict[tuple[str, str, int], int] = {}

    def scan(self) -> None:
        def commit(group: str, topic: str, queue_id: int, offset: int) -> None:
            self.committed[group, topic, queue_id] = offset

        self.offsets.scan(lambda group: self.online, commit)

    def first(self, key: tuple[str, str, str], asked: int, from_proxy: bool) -> int:
        return self.offsets.first_offset(key, 0, asked, from_proxy, lambda: ELSEWHERE)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.mark.parametrize("from_proxy", [False, True])
def test_client_that_stays_on_its_path_decides_itself(watch: Watch, from_proxy: bool) -> None:
    assert watch.first(ONE, 5, from_proxy) == UNKNOWN
    watch.offsets.pulled(ONE, 0, 5, from_proxy)
    assert watch.first(ONE, 6, from_proxy) == UNKNOWN


@pytest.mark.parametrize("from_proxy", [False, True])
def test_client_that_changes_its_path_continues_where_it_was(watch: Watch, from_proxy: bool) -> None:
    watch.offsets.pulled(ONE, 0, 5, from_proxy)
    assert watch.first(ONE, 0, not from_proxy) == 5
    watch.offsets.pulled(ONE, 0, 5, not from_proxy)
    assert watch.first(ONE, 5, not from_proxy) == UNKNOWN


def test_a_queue_it_never_read_begins_elsewhere(watch: Watch) -> None:
    watch.offsets.pulled(ONE, 7, 5, False)
    assert watch.first(ONE, 0, True) == ELSEWHERE


def test_a_proxy_without_an_offset_is_given_one(watch: Watch) -> None:
    """The client's if known, else that of another source, or none."""
    assert watch.first(ONE, -1, True) == ELSEWHERE
    watch.offsets.pulled(ONE, 0, 5, True)
    assert watch.first(ONE, -1, True) == 5
    assert watch.first(TWO, -1, True) == ELSEWHERE
    assert watch.first(TWO, 3, True) == UNKNOWN
    assert watch.first(TWO, -1, False) == UNKNOWN


def test_offsets_only_grow(watch: Watch) -> None:
    for offset in (5, 9, 3):
        watch.offsets.pulled(ONE, 0, offset, False)
    assert watch.first(ONE, 0, True) == 9


def test_the_least_offset_of_a_group_is_committed(watch: Watch) -> None:
    watch.offsets.pulled(ONE, 0, 5, False)
    watch.offsets.pulled(TWO, 0, 3, True)
    watch.offsets.pulled(TWO, 1, 8, True)
    watch.scan()
    assert watch.committed == {("G@broadcast", "T", 0): 3, ("G@broadcast", "T", 1): 8}


def test_a_client_that_is_gone_is_forgotten_after_a_while(watch: Watch) -> None:
    watch.offsets.pulled(ONE, 0, 5, False)
    watch.offsets.pulled(TWO, 0, 3, False)
    watch.online = {"one"}
    watch.clock.advance(119_999)
    watch.scan()
    assert watch.committed.pop(("G@broadcast", "T", 0)) == 3
    watch.clock.advance(1)
    watch.scan()
    assert watch.committed.pop(("G@broadcast", "T", 0)) == 5, "the one that is gone counts no more"
    assert len(watch.offsets) == 1
    watch.clock.advance(180_000)
    watch.scan()
    assert len(watch.offsets) == 0, "a connected one is kept for longer"
    watch.committed.clear()
    watch.scan()
    assert watch.committed == {}
    assert watch.first(ONE, 0, True) == UNKNOWN


def test_only_so_many_offsets_are_kept(watch: Watch) -> None:
    watch.options.max_offsets = 2
    for key, queue_id in ((ONE, 0), (ONE, 1), (ONE, 2), (TWO, 0)):
        watch.offsets.pulled(key, queue_id, 5, False)
    assert len(watch.offsets) == 2
    watch.offsets.pulled(ONE, 0, 6, False)
    assert watch.first(ONE, 0, True) == 6
    watch.online = set()
    watch.clock.advance(120_000)
    watch.scan()
    watch.offsets.pulled(TWO, 0, 5, False)
    assert len(watch.offsets) == 1

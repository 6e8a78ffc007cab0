"""Cold reads: what counts as cold, when a group reads too much of it, and thresholds that follow the load."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.cold_reads import HISTORY, LIFE_MILLIS, ColdReads
from mqgateway.engine.options import BrokerOptions, StoreOptions

MEMORY = 1000


class Watch:
    """Cold reads of a machine with little memory: 100 bytes a group, 300 for all."""

    def __init__(self, **options: bool) -> None:
        self.clock = ManualClock()
        self.options = BrokerOptions(cg_cold_read_threshold=100, global_cold_read_threshold=300)
        for name, value in options.items():
            setattr(self.options, name, value)
        self.store_options = StoreOptions(cold_data_flow_control_enable=True)
        self.reads = ColdReads(self.options, self.store_options, self.clock, MEMORY)

    def tick(self) -> None:
        self.clock.advance(5000)
        self.reads.tick()

    def table(self, name: str) -> dict[str, int]:
        table: dict[str, int] = self.reads.to_json()[name]
        return table


@pytest.fixture
def watch() -> Watch:
    return Watch()


def test_cold_is_what_lies_behind_the_hot_part_of_memory(watch: Watch) -> None:
    assert not watch.reads.is_cold(260)
    assert watch.reads.is_cold(261)
    watch.store_options.access_message_in_memory_hot_ratio = 50
    assert not watch.reads.is_cold(500)


def test_a_group_above_its_threshold_reads_too_much_until_the_next_tick(watch: Watch) -> None:
    watch.reads.read("g", 99)
    assert not watch.reads.is_too_much("g")
    watch.reads.read("g", 1)
    assert watch.reads.is_too_much("g")
    assert not watch.reads.is_too_much("h")
    watch.tick()
    assert not watch.reads.is_too_much("g")


def test_above_the_global_threshold_every_group_that_reads_cold_reads_too_much(watch: Watch) -> None:
    for group in ("a", "b", "c", "d"):
        watch.reads.read(group, 75)
    assert watch.reads.is_too_much("a")
    assert not watch.reads.is_too_much("fresh")


def test_the_brokers_own_groups_are_left_alone(watch: Watch) -> None:
    watch.reads.read("CID_RMQ_SYS_TRANS", 5000)
    assert not watch.reads.is_too_much("CID_RMQ_SYS_TRANS")
    assert watch.reads.to_json()["globalAcc"] == 0


def test_an_administrator_says_what_is_too_much(watch: Watch) -> None:
    assert watch.reads.set_threshold("g", 10)
    watch.reads.read("g", 10)
    assert watch.reads.is_too_much("g")
    watch.reads.remove_threshold("g")
    watch.reads.remove_threshold("nobody")
    assert not watch.reads.is_too_much("g")


def test_a_group_that_reads_nothing_cold_any_more_is_forgotten(watch: Watch) -> None:
    watch.reads.read("g", 50)
    shown = watch.reads.to_json()
    now = watch.clock.millis()
    assert shown["runtimeTable"] == {
        "g": {"coldAcc": 50, "createTimeMills": now, "lastColdReadTimeMills": now}
    }
    assert (shown["globalAcc"], shown["cgColdReadThreshold"], shown["globalColdReadThreshold"]) == (
        50,
        100,
        300,
    )
    watch.tick()
    assert watch.table("runtimeTable")["g"]
    watch.clock.advance(LIFE_MILLIS)
    watch.tick()
    assert watch.table("runtimeTable") == {}


def test_only_so_many_groups_are_kept(watch: Watch) -> None:
    watch.options.max_groups = 1
    for group in ("a", "b"):
        watch.reads.read(group, 500)
    assert list(watch.table("runtimeTable")) == ["a"]
    assert watch.reads.set_threshold("a", 1)
    assert not watch.reads.set_threshold("b", 1)
    assert watch.reads.set_threshold("a", 2)


def test_thresholds_grow_while_there_is_room_and_shrink_when_there_is_not() -> None:
    """Never below the general one; those an administrator set stay."""
    watch = Watch(cold_ctr_strategy_enable=True, use_pid_cold_ctr_strategy=False)
    watch.reads.set_threshold("set", 10)
    for group in ("g", "set"):
        watch.reads.read(group, 120)
    watch.tick()
    assert watch.table("configTable") == {"set": 10, "g||adaptive": 150}
    watch.reads.read("g", 149)
    assert not watch.reads.is_too_much("g")
    watch.reads.read("g", 200)
    watch.tick()
    assert watch.table("configTable")["g||adaptive"] == 120
    watch.reads.read("g", 400)
    watch.tick()
    assert watch.table("configTable")["g||adaptive"] == 100
    watch.clock.advance(LIFE_MILLIS)
    watch.tick()
    assert watch.table("configTable") == {"set": 10}


def test_thresholds_that_were_found_go_with_the_strategy() -> None:
    watch = Watch(cold_ctr_strategy_enable=True, use_pid_cold_ctr_strategy=False)
    watch.reads.read("g", 120)
    watch.tick()
    watch.options.cold_ctr_strategy_enable = False
    watch.reads.read("g", 100)
    assert watch.reads.is_too_much("g")
    watch.tick()
    assert watch.table("configTable") == {}


def test_the_tendency_of_ten_ticks_decides() -> None:
    """Little is read for long, so a group may read more; then much is, so it may less."""
    watch = Watch(cold_ctr_strategy_enable=True)
    for _ in range(HISTORY - 1):
        watch.reads.read("g", 120)
        watch.tick()
    assert watch.table("configTable") == {}, "nothing is known yet"
    watch.reads.read("g", 120)
    watch.tick()
    assert watch.table("configTable") == {"g||adaptive": 150}
    for _ in range(HISTORY):
        watch.reads.read("g", 5000)
        watch.tick()
    assert watch.table("configTable") == {"g||adaptive": 100}

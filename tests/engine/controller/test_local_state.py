"""Broker sets on disk: agreed changes survive any end, and a doubtful change is not agreed."""

from __future__ import annotations

import errno

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.controller.events import ApplyBrokerId, ElectMaster, Event
from mqgateway.engine.controller.local_state import LocalState
from mqgateway.engine.controller.state import Leader, NotLeading
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.controller.sets import address, code

PATH = "/controller/brokerSets.json"
ME = Leader("n0", "127.0.0.1:9877")


def opened(disk: CrashDisk, worker: MemoryWorker | None = None) -> LocalState:
    return LocalState(ME, disk, PATH, ManualClock(), worker)


def applied(number: int, name: str = "brk") -> ApplyBrokerId:
    return ApplyBrokerId(name, "CL", address(number), number, code(number))


def propose(state: LocalState, *events: Event) -> list[Exception | None]:
    on_agreed: list[Exception | None] = []
    for event in events:
        state.propose(event, on_agreed.append)
    return on_agreed


def test_sets_outlive_a_kill_and_a_stop() -> None:
    disk = CrashDisk()
    state = opened(disk)
    assert propose(state, applied(1), ElectMaster("brk", 1), applied(1, "other")) == [None] * 3
    killed = opened(disk.kill())
    assert killed.sets == state.sets
    assert (state.term, killed.term) == (1, 2)


def test_a_stop_leaves_the_table_alone() -> None:
    disk = CrashDisk()
    state = opened(disk)
    propose(state, applied(1), ElectMaster("brk", 1))
    state.close(lambda: None)
    assert not [name for name in disk.listdir("/controller") if "journal" in name]
    assert opened(disk.crash(2)).sets == state.sets


def test_proposal_is_answered_when_durable() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    state = opened(disk, worker)
    worker.perform_all()
    on_agreed = propose(state, applied(1))
    assert on_agreed == []
    worker.perform_all()
    assert on_agreed == [None]
    assert "brk" in opened(disk.crash(1)).sets


@pytest.mark.parametrize("lazy", [False, True])
def test_a_power_cut_at_any_operation_keeps_what_was_agreed(lazy: bool) -> None:
    """Of proposed changes that were not agreed a prefix may exist. Terms are not reused."""
    cuts = 0
    for seed in range(6):
        disk = CrashDisk()
        worker = MemoryWorker() if lazy else None
        states: list[dict[str, BrokerSet]] = [{}]
        agreed = [0]
        terms = [0]

        def check(
            operation: Operation,
            disk: CrashDisk = disk,
            states: list[dict[str, BrokerSet]] = states,
            agreed: list[int] = agreed,
            terms: list[int] = terms,
            seed: int = seed,
        ) -> None:
            nonlocal cuts
            cuts += 1
            found = opened(disk.crash(seed * 997 + operation.number))
            assert dict(found.sets) in states[agreed[0] :], (seed, operation)
            assert found.term >= terms[0]

        disk.watch = check
        state = opened(disk, worker)
        terms[0] = 0 if worker else 1
        events: list[Event] = [applied(1), ElectMaster("brk", 1), applied(2), ElectMaster("brk", None)]
        for number, event in enumerate([*events, applied(1, "other"), ElectMaster("brk", 2)], 1):
            expected = CrashDisk()
            copy = opened(expected)
            copy._sets = dict(states[-1])
            propose(copy, event)
            states.append(dict(copy.sets))

            def on_agreed(error: Exception | None, number: int = number, agreed: list[int] = agreed) -> None:
                assert error is None
                agreed[0] = number

            state.propose(event, on_agreed)
            if worker is not None and number % 2:
                worker.perform()
        if worker is not None:
            worker.perform_all()
        assert agreed[0] == len(states) - 1
        state.close(lambda: None)
        disk.watch = None
        assert dict(opened(disk.crash(seed)).sets) == states[-1]
    assert cuts > 100


def test_a_torn_tail_is_cut_and_what_comes_after_it_counts() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    state = opened(disk, worker)
    worker.perform_all()
    propose(state, applied(1))
    (journal,) = [name for name in disk.listdir("/controller") if "journal" in name][-1:]
    path = f"/controller/{journal}"
    size = disk.size(path)
    disk.open(path).truncate(size - 3)
    disk = disk.kill()
    again = opened(disk)
    assert not again.sets
    assert propose(again, applied(1), ElectMaster("brk", 1)) == [None, None]
    assert opened(disk.kill()).sets["brk"].master == 1


def test_thousands_of_events_are_there_after_a_start() -> None:
    """RocketMQ's controller loses its log after an empty snapshot."""
    disk = CrashDisk()
    state = opened(disk)
    propose(state, applied(1), applied(2))
    for number in range(2300):
        assert propose(state, ElectMaster("brk", 1 + number % 2)) == [None]
    again = opened(disk.crash(5))
    assert again.sets == state.sets
    assert again.sets["brk"].master_epoch == 2300


def test_controller_leads_again_when_writes_succeed() -> None:
    disk = CrashDisk()
    state = opened(disk)
    propose(state, applied(1))
    disk.fail_next("any", error=errno.ENOSPC, times=1000)
    (error,) = propose(state, ElectMaster("brk", 1))
    assert isinstance(error, OSError)
    assert not state.is_leader and state.leader is None
    (error,) = propose(state, ElectMaster("brk", 1))
    assert isinstance(error, NotLeading)
    state.tick()
    assert not state.is_leader
    disk.heal()
    state.tick()
    assert state.is_leader and state.leader == ME
    before = dict(state.sets)
    assert dict(opened(disk.crash(3)).sets) == before
    assert propose(state, ElectMaster("brk", 1)) == [None]


@pytest.mark.parametrize("call", ["write", "sync", "sync_dir", "rename"])
def test_doubtful_write_is_settled_before_next_answer(call: str) -> None:
    """Whatever part of a failed event returns after a crash, no epoch is reported twice."""
    for skip in range(6):
        disk = CrashDisk()
        state = opened(disk)
        propose(state, applied(1))
        disk.fail_next(call, skip=skip)
        on_agreed: list[Exception | None] = []
        for _ in range(4):
            on_agreed += propose(state, ElectMaster("brk", 1))
        for _ in range(3):
            state.tick()
        assert state.is_leader
        agreed = sum(1 for one in on_agreed if one is None)
        found = opened(disk.crash(skip)).sets["brk"]
        assert found.master_epoch == state.sets["brk"].master_epoch >= agreed


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b'{"brokerSets":{"brk":{"cluster":"CL"}}}', b'{"brokerSets":7}']
)
def test_a_file_that_cannot_be_read_stops_the_start_and_stays(text: bytes) -> None:
    disk = CrashDisk()
    state = opened(disk)
    propose(state, applied(1))
    state.close(lambda: None)
    file = disk.open(PATH)
    file.truncate(0)
    file.write(0, text)
    for _ in range(2):
        with pytest.raises(ConfigError, match=PATH):
            opened(disk)
    assert disk.read_bytes(PATH) == text


def test_a_disk_that_takes_nothing_stops_the_start() -> None:
    disk = CrashDisk()
    disk.fail_next("any", error=errno.EROFS, times=1000)
    with pytest.raises(ConfigError, match="cannot be written"):
        opened(disk)

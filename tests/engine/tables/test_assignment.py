"""Assignment of queues: every queue once, evenly, in RocketMQ's order; and the stored modes."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions, RequestMode
from mqgateway.engine.tables.assignment import (
    STRATEGIES,
    Mode,
    RequestModes,
    Strategy,
    averagely,
    by_circle,
    java_order,
    pops_everything,
    shared,
)
from mqgateway.engine.tables.jsonfile import load_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker

PATH = "/config/messageRequestMode.json"
POP_2 = Mode(RequestMode.POP, 2)

counts = st.integers(1, 40)


def names(count: int) -> list[str]:
    return [f"client{number:02}" for number in range(count)]


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=list(STRATEGIES))
@given(queues=counts, clients=counts)
def test_every_queue_goes_to_one_client_and_all_have_as_many(
    strategy: Strategy[int], queues: int, clients: int
) -> None:
    found = [strategy(client, range(queues), names(clients)) for client in names(clients)]
    assert sorted(chain.from_iterable(found)) == list(range(queues))
    assert max(map(len, found)) - min(map(len, found)) <= 1


@pytest.mark.parametrize(
    ("strategy", "queues", "clients", "expected"),
    [
        (averagely, 8, 3, [[0, 1, 2], [3, 4, 5], [6, 7]]),
        (averagely, 4, 4, [[0], [1], [2], [3]]),
        (averagely, 2, 4, [[0], [1], [], []]),
        (averagely, 7, 2, [[0, 1, 2, 3], [4, 5, 6]]),
        (by_circle, 8, 3, [[0, 3, 6], [1, 4, 7], [2, 5]]),
        (by_circle, 2, 4, [[0], [1], [], []]),
    ],
)
def test_shares_are_those_of_the_standard(
    strategy: Strategy[int], queues: int, clients: int, expected: list[list[int]]
) -> None:
    """Results of RocketMQ's strategies for the same numbers."""
    assert [strategy(one, range(queues), names(clients)) for one in names(clients)] == expected


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=list(STRATEGIES))
def test_non_member_gets_no_queues(strategy: Strategy[int]) -> None:
    assert strategy("stranger", range(4), names(2)) == []
    assert shared(strategy, "stranger", range(4), names(3), 1) == []


def test_popping_client_shares_queues_of_next_clients() -> None:
    """The last one wraps around to the first."""
    found = [shared(averagely, one, range(8), names(4), 1) for one in names(4)]
    assert found == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7], [6, 7, 0, 1]]


@given(queues=counts, clients=st.integers(2, 40), share=st.integers(1, 40))
def test_shared_queues_are_popped_by_one_client(queues: int, clients: int, share: int) -> None:
    """Each client has queues, each queue has clients."""
    if pops_everything(share, names(clients)):
        return
    found = [shared(averagely, one, range(queues), names(clients), share) for one in names(clients)]
    assert all(found)
    assert set(chain.from_iterable(found)) == set(range(queues))
    assert all(len(set(one)) == len(one) for one in found)


def test_with_more_clients_than_queues_each_pops_one() -> None:
    assert [shared(averagely, one, range(2), names(5), 1) for one in names(5)] == [[0], [1], [0], [1], [0]]


@pytest.mark.parametrize(("share", "everything"), [(-1, True), (0, True), (1, False), (2, True), (3, True)])
def test_sharing_with_all_the_others_is_popping_everything(share: int, everything: bool) -> None:
    assert pops_everything(share, names(3)) is everything


def test_texts_are_in_the_order_of_their_utf_16_units() -> None:
    assert sorted(["\uffff", "\U0001f980", "b", "a"], key=java_order) == ["a", "b", "\U0001f980", "\uffff"]


@pytest.fixture
def disk() -> CrashDisk:
    return CrashDisk()


@pytest.fixture
def modes(disk: CrashDisk) -> RequestModes:
    return RequestModes(BrokerOptions(max_request_modes=3), disk, PATH, ManualClock())


def read(disk: CrashDisk) -> RequestModes:
    """Return the content of the file."""
    found = RequestModes(BrokerOptions(), disk, PATH, ManualClock())
    found.load()
    return found


def test_a_mode_is_kept_in_the_standards_file(modes: RequestModes, disk: CrashDisk) -> None:
    assert modes.set("T", "G", POP_2)
    assert load_table(disk, PATH) == {
        "messageRequestModeMap": {
            "T": {"G": {"consumerGroup": "G", "mode": "POP", "popShareQueueNum": 2, "topic": "T"}}
        }
    }
    again = read(disk)
    assert again.get("T", "G") == POP_2
    assert again.get("T", "H") is None
    assert len(again) == 1


def test_only_so_many_are_kept(modes: RequestModes) -> None:
    for group in "abc":
        assert modes.set("T", group, POP_2)
    assert not modes.set("T", "d", POP_2)
    assert modes.set("T", "c", Mode(RequestMode.PULL, 0)), "a known one may change"
    modes.remove_group("a")
    assert modes.set("T", "d", POP_2)


def test_deleted_topic_or_group_loses_its_modes(modes: RequestModes, disk: CrashDisk) -> None:
    modes.set("T", "G", POP_2)
    modes.set("U", "G", POP_2)
    modes.remove_topic("T")
    assert modes.get("T", "G") is None
    modes.remove_group("G")
    modes.remove_group("nobody")
    assert len(modes) == 0
    assert load_table(disk, PATH) == {"messageRequestModeMap": {}}


def test_each_choice_outlives_the_process_before_the_file_is_written(disk: CrashDisk) -> None:
    """Changes that the worker has not written are in the file's journal."""
    modes = RequestModes(BrokerOptions(), disk, PATH, ManualClock(), MemoryWorker())
    for topic in "TUV":
        for group in "GH":
            modes.set(topic, group, POP_2)
    modes.remove_topic("T")
    modes.set("U", "H", Mode(RequestMode.PULL, 0))
    modes.remove_group("G")
    modes.remove_group("nobody")
    assert not disk.exists(PATH)
    again = read(disk.kill())
    assert again.to_json() == modes.to_json()
    assert (len(again), again.get("U", "H")) == (2, Mode(RequestMode.PULL, 0))


def test_the_file_has_what_was_there_when_its_writing_began(disk: CrashDisk) -> None:
    """And the journal has the changes made while the worker wrote it."""
    worker = MemoryWorker()
    modes = RequestModes(BrokerOptions(), disk, PATH, ManualClock(), worker)
    modes.set("T", "G", POP_2)
    modes.set("T", "H", POP_2)
    worker.perform()
    written = load_table(disk, PATH)
    assert written is not None and list(written["messageRequestModeMap"]["T"]) == ["G"]
    assert read(disk.kill()).to_json() == modes.to_json()


def test_the_end_leaves_the_file_alone(disk: CrashDisk) -> None:
    modes = RequestModes(BrokerOptions(), disk, PATH, ManualClock(), MemoryWorker())
    modes.set("T", "G", POP_2)
    modes.close()
    assert disk.listdir("/config") == ["messageRequestMode.json"]
    assert read(disk).get("T", "G") == POP_2


def test_a_failed_write_is_tried_again(modes: RequestModes, disk: CrashDisk) -> None:
    for name in (f"{PATH}.journal0", f"{PATH}.tmp"):
        disk.fail_next("write", name)
    modes.set("T", "G", POP_2)
    assert not disk.exists(PATH)
    modes.retry()
    assert read(disk.kill()).get("T", "G") == POP_2


def test_a_master_s_choices_are_taken_over_whole_or_not_at_all(modes: RequestModes, disk: CrashDisk) -> None:
    modes.set("old", "G", POP_2)
    fields = {"messageRequestModeMap": {"T": {"G": {"mode": "POP", "popShareQueueNum": 2}}}}
    modes.adopt(fields)
    assert (len(modes), modes.get("T", "G"), modes.get("old", "G")) == (1, POP_2, None)
    with pytest.raises(ConfigError):
        modes.adopt({"messageRequestModeMap": {"T": {"G": {"mode": 2}}}})
    assert read(disk.kill()).to_json() == modes.to_json()


def test_a_place_that_no_mode_has_is_an_error(disk: CrashDisk) -> None:
    disk.makedirs("/config")
    text = b'{"messageRequestModeMap":{"T":{"G":{"mode":2}}}}'
    disk.open(PATH, create=True).write(0, text)
    with pytest.raises(ConfigError):
        read(disk)

"""Groups that read much old data: push consumers are refused, others wait and get one message at a time."""

from __future__ import annotations

import pytest

from mqgateway.engine.cold_reads import ColdReads
from mqgateway.engine.store.message_store import GetResult, GetStatus
from mqgateway.gateway.broker.consume.cold_pulls import HOLD_MILLIS, count_cold
from mqgateway.gateway.codec.codes import ResponseCode
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.broker.helpers import MemoryBroker

BUSY = (ResponseCode.SYSTEM_BUSY, "This consumer group is reading cold data. It has been flow control")


@pytest.fixture
def memory() -> MemoryBroker:
    """A broker with 1000 bytes of memory: of thirty messages all but the last two are cold."""
    memory = MemoryBroker(
        store_options={"cold_data_flow_control_enable": True}, options={"cg_cold_read_threshold": 500}
    )
    broker = memory.broker
    broker.consume.cold_reads = ColdReads(broker.options, broker.store_options, broker.clock, memory=1000)
    memory.add_topic("T")
    for number in range(30):
        memory.send(body=b"%02d" % number)
    memory.subscribe("G", "T")
    memory.subscribe("A", "T", consume_type="CONSUME_ACTIVELY")
    return memory


def test_old_messages_are_counted_and_then_refused(memory: MemoryBroker) -> None:
    """The newest messages are returned to every group."""
    assert len(memory.pull(max_msg_nums=3).messages) == 3
    assert memory.broker.consume.cold_reads.to_json()["runtimeTable"]["G"]["coldAcc"] > 500
    refused = memory.pull(offset=3)
    assert (refused.code, refused.remark) == BUSY
    assert memory.broker.flow_control.totals == {"cold data": 1}
    assert memory.pull(offset=29).code == 0
    memory.broker.consume.cold_reads.tick()
    assert memory.pull(offset=3, max_msg_nums=1).code == 0


def test_fresh_messages_do_not_count(memory: MemoryBroker) -> None:
    memory.pull(offset=29)
    assert memory.broker.consume.cold_reads.to_json()["runtimeTable"] == {}


def test_throttled_pull_by_itself_waits_and_gets_one_message(memory: MemoryBroker) -> None:
    """Also if a message arrives meanwhile."""
    memory.pull(group="A", max_msg_nums=3)
    answer = memory.pull(offset=3, group="A", max_msg_nums=8)
    assert answer.waits
    memory.send()
    memory.wait(HOLD_MILLIS - 100)
    assert answer.waits
    memory.wait(200)
    assert [one.body for one in answer.messages] == [b"03"]


def test_a_worker_brings_what_was_put_off(memory: MemoryBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pull(group="A", max_msg_nums=3)
    cold = ColdStore(memory.broker.store, monkeypatch, times=1)
    answer = memory.pull(offset=3, group="A")
    memory.wait(HOLD_MILLIS + 100)
    assert answer.waits
    assert cold.bring() == 1
    assert ([one.body for one in answer.messages], cold.waits) == ([b"03"], 0)


def test_a_worker_brings_what_cannot_be_put_off(
    memory: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.options.max_held_pulls = 0
    memory.pull(group="A", max_msg_nums=3)
    cold = ColdStore(memory.broker.store, monkeypatch, times=1)
    answer = memory.pull(offset=3, group="A")
    assert answer.waits
    assert cold.bring() == 1
    assert (len(answer.messages), cold.waits) == (1, 0)


def test_without_room_to_wait_it_gets_one_message_at_once(memory: MemoryBroker) -> None:
    memory.options.max_held_pulls = 0
    memory.pull(group="A", max_msg_nums=3)
    assert len(memory.pull(offset=3, group="A", max_msg_nums=8).messages) == 1


def test_nothing_is_counted_unless_that_is_wanted(memory: MemoryBroker) -> None:
    memory.store_options.cold_data_flow_control_enable = False
    memory.pull(max_msg_nums=3)
    assert memory.pull(offset=3).code == 0
    assert memory.broker.consume.cold_reads.to_json()["runtimeTable"] == {}


def test_with_a_scan_only_reads_from_the_disk_count(memory: MemoryBroker) -> None:
    memory.store_options.cold_data_scan_enable = True
    found = GetResult(GetStatus.FOUND, 1, 0, 9, b"x" * 600, [0], behind=5000)
    count_cold(memory.broker, "G", found, was_brought=False)
    assert not memory.broker.consume.cold_reads.is_too_much("G")
    count_cold(memory.broker, "G", found, was_brought=True)
    assert memory.broker.consume.cold_reads.is_too_much("G")


def test_a_slow_group_is_shut_out(memory: MemoryBroker) -> None:
    """Unless it has caught up by the time that is looked at."""
    memory.options.disable_consume_if_consumer_read_slowly = True
    memory.options.consumer_fallbehind_threshold = 1000
    slow_consumers, groups = memory.broker.consume.slow_consumers, memory.broker.tables.groups
    memory.pull(max_msg_nums=1)
    memory.pull(offset=30)
    slow_consumers.shut_out(groups)
    assert memory.pull(offset=29).code == 0
    memory.pull(max_msg_nums=1)
    slow_consumers.shut_out(groups)
    answer = memory.pull(offset=29)
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "subscription group no permission, G",
    )

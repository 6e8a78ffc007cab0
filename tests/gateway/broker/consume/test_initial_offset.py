"""Broadcasting consumers: they keep their offsets themselves, the broker helps when their road changes."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker.consume.initial_offset import begins_fresh
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers.pull import PROXY_FOR_BROADCAST
from tests.support.gateway.broker.helpers import CONSUMER, Answer, FakePeer, MemoryBroker

FOUND, NOT_FOUND, MOVED = 0, int(ResponseCode.PULL_NOT_FOUND), int(ResponseCode.PULL_OFFSET_MOVED)


@pytest.fixture
def memory() -> MemoryBroker:
    """Topic T with ten messages in queue 0, read by a broadcasting client of group G."""
    memory = MemoryBroker()
    memory.add_topic("T")
    for _ in range(10):
        memory.send()
    memory.subscribe("G", "T", message_model="BROADCASTING")
    return memory


def by_proxy(memory: MemoryBroker, offset: int, client_id: str = CONSUMER) -> Answer:
    """A pull that a proxy makes for a client; the group is known to the proxy only."""
    return memory.pull(
        offset=offset,
        request_source=PROXY_FOR_BROADCAST,
        proxy_froward_client_id=client_id,
        sys_flag=4,
        subscription="*",
        sub_version=1,
        expression_type="TAG",
        peer=FakePeer("10.0.0.7:1"),
    )


def moved_to(answer: Answer) -> int:
    assert answer.code == MOVED
    assert answer.remark == "OFFSET_RESET"
    return int(answer.ext["nextBeginOffset"])


def test_client_that_moves_to_a_proxy_continues_where_it_was(memory: MemoryBroker) -> None:
    assert memory.pull(offset=4).code == FOUND
    assert moved_to(by_proxy(memory, -1)) == 4
    assert by_proxy(memory, 4).code == FOUND


def test_a_client_that_comes_back_from_a_proxy_too(memory: MemoryBroker) -> None:
    """It has its own old offset, behind what it read by the proxy."""
    memory.pull(offset=2)
    by_proxy(memory, 2)
    by_proxy(memory, 8)
    assert moved_to(memory.pull(offset=2)) == 8
    assert memory.pull(offset=8).code == FOUND


def test_a_proxys_new_client_begins_at_the_first_fresh_message(memory: MemoryBroker) -> None:
    assert moved_to(by_proxy(memory, -1, "new")) == 0
    memory.store_options.access_message_in_memory_max_ratio = 0
    assert moved_to(by_proxy(memory, -1, "another")) == 10


def test_a_new_client_begins_where_the_slowest_was(memory: MemoryBroker) -> None:
    memory.pull(offset=6)
    memory.broker.consume.broadcasts.scan(
        memory.broker.clients.consumer_ids, memory.broker.tables.offsets.commit
    )
    assert memory.broker.tables.offsets.query("G@broadcast", "T", 0) == 6
    assert moved_to(by_proxy(memory, -1, "new")) == 6


def test_a_moved_offset_is_noted_and_not_the_wrong_one(memory: MemoryBroker) -> None:
    assert memory.pull(offset=500).code == MOVED
    assert moved_to(by_proxy(memory, -1)) == 10


def test_deleted_topic_or_group_loses_offsets_of_broadcasting_clients(memory: MemoryBroker) -> None:
    for forget in (
        lambda: memory.broker.tables.offsets.remove_topic("T"),
        lambda: memory.broker.tables.offsets.remove_group("G"),
    ):
        memory.broker.tables.offsets.commit("G@broadcast", "T", 0, 6)
        forget()
        assert memory.broker.tables.offsets.query("G@broadcast", "T", 0) == -1


@pytest.mark.parametrize(
    "changed", [{"message_model": "CLUSTERING"}, {"consume_type": "CONSUME_ACTIVELY"}], ids=str
)
def test_other_consumers_are_not_watched(memory: MemoryBroker, changed: dict[str, str]) -> None:
    memory.subscribe("H", "T", **{"message_model": "BROADCASTING"} | changed)
    memory.pull(offset=4, group="H")
    assert len(memory.broker.consume.broadcasts) == 0


def test_watching_can_be_switched_off(memory: MemoryBroker) -> None:
    memory.options.enable_broadcast_offset_store = False
    memory.pull(offset=4)
    assert by_proxy(memory, -1).remark == "OFFSET_TOO_SMALL"


def test_unknown_client_is_not_watched(memory: MemoryBroker) -> None:
    """Another connection than that of the heartbeat, or a client id that is missing or too long."""
    assert memory.pull(offset=4, peer=FakePeer("10.0.0.8:1")).code == FOUND
    memory.pull(offset=4, request_source=PROXY_FOR_BROADCAST)
    by_proxy(memory, 4, "x" * 2000)
    assert len(memory.broker.consume.broadcasts) == 0


def test_a_queue_begins_fresh_while_its_first_message_is_near_the_logs_end(memory: MemoryBroker) -> None:
    assert begins_fresh(memory.broker, "T", 0)
    assert not begins_fresh(memory.broker, "T", 1)
    memory.store_options.access_message_in_memory_max_ratio = 0
    assert not begins_fresh(memory.broker, "T", 0)

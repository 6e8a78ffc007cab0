"""Offsets of groups: asked for, committed, cloned, and all at once."""

from typing import Any

import pytest

from mqgateway.engine import lenient_json
from mqgateway.gateway.broker.consume import offsets
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    CloneGroupOffsetRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.gateway.broker.helpers import Answer, MemoryBroker


@pytest.fixture
def memory() -> MemoryBroker:
    broker = MemoryBroker()
    broker.add_topic("T")
    broker.broker.tables.groups.find("G")
    return broker


def ask_offset(memory: MemoryBroker, **fields: Any) -> Answer:
    header = QueryConsumerOffsetRequestHeader(consumer_group="G", topic="T", queue_id=0, **fields)
    return memory.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)


def commit(memory: MemoryBroker, group: str = "G", topic: str = "T", offset: int = 5) -> Answer:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic=topic, queue_id=0, commit_offset=offset
    )
    return memory.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)


def test_committed_offset_is_returned(memory: MemoryBroker) -> None:
    assert commit(memory, offset=5).code == 0
    assert ask_offset(memory).ext == {"offset": "5"}


def test_a_new_group_begins_at_the_first_message(memory: MemoryBroker) -> None:
    memory.send()
    assert ask_offset(memory).ext == {"offset": "0"}
    assert ask_offset(memory, set_zero_if_not_found=True).ext == {"offset": "0"}


def test_a_client_may_want_to_know_that_it_is_new(memory: MemoryBroker) -> None:
    memory.send()
    answer = ask_offset(memory, set_zero_if_not_found=False)
    assert (answer.code, answer.remark) == (
        22,
        "Not found, do not set to zero, maybe this group boot first",
    )


def test_a_queue_without_its_first_message_has_no_beginning(memory: MemoryBroker) -> None:
    answer = ask_offset(memory)
    assert (answer.code, answer.remark) == (
        22,
        "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
    )


def test_a_queue_that_begins_far_back_has_no_beginning(memory: MemoryBroker) -> None:
    """A new group is not led through a backlog that only disks remember."""
    memory.send()
    memory.send()
    memory.store_options.access_message_in_memory_max_ratio = 0
    assert ask_offset(memory).code == 22


def test_a_commit_for_what_is_not_there(memory: MemoryBroker) -> None:
    memory.options.auto_create_subscription_group = False
    unknown_group, unknown_topic = commit(memory, group="X"), commit(memory, topic="X")
    assert (unknown_group.code, unknown_group.remark) == (26, "Group X not exist!")
    assert (unknown_topic.code, unknown_topic.remark) == (17, "Topic X not exist!")


def test_a_reset_is_not_overwritten(memory: MemoryBroker) -> None:
    """Until the group has pulled and heard of it, what it commits is out of date."""
    memory.broker.tables.offsets.assign_reset("G", "T", 0, 2)
    answer = commit(memory, offset=9)
    assert (answer.code, answer.remark) == (0, "Offset has been previously reset")
    assert ask_offset(memory).ext == {"offset": "2"}


def test_so_many_offsets_are_kept_only(memory: MemoryBroker) -> None:
    memory.options.max_offsets = 1
    assert commit(memory).code == 0
    memory.add_topic("U")
    refused = commit(memory, topic="U")
    assert (refused.code, refused.remark) == (1, "1 offsets are kept, no more are allowed (maxOffsets)")


def clone(memory: MemoryBroker, topic: str | None, *, offline: bool = False) -> int:
    header = CloneGroupOffsetRequestHeader(src_group="G", dest_group="H", topic=topic, offline=offline)
    return memory.ask(RequestCode.CLONE_GROUP_OFFSET, header).code


@pytest.mark.parametrize("topic", ["T", None, ""])
def test_a_group_may_start_where_another_is(memory: MemoryBroker, topic: str | None) -> None:
    commit(memory, offset=7)
    assert clone(memory, topic) == 0
    assert memory.broker.tables.offsets.query("H", "T", 0) == 7


def test_offset_of_a_connected_group_is_not_cloned(memory: MemoryBroker) -> None:
    commit(memory, offset=7)
    memory.subscribe("G", "OTHER")
    assert clone(memory, "T") == 0
    assert memory.broker.tables.offsets.query("H", "T", 0) == -1
    assert clone(memory, "T", offline=True) == 0
    assert memory.broker.tables.offsets.query("H", "T", 0) == 7


def test_a_topic_that_is_gone_is_not_cloned(memory: MemoryBroker) -> None:
    commit(memory, offset=7)
    memory.broker.tables.topics.delete("T")
    assert clone(memory, None) == 0
    assert memory.broker.tables.offsets.query("H", "T", 0) == -1


def test_the_whole_table(memory: MemoryBroker) -> None:
    commit(memory, offset=7)
    body = memory.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).arrived.body
    table = lenient_json.loads(body.decode())
    assert table["offsetTable"]["T@G"] == {0: 7}
    assert b"{0:7}" in body


def test_offsets_are_operations(memory: MemoryBroker) -> None:
    broker = memory.broker
    with pytest.raises(OperationError) as refusal:
        offsets.query_offset(broker, "G", "T", 0, set_zero_if_not_found=False)
    assert refusal.value.reason is Reason.QUERY_NOT_FOUND
    assert offsets.update_offset(broker, "G", "T", 0, 5)
    assert offsets.query_offset(broker, "G", "T", 0) == 5
    broker.tables.offsets.assign_reset("G", "T", 0, 1)
    assert not offsets.update_offset(broker, "G", "T", 0, 6)
    for group, topic, reason in (
        ("other", "T", Reason.SUBSCRIPTION_GROUP_NOT_EXIST),
        ("G", "other", Reason.TOPIC_NOT_EXIST),
    ):
        with pytest.raises(OperationError) as refusal:
            offsets.update_offset(broker, group, topic, 0, 6)
        assert refusal.value.reason is reason
    offsets.clone_offset(broker, "G", "H")
    assert offsets.all_offsets(broker)["offsetTable"] == broker.tables.offsets.to_json()["offsetTable"]

"""Lite topics as administration sees them, asked without a command."""

import pytest

from mqgateway.gateway.broker.admin import lite
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import GetLiteTopicInfoResponseBody
from tests.support.gateway.broker.lite import LiteBroker, queue


@pytest.fixture
def memory() -> LiteBroker:
    """Client c1 of G reads a; a has two messages, of which one was consumed."""
    memory = LiteBroker()
    memory.control("COMPLETE_ADD", "a")
    memory.post("a", b"1", b"2")
    answer = memory.ask_pop(max_msg_num=1)
    memory.ack(answer, answer.messages[0])
    return memory


def test_counts_and_parents(memory: LiteBroker) -> None:
    found = lite.broker_info(memory.broker)
    assert (found.current_lmq_num, found.lite_subscription_count) == (1, 1)
    assert found.topic_meta == {"chat": 20}
    parent = lite.parent_info(memory.broker, "chat")
    assert (parent.ttl, parent.lite_topic_count, parent.groups) == (20, 1, {"G"})


def test_lite_topic_is_shown_with_its_subscribers(memory: LiteBroker) -> None:
    found: list[GetLiteTopicInfoResponseBody] = []
    lite.topic_info(memory.broker, "chat", "a").addCallback(found.append)
    assert found[0].topic_offset is not None and found[0].topic_offset.max_offset == 2
    assert [one.client_id for one in found[0].subscriber] == ["c1"]
    client = lite.client_info(memory.broker, "chat", "G", "c1", 1)
    assert (client.lite_topic_count, client.lite_topic_set) == (1, {queue("a")})
    assert lite.group_info(memory.broker, "G", "a").total_lag_count == 1


def test_group_is_notified_of_all_messages_again(memory: LiteBroker) -> None:
    memory.pop(max_msg_num=0)
    list(memory.broker.lite.events.take("c1", "chat"))
    lite.trigger_dispatch(memory.broker, "G", "c1")
    assert memory.pop() == [b"2"]


def test_invalid_parent_or_group_is_refused(memory: LiteBroker) -> None:
    memory.add_topic("T")
    for topic, reason in (
        (None, Reason.TOPIC_NOT_EXIST),
        ("none", Reason.TOPIC_NOT_EXIST),
        ("T", Reason.INVALID_PARAMETER),
    ):
        with pytest.raises(OperationError) as refused:
            lite.parent_info(memory.broker, topic)
        assert refused.value.reason is reason
    with pytest.raises(OperationError) as wrong:
        lite.group_info(memory.broker, "plain", "a")
    assert wrong.value.message == "Group [plain] is not a LITE group."

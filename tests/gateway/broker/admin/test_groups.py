"""Operations on consumer groups."""

import pytest

from mqgateway.engine.steps import run
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import groups
from mqgateway.gateway.broker.errors import OperationError, Reason
from tests.support.gateway.broker.admin import AdminBroker


@pytest.fixture
def memory() -> AdminBroker:
    return AdminBroker(options={"auto_create_subscription_group": False})


def test_group_is_created_shown_and_deleted(memory: AdminBroker) -> None:
    groups.update_group(memory.broker, SubscriptionGroupConfig("g", retry_max_times=3))
    assert groups.group_config(memory.broker, "g").retry_max_times == 3
    memory.broker.tables.offsets.commit("g", "T", 0, 7)
    groups.delete_group(memory.broker, "g")
    assert memory.broker.tables.offsets.query("g", "T", 0) == 7
    groups.delete_group(memory.broker, "g", with_offsets=True)
    assert memory.broker.tables.offsets.query("g", "T", 0) == -1
    with pytest.raises(OperationError) as refused:
        groups.group_config(memory.broker, "g")
    assert refused.value.reason is Reason.SUBSCRIPTION_GROUP_NOT_EXIST


def test_list_of_groups_is_created_whole_or_not_at_all(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        run(
            groups.update_groups(memory.broker, [SubscriptionGroupConfig("g"), SubscriptionGroupConfig("h!")])
        )
    assert refused.value.reason is Reason.INVALID_PARAMETER
    assert "g" not in memory.broker.tables.groups


def test_bad_attribute_has_its_own_error(memory: AdminBroker) -> None:
    with pytest.raises(groups.BadAttribute) as refused:
        groups.update_group(memory.broker, SubscriptionGroupConfig("g", attributes={"+colour": "red"}))
    assert (refused.value.reason, refused.value.message) == (Reason.SYSTEM_ERROR, "unsupported key: colour")


def test_a_retry_topic_has_no_more_queues_than_topics_have(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        groups.update_group(memory.broker, SubscriptionGroupConfig("g", retry_queue_nums=20000))
    assert refused.value.message == "a retry topic may not have more than 16384 queues"


def test_group_is_forbidden_a_topic(memory: AdminBroker) -> None:
    assert groups.is_readable(memory.broker, "g", "T")
    groups.set_readable(memory.broker, "g", "T", False)
    assert not groups.is_readable(memory.broker, "g", "T")
    memory.options.max_forbidden = 1
    with pytest.raises(OperationError) as refused:
        groups.set_readable(memory.broker, "h", "T", False)
    assert refused.value.message == "1 topics are forbidden, no more may be"
    with pytest.raises(OperationError) as wrong:
        groups.set_readable(memory.broker, "h!", "T", False)
    assert wrong.value.reason is Reason.INVALID_PARAMETER


@pytest.mark.parametrize(
    ("before", "queues", "after"),
    [((1, 1), 2, (2, 2)), ((1, 3), 2, (2, 3)), ((4, 4), 2, (4, 4))],
    ids=["raised", "fewer to read", "lowered"],
)
def test_retry_topic_has_the_queues_of_its_group_and_loses_none(
    memory: AdminBroker, before: tuple[int, int], queues: int, after: tuple[int, int]
) -> None:
    topics = memory.broker.tables.topics
    topics.put(TopicConfig("%RETRY%g", *before))
    groups.update_group(memory.broker, SubscriptionGroupConfig("g", retry_queue_nums=queues))
    assert topics.get("%RETRY%g") == TopicConfig("%RETRY%g", *after)

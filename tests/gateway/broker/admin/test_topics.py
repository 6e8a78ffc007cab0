"""Operations on topics, typed in and typed out."""

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.steps import run
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import topics
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import MessageQueue
from tests.support.gateway.broker.admin import AdminBroker


@pytest.fixture
def memory() -> AdminBroker:
    return AdminBroker()


def test_a_topic_is_there_once_the_name_servers_know(memory: AdminBroker) -> None:
    known: Deferred[None] = Deferred()
    memory.broker.cluster.registration.heard = lambda within=None: known
    done = topics.update_topic(memory.broker, TopicConfig("T", 4, 3, attributes={"+message.type": "FIFO"}))
    assert not done.called
    found = topics.topic_config(memory.broker, "T")
    assert found.config == TopicConfig("T", 4, 3, attributes={"message.type": "FIFO"})
    assert found.mapping is None
    known.callback(None)
    assert done.called


def test_of_a_list_all_topics_are_made_or_none(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        run(topics.update_topics(memory.broker, [TopicConfig("A"), TopicConfig("b!")]))
    assert refused.value.reason is Reason.INVALID_PARAMETER
    assert "A" not in memory.broker.tables.topics
    assert run(topics.update_topics(memory.broker, [TopicConfig("A"), TopicConfig("B")])).called
    assert "A" in memory.broker.tables.topics and "B" in memory.broker.tables.topics


def test_a_bad_attribute_is_refused(memory: AdminBroker) -> None:
    with pytest.raises(OperationError) as refused:
        topics.update_topic(memory.broker, TopicConfig("T", attributes={"+colour": "red"}))
    assert (refused.value.reason, refused.value.message) == (Reason.SYSTEM_ERROR, "unsupported key: colour")


def test_a_topic_goes_with_all_that_is_known_of_it(memory: AdminBroker) -> None:
    memory.add_topic("T")
    memory.fill("T", 1)
    topics.delete_topic(memory.broker, "T")
    with pytest.raises(OperationError) as refused:
        topics.topic_stats(memory.broker, "T")
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST
    assert "T" not in memory.broker.store.queues()
    with pytest.raises(OperationError) as blank:
        topics.delete_topic(memory.broker, " ")
    assert blank.value.reason is Reason.INVALID_PARAMETER


def test_what_lies_in_a_topic_and_who_reads_it(memory: AdminBroker) -> None:
    memory.add_topic("T", queues=1)
    memory.fill("T", 3)
    memory.broker.tables.offsets.commit("g", "T", 0, 1)
    now = memory.clock.millis()
    stats = topics.topic_stats(memory.broker, "T").offset_table[MessageQueue("T", "broker-a", 0)]
    assert (stats.min_offset, stats.max_offset, stats.last_update_timestamp) == (0, 3, now)
    (span,) = topics.time_spans(memory.broker, "T", "g", now + 500)
    assert (span.min_time_stamp, span.max_time_stamp, span.delay_time) == (now - 2000, now, 1500)
    assert topics.groups_of_topic(memory.broker, "T") == {"g"}


def test_the_brokers_own_topics(memory: AdminBroker) -> None:
    memory.add_topic("T")
    found = topics.system_topics(memory.broker)
    assert "broker-a" in found and "T" not in found

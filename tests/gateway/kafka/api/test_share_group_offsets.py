"""Start offsets of share groups, as bytes."""

from collections.abc import Mapping
from typing import Any

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_groups_request import DeleteGroupsRequest
from mqgateway.gateway.kafka.codec.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionsInMemory
from tests.gateway.kafka.api.test_consumer_groups import heartbeat as consumer_heartbeat
from tests.gateway.kafka.api.test_groups import add_rocketmq_member
from tests.gateway.kafka.api.test_share_groups import heartbeat
from tests.support.gateway.kafka.broker import KafkaBroker


def broker() -> tuple[KafkaBroker, SharePartitionsInMemory]:
    """Return a broker, and the states of its share partitions."""
    kafka = KafkaBroker()
    partitions = SharePartitionsInMemory({(kafka.topic_id("orders"), 0): 10})
    kafka.coordinator.shares.attach(partitions)
    return kafka, partitions


def alter(kafka: KafkaBroker, offsets: Mapping[int, int], topic: str = "orders", group: str = "g") -> Any:
    """Set start offsets."""
    partitions = tuple(AlterShareGroupOffsetsRequestPartition(*one) for one in offsets.items())
    topics = (AlterShareGroupOffsetsRequestTopic(topic, partitions),)
    return kafka.ask(AlterShareGroupOffsetsRequest(group, topics))


def describe(kafka: KafkaBroker, topics: Any = None, version: int = 1) -> Any:
    """Describe group g."""
    group = DescribeShareGroupOffsetsRequestGroup("g", topics)
    return kafka.ask(DescribeShareGroupOffsetsRequest((group,)), version).groups[0]


def delete(kafka: KafkaBroker, *topics: str, group: str = "g") -> Any:
    """Delete start offsets."""
    named = tuple(DeleteShareGroupOffsetsRequestTopic(topic) for topic in topics)
    return kafka.ask(DeleteShareGroupOffsetsRequest(group, named))


def offsets_of(topic: Any) -> list[tuple[int, int, int]]:
    """Return number, start offset and lag of each partition."""
    return [(one.partition_index, one.start_offset, one.lag) for one in topic.partitions]


def test_offsets_are_set_described_and_deleted() -> None:
    kafka, partitions = broker()
    altered = alter(kafka, {0: 7, 3: 2})
    [topic] = altered.responses
    assert (altered.error_code, topic.topic_id) == (E.NONE, kafka.topic_id("orders"))
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [(0, 0), (3, 0)]
    [topic] = describe(kafka).topics
    assert (topic.topic_name, offsets_of(topic)) == ("orders", [(0, 7, 3), (3, 2, 0)])
    assert offsets_of(describe(kafka, version=0).topics[0]) == [(0, 7, -1), (3, 2, -1)]
    [gone] = delete(kafka, "orders").responses
    assert (gone.topic_name, gone.topic_id, gone.error_code) == ("orders", kafka.topic_id("orders"), E.NONE)
    assert (partitions.starts, describe(kafka).topics) == ({}, ())


def test_asked_topics_are_described_even_without_offsets() -> None:
    kafka, _ = broker()
    alter(kafka, {0: 7})
    asked = [
        DescribeShareGroupOffsetsRequestTopic(name, (0, 1)) for name in ("orders", "my.topic", "missing")
    ]
    orders, other, missing = describe(kafka, asked).topics
    assert offsets_of(orders) == [(0, 7, 3), (1, -1, -1)]
    assert (offsets_of(other), other.topic_id) == ([(0, -1, -1), (1, -1, -1)], kafka.topic_id("my.topic"))
    assert (offsets_of(missing), missing.topic_id) == ([(0, -1, -1), (1, -1, -1)], NO_UUID)


def test_partitions_of_members_are_described_before_they_are_fetched() -> None:
    kafka, _ = broker()
    kafka.ask(heartbeat())
    [topic] = describe(kafka).topics
    assert offsets_of(topic) == [(index, -1, -1) for index in range(4)]
    kafka.broker.tables.topics.delete("orders")
    assert describe(kafka).topics == ()


def test_wrong_offsets_are_errors() -> None:
    kafka, partitions = broker()
    [topic] = alter(kafka, {4: 1, -1: 1, 0: -1, 1: 5}).responses
    assert [one.error_code for one in topic.partitions] == [
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.INVALID_REQUEST,
        E.NONE,
    ]
    assert topic.partitions[0].error_message == "This server does not host this topic-partition."
    assert list(partitions.starts["g"]) == [(kafka.topic_id("orders"), 1)]
    [topic] = alter(kafka, {0: 1}, "missing").responses
    assert topic.partitions[0].error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    missing, other = delete(kafka, "missing", "my.topic").responses
    assert (missing.error_code, other.error_code) == (E.UNKNOWN_TOPIC_OR_PARTITION,) * 2
    assert other.error_message == "There is no offset information to delete."


def test_groups_with_members_and_of_other_types_are_refused() -> None:
    kafka, _ = broker()
    assert alter(kafka, {}, group="").error_code == delete(kafka, group="").error_code == E.INVALID_GROUP_ID
    assert delete(kafka, "orders").error_code == E.GROUP_ID_NOT_FOUND
    kafka.ask(heartbeat())
    for answer in (alter(kafka, {0: 1}), delete(kafka, "orders")):
        assert (answer.error_code, answer.error_message) == (E.NON_EMPTY_GROUP, "The group is not empty.")
    request = consumer_heartbeat()
    request.group_id = "h"
    kafka.ask(request)
    assert alter(kafka, {0: 1}, group="h").error_code == E.GROUP_ID_NOT_FOUND
    add_rocketmq_member(kafka, "i")
    assert alter(kafka, {0: 1}, group="i").error_code == E.GROUP_ID_NOT_FOUND
    assert alter(kafka, {0: 1}, group="x" * 300).error_code == E.INVALID_GROUP_ID


def test_rights_are_needed() -> None:
    kafka, _ = broker()
    alter(kafka, {0: 1})
    kafka.rights.denied |= {
        ("orders", action) for action in (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE)
    }
    assert alter(kafka, {0: 1}).responses[0].partitions[0].error_code == E.TOPIC_AUTHORIZATION_FAILED
    assert delete(kafka, "orders").responses[0].error_code == E.TOPIC_AUTHORIZATION_FAILED
    assert describe(kafka).topics == ()
    asked = (DescribeShareGroupOffsetsRequestTopic("orders", (0,)),)
    [partition] = describe(kafka, asked).topics[0].partitions
    assert partition.error_code == E.TOPIC_AUTHORIZATION_FAILED
    kafka.rights.denied |= {
        ("g", action) for action in (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.DELETE)
    }
    assert describe(kafka).error_code == E.GROUP_AUTHORIZATION_FAILED
    assert alter(kafka, {0: 1}).error_code == E.GROUP_AUTHORIZATION_FAILED
    assert delete(kafka, "orders").error_code == E.GROUP_AUTHORIZATION_FAILED


def test_deleted_group_has_no_offsets() -> None:
    kafka, partitions = broker()
    alter(kafka, {0: 7})
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NONE
    assert partitions.starts == {}

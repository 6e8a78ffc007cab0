"""Requests of members and administrators of share groups, as bytes."""

from typing import Any

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from mqgateway.gateway.kafka.codec.messages.delete_groups_request import DeleteGroupsRequest
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.share_group_describe_request import ShareGroupDescribeRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.group_names import store_group
from tests.gateway.kafka.api.test_consumer_groups import heartbeat as consumer_heartbeat
from tests.gateway.kafka.api.test_groups import add_rocketmq_member
from tests.support.gateway.kafka.broker import KafkaBroker


def heartbeat(member_id: str = "m", epoch: int = 0, **more: Any) -> ShareGroupHeartbeatRequest:
    """Return a heartbeat; one that joins subscribes to `orders`."""
    request = ShareGroupHeartbeatRequest("g", member_id, epoch, **more)
    if epoch == 0 and request.subscribed_topic_names is None:
        request.subscribed_topic_names = ("orders",)
    return request


def described(kafka: KafkaBroker, group: str = "g", **more: Any) -> Any:
    """Describe a group."""
    return kafka.ask(ShareGroupDescribeRequest((group,), **more)).groups[0]


def test_member_joins_and_leaves() -> None:
    kafka = KafkaBroker()
    joined = kafka.ask(heartbeat())
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (E.NONE, "m", 2)
    [topic] = joined.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (kafka.topic_id("orders"), (0, 1, 2, 3))
    assert kafka.ask(heartbeat("m", 2)).assignment is None
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NON_EMPTY_GROUP
    assert kafka.ask(heartbeat("m", -1)).member_epoch == -1
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NONE
    assert described(kafka).error_message == "Group g not found."


def test_group_is_described_with_its_members() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat(rack_id="r"))
    group = described(kafka, include_authorized_operations=True)
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (
        0,
        "Stable",
        2,
        2,
    )
    assert (group.assignor_name, group.authorized_operations > 0) == ("simple", True)
    [member] = group.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m", "r", 2)
    assert (member.client_id, member.client_host) == ("tester", "/10.0.0.7")
    assert member.subscribed_topic_names == ("orders",)
    [topic] = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("orders", (0, 1, 2, 3))
    kafka.ask(heartbeat("m", -1))
    assert (described(kafka).group_state, described(kafka).members) == ("Empty", ())


def test_groups_are_listed_by_type() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    request = consumer_heartbeat()
    request.group_id = "h"
    kafka.ask(request)
    listed = kafka.ask(ListGroupsRequest(types_filter=("Share",))).groups
    assert [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in listed] == [
        ("g", "share", "Stable", "share")
    ]
    assert len(kafka.ask(ListGroupsRequest(states_filter=("empty",))).groups) == 0


def test_descriptions_of_other_types_have_errors() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    classic = kafka.ask(DescribeGroupsRequest(("g",)), 6).groups[0]
    assert (classic.error_code, classic.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        "Group g is not a classic group.",
    )
    consumer = kafka.ask(ConsumerGroupDescribeRequest(("g",))).groups[0]
    assert (consumer.error_code, consumer.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        "Group g is not a consumer group.",
    )
    kafka.ask(heartbeat("m", -1))
    request = consumer_heartbeat()
    assert kafka.ask(request).error_code == E.GROUP_ID_NOT_FOUND
    request.group_id = "h"
    kafka.ask(request)
    share = described(kafka, "h")
    assert (share.error_code, share.error_message) == (E.GROUP_ID_NOT_FOUND, "Group h is not a share group.")
    assert described(kafka, "").error_code == E.INVALID_GROUP_ID


def test_rights_are_needed() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    for action in (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE):
        kafka.rights.denied.add(("orders", action))
    assert kafka.ask(heartbeat("n")).error_code == E.TOPIC_AUTHORIZATION_FAILED
    assert described(kafka).error_code == E.TOPIC_AUTHORIZATION_FAILED
    for action in (AclOperation.DESCRIBE, AclOperation.READ):
        kafka.rights.denied.add((store_group("g"), action))
    assert kafka.ask(heartbeat("m", 2)).error_code == E.GROUP_AUTHORIZATION_FAILED
    assert described(kafka).error_code == E.GROUP_AUTHORIZATION_FAILED


def test_groups_of_rocketmq_accept_no_members() -> None:
    kafka = KafkaBroker()
    add_rocketmq_member(kafka, "g")
    assert kafka.ask(heartbeat()).error_code == E.GROUP_ID_NOT_FOUND
    assert described(kafka).error_message == "Group g is not a share group."


def test_deleted_topics_are_not_described() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    kafka.broker.tables.topics.delete("orders")
    [member] = described(kafka).members
    assert member.assignment.topic_partitions == ()

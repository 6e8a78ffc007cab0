"""Requests of members and administrators of consumer groups, as bytes."""

from typing import Any

import pytest
from twisted.internet.defer import fail

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.consumer_group_describe_request import (
    ConsumerGroupDescribeRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from mqgateway.gateway.kafka.codec.messages.delete_groups_request import DeleteGroupsRequest
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.group_names import store_group
from tests.gateway.kafka.api.test_groups import add_rocketmq_member, join_request, stable
from tests.support.gateway.kafka.broker import KafkaBroker


def heartbeat(member_id: str = "m", epoch: int = 0, **more: Any) -> ConsumerGroupHeartbeatRequest:
    """Return a heartbeat; one that joins subscribes to `orders`."""
    request = ConsumerGroupHeartbeatRequest("g", member_id, epoch, **more)
    if epoch == 0:
        request.rebalance_timeout_ms, request.topic_partitions = 30_000, ()
        if request.subscribed_topic_regex is None:
            request.subscribed_topic_names = ("orders",)
    return request


def describe(kafka: KafkaBroker, *groups: str, **more: Any) -> list[Any]:
    """Describe groups."""
    described: list[Any] = kafka.ask(ConsumerGroupDescribeRequest(groups or ("g",), **more)).groups
    return described


def commit(kafka: KafkaBroker, epoch: int, version: int = 10, member_id: str = "m") -> int:
    """Commit the offset of partition 1; return the error code."""
    topic = OffsetCommitRequestTopic("orders", partitions=(OffsetCommitRequestPartition(1, 5),))
    if version >= 10:
        topic = OffsetCommitRequestTopic("", kafka.topic_id("orders"), topic.partitions)
    answer = kafka.ask(OffsetCommitRequest("g", epoch, member_id, topics=(topic,)), version)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def fetch(kafka: KafkaBroker, member_id: str | None, epoch: int) -> Any:
    """Fetch the offset of partition 1; return what comes of the group."""
    topic = OffsetFetchRequestTopics("orders", partition_indexes=(1,))
    group = OffsetFetchRequestGroup("g", member_id, epoch, (topic,))
    return kafka.ask(OffsetFetchRequest(groups=(group,)), 9).groups[0]


@pytest.mark.parametrize("version", [0, 1])
def test_member_joins_commits_fetches_and_leaves(version: int) -> None:
    kafka = KafkaBroker()
    joined = kafka.ask(heartbeat(), version)
    assert (joined.error_code, joined.member_epoch) == (E.NONE, 2)
    [topic] = joined.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (kafka.topic_id("orders"), (0, 1, 2, 3))
    assert commit(kafka, 2) == commit(kafka, 2, 9) == E.NONE
    assert [commit(kafka, *wrong) for wrong in ((3,), (2, 8), (2, 10, "x"))] == [
        E.STALE_MEMBER_EPOCH,
        E.UNSUPPORTED_VERSION,
        E.UNKNOWN_MEMBER_ID,
    ]
    for member_id, epoch in (("m", 2), (None, -1)):
        assert fetch(kafka, member_id, epoch).topics[0].partitions[0].committed_offset == 5
    assert fetch(kafka, "m", 3).error_code == E.STALE_MEMBER_EPOCH
    assert fetch(kafka, "", -1).error_code == fetch(kafka, "x", 2).error_code == E.UNKNOWN_MEMBER_ID
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NON_EMPTY_GROUP
    assert kafka.ask(heartbeat("m", -1), version).member_epoch == -1
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NONE
    assert fetch(kafka, None, -1).topics[0].partitions[0].committed_offset == -1


def test_group_is_described_with_members_assignments_and_targets() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    kafka.pass_time(1000)
    kafka.ask(heartbeat("n", subscribed_topic_regex="my.*", instance_id="i", rack_id="r"))
    [group] = describe(kafka, include_authorized_operations=True)
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (
        0,
        "Reconciling",
        3,
        3,
    )
    assert (group.assignor_name, group.authorized_operations > 0) == ("uniform", True)
    first, second = group.members
    assert (first.member_id, first.member_epoch, first.client_id, first.client_host) == (
        "m",
        2,
        "tester",
        "/10.0.0.7",
    )
    assert (first.subscribed_topic_names, first.subscribed_topic_regex, first.member_type) == (
        ("orders",),
        "",
        1,
    )
    assert (second.subscribed_topic_regex, second.instance_id, second.rack_id) == ("my.*", "i", "r")
    for described in (second.assignment, second.target_assignment):
        [topic] = described.topic_partitions
        assert (topic.topic_name, topic.partitions) == ("my.topic", (0, 1, 2, 3))


def test_groups_of_each_kind_are_described_by_their_own_request() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    stable(kafka, group="classic")
    [unknown, classic, nameless] = describe(kafka, "none", "classic", "")
    assert nameless.error_code == E.INVALID_GROUP_ID
    assert unknown.error_code == classic.error_code == E.GROUP_ID_NOT_FOUND
    assert unknown.error_message == "Group none not found."
    assert classic.error_message == "Group classic is not a consumer group."
    [described] = kafka.ask(DescribeGroupsRequest(("g",)), 6).groups
    assert (described.error_code, described.group_state) == (E.GROUP_ID_NOT_FOUND, "Dead")
    assert described.error_message == "Group g is not a classic group."
    [described] = kafka.ask(DescribeGroupsRequest(("g",)), 5).groups
    assert (described.error_code, described.group_state) == (E.NONE, "Dead")


def test_groups_are_listed_by_type_and_state() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    stable(kafka, group="classic")

    def listed(*filters: tuple[str, ...]) -> list[tuple[str, str, str, str]]:
        groups = kafka.ask(ListGroupsRequest(*filters)).groups
        return [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in groups]

    assert listed((), ("Consumer",)) == [("g", "consumer", "Stable", "consumer")]
    assert listed(("stable",)) == [
        ("g", "consumer", "Stable", "consumer"),
        ("classic", "consumer", "Stable", "classic"),
    ]
    assert listed(("assigning",)) == []


def test_classic_member_is_refused_while_the_group_has_members() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    [answer] = kafka.send(join_request())
    assert answer.error_code == E.INCONSISTENT_GROUP_PROTOCOL
    kafka.ask(heartbeat("m", -1))
    stable(kafka)
    assert kafka.ask(heartbeat()).error_code == E.GROUP_ID_NOT_FOUND


def test_group_with_members_of_rocketmq_is_refused_and_its_own_members_are_shown_to_it() -> None:
    kafka = KafkaBroker()
    add_rocketmq_member(kafka)
    assert kafka.ask(heartbeat()).error_code == E.GROUP_ID_NOT_FOUND
    other = KafkaBroker()
    other.ask(heartbeat())
    coordinated = other.broker.coordinated
    assert coordinated is not None and coordinated.has_members("g")


def test_rights_are_checked() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied = {("orders", action) for action in AclOperation}
    assert kafka.ask(heartbeat()).error_code == E.TOPIC_AUTHORIZATION_FAILED
    answer = kafka.ask(heartbeat(subscribed_topic_regex="orders|my.topic"))
    assert [topic.topic_id for topic in answer.assignment.topic_partitions] == [kafka.topic_id("my.topic")]
    kafka.rights.denied = {("my|topic", action) for action in AclOperation}
    assert describe(kafka)[0].error_code == E.TOPIC_AUTHORIZATION_FAILED
    kafka.rights.denied = {(store_group("g"), action) for action in AclOperation}
    assert kafka.ask(heartbeat("m", 2)).error_code == E.GROUP_AUTHORIZATION_FAILED
    assert describe(kafka)[0].error_code == E.GROUP_AUTHORIZATION_FAILED


def test_member_gives_up_partitions_and_another_one_takes_them() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    kafka.pass_time(1000)
    assert kafka.ask(heartbeat("n")).assignment.topic_partitions == ()
    [kept] = kafka.ask(heartbeat("m", 2)).assignment.topic_partitions
    assert kept.partitions == (0, 1)
    described = describe(kafka)[0].members[0]  # it has the others until it gives them up
    assert [
        [one.partitions for one in assignment.topic_partitions]
        for assignment in (described.assignment, described.target_assignment)
    ] == [[(0, 1, 2, 3)], [(0, 1)]]
    shown = kafka.operations.coordinated.group("g")
    assert shown is not None
    assert shown.members[0].assigned == [("orders", number) for number in range(4)]
    assert (
        kafka.ask(heartbeat("m", 2, topic_partitions=(TopicPartitions(kept.topic_id, (0, 1)),))).member_epoch
        == 3
    )
    [taken] = kafka.ask(heartbeat("n", 3)).assignment.topic_partitions
    assert taken.partitions == (2, 3)


def leave(kafka: KafkaBroker, *leaving: tuple[str, str | None], version: int = 5) -> list[tuple[str, int]]:
    """Remove members by member id and instance id; return their ids and codes."""
    members = [MemberIdentity(*one) for one in leaving]
    answer = kafka.ask(LeaveGroupRequest("g", members=members), version)
    assert answer.error_code == E.NONE
    return [(one.member_id, one.error_code) for one in answer.members]


@pytest.mark.parametrize("version", [3, 5])
def test_administrator_removes_members_by_member_and_instance_ids(version: int) -> None:
    kafka = KafkaBroker()
    for member_id, instance_id in (("a", "one"), ("b", "two"), ("c", None), ("d", "four")):
        kafka.ask(heartbeat(member_id, instance_id=instance_id))
    wanted = ("", "one"), ("b", "two"), ("c", None), ("x", "four"), ("x", None), ("", "none"), ("", None)
    assert leave(kafka, *wanted, version=version) == [
        ("", E.NONE),
        ("b", E.NONE),
        ("c", E.NONE),
        ("x", E.FENCED_INSTANCE_ID),
        *[("x", E.UNKNOWN_MEMBER_ID), ("", E.UNKNOWN_MEMBER_ID), ("", E.UNKNOWN_MEMBER_ID)],
    ]
    assert [one.member_id for one in describe(kafka)[0].members] == ["d"]
    assert kafka.ask(heartbeat("c", 1)).error_code == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [0, 2])
def test_old_client_removes_one_member(version: int) -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    assert kafka.ask(LeaveGroupRequest("g", "m"), version).error_code == E.NONE
    assert kafka.ask(LeaveGroupRequest("g", "m"), version).error_code == E.UNKNOWN_MEMBER_ID


def test_removal_that_is_not_written_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    refusal = NotWritten(E.COORDINATOR_NOT_AVAILABLE, "the disk is full")
    monkeypatch.setattr(kafka.coordinator.consumers.writer, "write", lambda group: fail(refusal))
    answer = kafka.ask(LeaveGroupRequest("g", members=[MemberIdentity("m")]))
    assert (answer.error_code, answer.members) == (E.COORDINATOR_NOT_AVAILABLE, ())


def test_deleted_topic_is_not_described() -> None:
    kafka = KafkaBroker()
    kafka.ask(heartbeat())
    kafka.broker.tables.topics.delete("orders")
    [group] = describe(kafka)
    assert group.members[0].assignment.topic_partitions == ()

"""Requests of members and administrators of groups, in all versions."""

from typing import Any

import pytest

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC, KAFKA_TRANSACTIONS_TOPIC
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.clients.members import GRPC
from mqgateway.gateway.broker.operations import (
    CLUSTERING,
    CONSUME_ACTIVELY,
    GroupClient,
    OperationError,
    Reason,
    Use,
)
from mqgateway.gateway.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.delete_groups_request import DeleteGroupsRequest
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mqgateway.gateway.kafka.group_names import store_group
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.groups import subscription


def join_request(group: str = "g", member_id: str = "", **more: Any) -> JoinGroupRequest:
    """Return a request to join."""
    protocols = (JoinGroupRequestProtocol("range", subscription("orders")),)
    return JoinGroupRequest(group, 10_000, 30_000, member_id, None, "consumer", protocols, **more)


def stable(kafka: KafkaBroker, version: int = 9, group: str = "g") -> str:
    """Bring a group of one member to its first generation; return the member's id."""
    joining = join_request(group)
    if version == 0:
        joining.rebalance_timeout_ms = -1
    answers = kafka.send(joining, version)
    if answers and answers[0].error_code == E.MEMBER_ID_REQUIRED:
        answers = kafka.send(join_request(group, answers[0].member_id), version)
    assert answers == []
    kafka.pass_time(3200)
    [joined] = answers
    assert (joined.error_code, joined.generation_id, joined.leader) == (E.NONE, 1, joined.member_id)
    member_id: str = joined.member_id
    brought = (SyncGroupRequestAssignment(member_id, b"all"),)
    request = SyncGroupRequest(group, 1, member_id, assignments=brought)
    if version >= 5:
        request.protocol_type, request.protocol_name = "consumer", "range"
    synced = kafka.ask(request, min(version, 5))
    assert (synced.error_code, synced.assignment) == (E.NONE, b"all")
    return member_id


def add_rocketmq_member(kafka: KafkaBroker, group: str = "g", peer: FakePeer | None = None) -> FakePeer:
    """Send the heartbeat of a RocketMQ consumer."""
    connection = peer or FakePeer()
    subscribed = SubscriptionData("orders", "*", 0, "TAG")
    heartbeat = HeartbeatData(
        "rocket", consumer_data_set=[ConsumerData(group, CONSUME_ACTIVELY, CLUSTERING, "", [subscribed])]
    )

    def client(client_id: str) -> GroupClient:
        outgoing: Any = None
        return GroupClient(connection, client_id, "JAVA", CURRENT_VERSION, outgoing, GRPC)

    kafka.operations.clients.register(
        kafka.operations.gate.internal(Use.CONNECT), connection, heartbeat, client
    )
    return connection


@pytest.mark.parametrize("version", range(4))
def test_coordinator_of_any_group_is_this_node(version: int) -> None:
    answer = KafkaBroker().ask(FindCoordinatorRequest("g", 0), version)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (E.NONE, 1, "kafka.example", 9092)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_coordinators_of_many_keys_are_this_node(version: int) -> None:
    kafka = KafkaBroker()
    kafka.rights.denied = {("b", AclOperation.DESCRIBE), ("b", AclOperation.READ)}
    answer = kafka.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=("a", "b")), version)
    assert [(one.key, one.error_code, one.node_id) for one in answer.coordinators] == [
        ("a", E.NONE, 1),
        ("b", E.GROUP_AUTHORIZATION_FAILED, -1),
    ]
    transactional = kafka.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=("t",)), version)
    assert transactional.coordinators[0].node_id == 1
    shared = kafka.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=("t",)), version)
    assert shared.coordinators[0].error_code == E.INVALID_REQUEST


@pytest.mark.parametrize(
    ("kind", "topic"), [(0, KAFKA_OFFSETS_TOPIC), (1, KAFKA_TRANSACTIONS_TOPIC)], ids=["groups", "ids"]
)
@pytest.mark.parametrize("version", [3, 6])
def test_search_for_a_coordinator_makes_its_topic(kind: int, topic: str, version: int) -> None:
    kafka = KafkaBroker()
    request = FindCoordinatorRequest("a", kind) if version < 4 else FindCoordinatorRequest("", kind, ("a",))
    kafka.ask(request, version)
    kafka.ask(request, version)
    assert [one.name for one in kafka.topics if one.is_internal] == [topic]
    made = kafka.topics.find(topic)
    assert made is not None and (made.partitions, made.setting("cleanup.policy")) == (1, "compact")


def test_refused_search_for_a_coordinator_makes_no_topic() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied = {("a", AclOperation.DESCRIBE), ("a", AclOperation.READ)}
    kafka.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=("a",)))
    kafka.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=("b",)))
    assert not any(topic.is_internal for topic in kafka.topics)


def test_coordinator_whose_topic_cannot_be_made_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()

    def refuse(*_: object) -> None:
        raise OperationError(Reason.SERVICE_NOT_AVAILABLE, "the disk is full")

    monkeypatch.setattr(kafka.operations.administration, "put_topic", refuse)
    [found] = kafka.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=("a",))).coordinators
    assert (found.error_code, found.node_id) == (E.COORDINATOR_NOT_AVAILABLE, -1)


@pytest.mark.parametrize("version", range(10))
def test_member_lives_in_every_version(version: int) -> None:
    kafka = KafkaBroker()
    member = stable(kafka, version)
    kafka.clock.advance(3000)
    assert kafka.ask(HeartbeatRequest("g", 1, member), min(version, 4)).error_code == E.NONE
    assert kafka.ask(HeartbeatRequest("g", 5, member), min(version, 4)).error_code == E.ILLEGAL_GENERATION
    if version < 3:
        assert kafka.ask(LeaveGroupRequest("g", member), version).error_code == E.NONE
    else:
        left = kafka.ask(LeaveGroupRequest("g", members=(MemberIdentity(member),)), min(version, 5))
        assert [one.error_code for one in left.members] == [E.NONE]
    assert kafka.ask(DescribeGroupsRequest(("g",))).groups[0].group_state == "Empty"


def test_sync_has_to_name_its_protocol_from_version_5() -> None:
    kafka = KafkaBroker()
    member = stable(kafka)
    assert kafka.ask(SyncGroupRequest("g", 1, member), 4).error_code == E.NONE
    assert kafka.ask(SyncGroupRequest("g", 1, member), 5).error_code == E.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(10))
def test_refused_join_can_be_written_in_every_version(version: int) -> None:
    answer = KafkaBroker().ask(join_request("g", "unknown"), version)
    assert (answer.error_code, answer.member_id) == (E.UNKNOWN_MEMBER_ID, "unknown")
    assert answer.protocol_name == (None if version >= 7 else "")


def test_answer_to_a_join_whose_connection_has_ended_is_dropped() -> None:
    kafka = KafkaBroker()
    answers = kafka.send(join_request(), 3)
    kafka.waiting[-1].addErrback(lambda failure: None).cancel()
    kafka.pass_time(3200)
    assert answers == []
    assert kafka.ask(DescribeGroupsRequest(("g",))).groups[0].group_state == "CompletingRebalance"


def test_denied_requests_have_the_codes_of_groups() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied = {("g", action) for action in AclOperation} | {
        ("DefaultCluster", AclOperation.DESCRIBE)
    }
    denied = E.GROUP_AUTHORIZATION_FAILED
    for request in (
        FindCoordinatorRequest("g"),
        join_request(),
        SyncGroupRequest("g", protocol_type="consumer", protocol_name="range"),
        HeartbeatRequest("g"),
        LeaveGroupRequest("g", "m"),
    ):
        version = 1 if isinstance(request, (FindCoordinatorRequest, LeaveGroupRequest)) else None
        assert kafka.ask(request, version).error_code == denied
    assert kafka.ask(DescribeGroupsRequest(("g",))).groups[0].error_code == denied
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == denied


def test_requests_are_refused_while_groups_are_read() -> None:
    kafka = KafkaBroker()
    kafka.coordinator.is_loaded = False
    assert kafka.ask(join_request()).error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    assert kafka.ask(ListGroupsRequest()).error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    assert kafka.ask(HeartbeatRequest("g", 1, "m")).error_code == E.NONE
    assert kafka.ask(FindCoordinatorRequest("g"), 1).error_code == E.NONE


def test_group_that_may_not_be_made_accepts_no_members() -> None:
    kafka = KafkaBroker(options={"auto_create_subscription_group": False})
    assert kafka.ask(join_request()).error_code == E.INVALID_GROUP_ID
    assert kafka.ask(join_request("G")).error_code == E.MEMBER_ID_REQUIRED


def test_group_whose_name_is_too_long_for_rocketmq_is_refused() -> None:
    assert KafkaBroker().ask(join_request("ä" * 60)).error_code == E.INVALID_GROUP_ID
    assert KafkaBroker().ask(join_request("")).error_code == E.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(7))
def test_group_is_described_in_every_version(version: int) -> None:
    kafka = KafkaBroker()
    member = stable(kafka)
    [group] = kafka.ask(DescribeGroupsRequest(("g",), version >= 3), version).groups
    assert (group.error_code, group.group_state, group.protocol_type) == (E.NONE, "Stable", "consumer")
    assert group.protocol_data == "range"
    [one] = group.members
    assert (one.member_id, one.client_id, one.client_host) == (member, "tester", "/10.0.0.7")
    assert (one.member_metadata, one.member_assignment) == (subscription("orders"), b"all")
    assert group.authorized_operations == (0b0000_1101_0100_1000 if version >= 3 else -(2**31))


def test_members_of_a_group_that_rebalances_are_described_without_metadata() -> None:
    kafka = KafkaBroker()
    stable(kafka)
    kafka.send(join_request(), 3)
    [group] = kafka.ask(DescribeGroupsRequest(("g",))).groups
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert {one.member_metadata for one in group.members} == {b""}


def test_unknown_group_is_described_as_dead_and_from_version_6_as_an_error() -> None:
    kafka = KafkaBroker()
    [old] = kafka.ask(DescribeGroupsRequest(("none",)), 5).groups
    assert (old.error_code, old.group_state) == (E.NONE, "Dead")
    [new] = kafka.ask(DescribeGroupsRequest(("none",), True), 6).groups
    assert new.authorized_operations == -(2**31)
    assert (new.error_code, new.group_state) == (E.GROUP_ID_NOT_FOUND, "Dead")
    assert new.error_message == "Group none not found."


def test_groups_are_listed_and_filtered() -> None:
    kafka = KafkaBroker()
    stable(kafka)
    kafka.broker.tables.offsets.commit("rocket", "orders", 0, 3)
    kafka.broker.tables.offsets.commit("TOOLS_CONSUMER", "orders", 0, 3)

    def listed(version: int = 5, **filters: Any) -> list[tuple[str, str, str]]:
        groups = kafka.ask(ListGroupsRequest(**filters), version).groups
        return [(group.group_id, group.protocol_type, group.group_state) for group in groups]

    assert listed() == [("g", "consumer", "Stable"), ("rocket", "", "Empty")]
    assert [group for group, _, _ in listed(0)] == ["g", "rocket"]
    assert listed(states_filter=("empty",)) == [("rocket", "", "Empty")]
    assert listed(types_filter=("Classic",)) == listed()
    assert listed(types_filter=("share",)) == []
    kafka.rights.denied = {
        ("DefaultCluster", AclOperation.DESCRIBE),
        ("rocket", AclOperation.DESCRIBE),
        ("rocket", AclOperation.READ),
    }
    assert listed() == [("g", "consumer", "Stable")]


def test_deleted_groups_are_answered_one_by_one() -> None:
    kafka = KafkaBroker()
    stable(kafka)
    kafka.broker.tables.offsets.commit("rocket", "orders", 0, 3)
    answer = kafka.ask(DeleteGroupsRequest(("g", "none", "rocket")))
    assert [(one.group_id, one.error_code) for one in answer.results] == [
        ("g", E.NON_EMPTY_GROUP),
        ("none", E.GROUP_ID_NOT_FOUND),
        ("rocket", E.NONE),
    ]
    assert not kafka.broker.tables.offsets.queues_of("rocket", "orders")


# Groups of both kinds of clients


def test_group_with_live_rocketmq_members_refuses_kafka_members() -> None:
    kafka = KafkaBroker()
    peer = add_rocketmq_member(kafka)
    assert kafka.ask(join_request()).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NON_EMPTY_GROUP
    kafka.broker.tables.offsets.commit("g", "orders", 0, 3)
    assert kafka.ask(DeleteGroupsRequest(("g",))).results[0].error_code == E.NON_EMPTY_GROUP
    assert kafka.ask(DescribeGroupsRequest(("g",))).groups[0].group_state == "Stable"
    peer.lose()
    assert kafka.ask(join_request()).error_code == E.MEMBER_ID_REQUIRED


def test_group_of_rocketmq_members_is_shown_before_its_first_offset() -> None:
    kafka = KafkaBroker()
    peer = add_rocketmq_member(kafka)
    assert kafka.ask(DescribeGroupsRequest(("g",))).groups[0].group_state == "Stable"
    [listed] = kafka.ask(ListGroupsRequest()).groups
    assert (listed.group_id, listed.protocol_type, listed.group_state) == ("g", "", "Stable")
    peer.lose()
    assert not kafka.ask(ListGroupsRequest()).groups


def test_group_with_live_kafka_members_takes_up_no_rocketmq_members(caplog: pytest.LogCaptureFixture) -> None:
    kafka = KafkaBroker()
    member = stable(kafka, group="my.group")
    name = store_group("my.group")
    peer = add_rocketmq_member(kafka, name)
    assert not kafka.operations.groups.has_members(name)
    assert f"cannot join group {name}" in caplog.text
    kafka.ask(LeaveGroupRequest("my.group", members=(MemberIdentity(member),)), 5)
    add_rocketmq_member(kafka, name, peer)
    assert kafka.operations.groups.has_members(name)

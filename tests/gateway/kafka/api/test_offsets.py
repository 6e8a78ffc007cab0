"""OffsetCommit, OffsetFetch and OffsetDelete in all versions."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, maybeDeferred

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_commit_response import OffsetCommitResponse
from mqgateway.gateway.kafka.codec.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.coordinator import records_log
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.service import KafkaService
from tests.gateway.kafka.api.test_groups import add_rocketmq_member, stable
from tests.support.gateway.kafka.broker import KafkaBroker

DAY = 24 * 3600 * 1000


def commit(
    kafka: KafkaBroker,
    version: int = 10,
    topic: str = "my.topic",
    topic_id: bytes | None = None,
    group: str = "g",
    retention: int = -1,
    **member: Any,
) -> list[int]:
    """Commit in three partitions, one of them with too much metadata; return the codes."""
    epoch = 5 if version >= 6 else -1
    partitions = (
        OffsetCommitRequestPartition(0, 11, epoch, "note"),
        OffsetCommitRequestPartition(1, 12, epoch, None),
        OffsetCommitRequestPartition(2, 13, epoch, "x" * 5000),
    )
    if version >= 10:
        wanted = OffsetCommitRequestTopic(
            topic_id=kafka.topic_id(topic) if topic_id is None else topic_id, partitions=partitions
        )
    else:
        wanted = OffsetCommitRequestTopic(topic, partitions=partitions)
    request = OffsetCommitRequest(group, retention_time_ms=retention, topics=(wanted,), **member)
    [answer] = kafka.ask(request, version).topics
    assert answer.topic_id == (wanted.topic_id if version >= 10 else NO_UUID)
    return [partition.error_code for partition in answer.partitions]


def fetch(
    kafka: KafkaBroker, version: int = 10, topic: str | None = "my.topic", group: str = "g"
) -> list[tuple[Any, ...]]:
    """Fetch offsets of partitions 0, 1 and 3 of a topic, or all; return what the partitions have."""
    numbers = (0, 1, 3)
    if version < 8:
        topics = None if topic is None else (OffsetFetchRequestTopic(topic, numbers),)
        answer = kafka.ask(OffsetFetchRequest(group, topics), version)
        found = answer.topics
    else:
        named: Any = None
        if topic is not None:
            by_id = version >= 10
            one = OffsetFetchRequestTopics(
                "" if by_id else topic, kafka.topic_id(topic) if by_id else NO_UUID, numbers
            )
            named = (one,)
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group, topics=named),))
        [answer] = kafka.ask(request, version).groups
        found = answer.topics
    assert answer.error_code == E.NONE
    return [
        (one.partition_index, one.committed_offset, one.metadata, one.error_code)
        for topic in found
        for one in topic.partitions
    ]


@pytest.mark.parametrize("version", range(2, 11))
def test_commit_in_every_version_is_fetched_and_shown_by_rocketmq(version: int) -> None:
    kafka = KafkaBroker()
    assert commit(kafka, version) == [E.NONE, E.NONE, E.OFFSET_METADATA_TOO_LARGE]
    assert fetch(kafka) == [(0, 11, "note", E.NONE), (1, 12, "", E.NONE), (3, -1, "", E.NONE)]
    assert kafka.broker.tables.offsets.queues_of("g", "my|topic") == {0: 11, 1: 12}


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_are_fetched_in_every_version(version: int) -> None:
    kafka = KafkaBroker()
    commit(kafka)
    expected = [(0, 11, "note", E.NONE), (1, 12, "", E.NONE), (3, -1, "", E.NONE)]
    assert fetch(kafka, version) == expected
    if version >= 2:
        assert fetch(kafka, version, None) == expected[:2]
    assert [offset for _, offset, _, _ in fetch(kafka, version, group="none")] == [-1, -1, -1]


def test_leader_epoch_is_kept() -> None:
    kafka = KafkaBroker()
    commit(kafka, 9)
    wanted = (OffsetFetchRequestTopics("my.topic", partition_indexes=(0,)),)
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=wanted),), require_stable=True)
    [group] = kafka.ask(request, 9).groups
    assert group.topics[0].partitions[0].committed_leader_epoch == 5


def test_unknown_topics_and_partitions_are_refused() -> None:
    kafka = KafkaBroker()
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(kafka, 9, "none") == [unknown] * 3
    assert commit(kafka, 10, topic_id=b"?" * 16) == [E.UNKNOWN_TOPIC_ID] * 3
    partitions = tuple(OffsetCommitRequestPartition(number, 1) for number in (-1, 4))
    topic = OffsetCommitRequestTopic("orders", partitions=partitions)
    [answer] = kafka.ask(OffsetCommitRequest("g", topics=(topic,)), 9).topics
    assert [one.error_code for one in answer.partitions] == [unknown] * 2
    wanted = OffsetFetchRequestTopics(topic_id=b"?" * 16, partition_indexes=(0,))
    [group] = kafka.ask(OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=(wanted,)),))).groups
    assert (group.topics[0].topic_id, group.topics[0].partitions[0].error_code) == (
        b"?" * 16,
        E.UNKNOWN_TOPIC_ID,
    )
    assert fetch(kafka, 9, "none") == [(number, -1, "", E.NONE) for number in (0, 1, 3)]


def test_refused_topics_are_fetched_after_others() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied = {("orders", action) for action in AclOperation}
    known, denied, unknown = kafka.topic_id("my.topic"), kafka.topic_id("orders"), b"?" * 16
    wanted = [
        OffsetFetchRequestTopics(topic_id=one, partition_indexes=(0,)) for one in (unknown, denied, known)
    ]
    [group] = kafka.ask(OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=wanted),))).groups
    assert [(one.topic_id, one.partitions[0].error_code) for one in group.topics] == [
        (known, E.NONE),
        (unknown, E.UNKNOWN_TOPIC_ID),
        (denied, E.TOPIC_AUTHORIZATION_FAILED),
    ]


def test_negative_offset_is_refused() -> None:
    kafka = KafkaBroker()
    topic = OffsetCommitRequestTopic("orders", partitions=(OffsetCommitRequestPartition(0, -2),))
    [answer] = kafka.ask(OffsetCommitRequest("g", topics=(topic,)), 9).topics
    assert answer.partitions[0].error_code == E.INVALID_REQUEST


def test_commit_of_a_member_needs_its_generation() -> None:
    kafka = KafkaBroker()
    member = stable(kafka)
    accepted: dict[str, Any] = {"member_id": member, "generation_id_or_member_epoch": 1}
    assert commit(kafka, **accepted)[0] == E.NONE
    assert commit(kafka, **accepted | {"generation_id_or_member_epoch": 0})[0] == E.ILLEGAL_GENERATION
    assert commit(kafka)[0] == E.UNKNOWN_MEMBER_ID
    for unknown in ("none", ""):
        assert commit(kafka, group=unknown, **accepted)[0] == E.GROUP_ID_NOT_FOUND
        assert commit(kafka, 8, group=unknown, **accepted)[0] == E.ILLEGAL_GENERATION
    assert commit(kafka, group="")[0] == E.INVALID_GROUP_ID


def test_old_client_chooses_for_how_long_its_offsets_are_kept() -> None:
    kafka = KafkaBroker()
    commit(kafka, 4, retention=DAY)
    commit(kafka, 4, retention=2**63 - 1, topic="orders")
    kafka.pass_time(DAY + 1000, DAY + 1000)
    kafka.pass_time(1000)
    assert [offset for _, offset, _, _ in fetch(kafka)] == [-1, -1, -1]
    assert [offset for _, offset, _, _ in fetch(kafka, topic="orders")] == [11, 12, -1]


def test_denied_requests_have_the_codes_of_groups_and_topics() -> None:
    kafka = KafkaBroker()
    commit(kafka)
    commit(kafka, topic="orders")
    kafka.rights.denied = {("my|topic", action) for action in AclOperation}
    denied = E.TOPIC_AUTHORIZATION_FAILED
    assert commit(kafka) == commit(kafka, 9) == [denied] * 3
    assert fetch(kafka) == fetch(kafka, 9) == [(number, -1, "", denied) for number in (0, 1, 3)]
    assert [offset for _, offset, _, _ in fetch(kafka, topic=None)] == [11, 12]
    assert delete(kafka, "my.topic") == (E.NONE, [denied])
    kafka.rights.denied = {("g", action) for action in AclOperation}
    assert commit(kafka) == [E.GROUP_AUTHORIZATION_FAILED] * 3
    assert delete(kafka, "my.topic") == (E.GROUP_AUTHORIZATION_FAILED, [])
    wanted = (OffsetFetchRequestTopic("orders", (0,)),)
    old = kafka.ask(OffsetFetchRequest("g", wanted), 1)
    assert old.topics[0].partitions[0].error_code == E.GROUP_AUTHORIZATION_FAILED
    assert kafka.ask(OffsetFetchRequest("g", wanted), 7).error_code == E.GROUP_AUTHORIZATION_FAILED
    groups = (OffsetFetchRequestGroup("g"), OffsetFetchRequestGroup("h"))
    answer = kafka.ask(OffsetFetchRequest(groups=groups), 9)
    assert [one.error_code for one in answer.groups] == [E.GROUP_AUTHORIZATION_FAILED, E.NONE]


def delete(kafka: KafkaBroker, topic: str, group: str = "g", partition: int = 0) -> tuple[int, list[int]]:
    """Delete the offset of a partition; return the codes of the group and the partition."""
    wanted = (OffsetDeleteRequestTopic(topic, (OffsetDeleteRequestPartition(partition),)),)
    answer = kafka.ask(OffsetDeleteRequest(group, wanted))
    return answer.error_code, [one.error_code for topic in answer.topics for one in topic.partitions]


def test_offset_is_deleted_unless_the_group_subscribes_to_its_topic() -> None:
    kafka = KafkaBroker()
    assert delete(kafka, "orders") == (E.GROUP_ID_NOT_FOUND, [])
    assert delete(kafka, "orders", "") == (E.INVALID_GROUP_ID, [])
    member = stable(kafka)
    accepted: dict[str, Any] = {"member_id": member, "generation_id_or_member_epoch": 1}
    commit(kafka, topic="orders", **accepted)
    commit(kafka, **accepted)
    assert delete(kafka, "orders") == (E.NONE, [E.GROUP_SUBSCRIBED_TO_TOPIC])
    for unknown in (-1, 4):
        assert delete(kafka, "orders", partition=unknown) == (E.NONE, [E.UNKNOWN_TOPIC_OR_PARTITION])
    assert delete(kafka, "my.topic") == (E.NONE, [E.NONE])
    assert delete(kafka, "none") == (E.NONE, [E.UNKNOWN_TOPIC_OR_PARTITION])
    assert kafka.broker.tables.offsets.queues_of("g", "my|topic") == {1: 12}
    kafka.ask(LeaveGroupRequest("g", members=(MemberIdentity(member),)), 5)
    assert delete(kafka, "orders") == (E.NONE, [E.NONE])
    assert [offset for _, offset, _, _ in fetch(kafka, topic="orders")] == [-1, 12, -1]


# Groups that change sides


def test_rocketmq_group_continues_with_kafka_and_back_at_the_same_offsets() -> None:
    kafka = KafkaBroker()
    peer = add_rocketmq_member(kafka)
    kafka.broker.tables.offsets.commit("g", "my|topic", 0, 40)
    assert commit(kafka)[0] == E.UNKNOWN_MEMBER_ID
    peer.lose()
    assert fetch(kafka)[0] == (0, 40, "", E.NONE)
    member = stable(kafka)
    commit(kafka, member_id=member, generation_id_or_member_epoch=1)
    permit = kafka.operations.gate.internal(Use.QUERY)
    assert kafka.operations.offsets.committed(permit, "g", "my|topic", 0) == 11


def test_reset_by_rocketmq_tools_is_where_an_empty_group_begins() -> None:
    kafka = KafkaBroker()
    commit(kafka)
    kafka.broker.tables.offsets.assign_reset("g", "my|topic", 0, 4)
    assert fetch(kafka)[0] == (0, 4, "", E.NONE)
    commit(kafka)
    assert fetch(kafka)[0] == (0, 11, "note", E.NONE)


def test_group_id_that_rocketmq_refuses_is_escaped_in_its_tables() -> None:
    kafka = KafkaBroker()
    assert commit(kafka, group="größe.1")[0] == E.NONE
    assert kafka.broker.tables.offsets.queues_of("gr%C3%B6%C3%9Fe%2E1", "my|topic") == {0: 11, 1: 12}
    assert fetch(kafka, group="größe.1")[0] == (0, 11, "note", E.NONE)


class HeldRunner:
    """Keeps cooperative tasks until the test lets them run."""

    def __init__(self) -> None:
        self.tasks: list[tuple[str, Any, Deferred[Any]]] = []

    def run(self, lane: str, steps: Steps[Any]) -> Deferred[Any]:
        """See `Runner`."""
        done: Deferred[Any] = Deferred()
        self.tasks.append((lane, steps, done))
        return done

    def run_next(self) -> int:
        """Run the oldest task; return the number of its steps."""
        _, steps, done = self.tasks.pop(0)
        count = 0
        while True:
            try:
                next(steps)
            except StopIteration as end:
                maybeDeferred(lambda outcome: outcome, end.value).chainDeferred(done)
                return count
            count += 1


def commit_many(offset: int, count: int) -> OffsetCommitRequest:
    """Return a commit in partitions 0, 1, 2, 3, 0, 1, ... of orders."""
    partitions = tuple(OffsetCommitRequestPartition(number % 4, offset) for number in range(count))
    return OffsetCommitRequest("g", topics=(OffsetCommitRequestTopic("orders", partitions=partitions),))


def held(kafka: KafkaBroker) -> HeldRunner:
    """Return the runner of a service whose tasks are kept."""
    runner = kafka.operations.runner = HeldRunner()
    kafka.service = KafkaService(kafka.operations, Node(kafka.operations, "kafka.example", 9092))
    kafka.service.tick()
    return runner


def codes_of(answer: OffsetCommitResponse) -> list[int]:
    """Return the error codes of a commit of one topic."""
    [topic] = answer.topics
    return [one.error_code for one in topic.partitions]


def test_offsets_of_a_long_commit_are_entered_in_steps_and_no_later_one_overtakes_them() -> None:
    kafka = KafkaBroker()
    runner = held(kafka)
    first, second = kafka.send(commit_many(1, 100), 9), kafka.send(commit_many(2, 4), 9)
    assert [lane for lane, _, _ in runner.tasks] == ["offsets of Kafka groups"] * 2
    assert first == second == []
    assert [runner.run_next(), runner.run_next()] == [3, 1]
    assert (codes_of(*first), codes_of(*second)) == ([E.NONE] * 100, [E.NONE] * 4)
    assert kafka.broker.tables.offsets.query("g", "orders", 3) == 2
    kafka.ask(commit_many(3, 4), 9)
    assert not runner.tasks


def test_long_commit_that_cannot_be_written_records_none_of_its_offsets() -> None:
    kafka = KafkaBroker()
    kafka.ask(commit_many(1, 4), 9)
    log: Any = kafka.coordinator.commits._journal._log
    real, sizes = log.append, list[int]()

    def append_once(records: Any) -> Deferred[int]:
        sizes.append(len(records))
        if sum(sizes) > 50:
            return fail(NotWritten(E.COORDINATOR_NOT_AVAILABLE, "no space"))
        done: Deferred[int] = real(records)
        return done

    log.append = append_once
    assert codes_of(kafka.ask(commit_many(2, 100), 9)) == [E.COORDINATOR_NOT_AVAILABLE] * 100
    assert sizes == [100]
    assert [kafka.broker.tables.offsets.query("g", "orders", one) for one in range(4)] == [1] * 4


def test_long_commit_of_a_member_that_leaves_meanwhile_records_none_of_its_offsets() -> None:
    kafka = KafkaBroker()
    member = stable(kafka)
    request = commit_many(1, 100)
    request.generation_id_or_member_epoch, request.member_id = 1, member
    leave = LeaveGroupRequest("g", members=(MemberIdentity(member),))
    answers = kafka.send(request, 9, meanwhile=lambda: kafka.ask(leave))
    assert codes_of(*answers) == [E.UNKNOWN_MEMBER_ID] * 100
    assert kafka.broker.tables.offsets.query("g", "orders", 0) == -1


def test_commit_that_does_not_fit_one_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()
    monkeypatch.setattr(records_log, "RECORDS_MAX", 50)
    assert codes_of(kafka.ask(commit_many(1, 50), 9)) == [E.NONE] * 50
    assert codes_of(kafka.ask(commit_many(2, 51), 9)) == [E.INVALID_COMMIT_OFFSET_SIZE] * 51
    monkeypatch.setattr(records_log, "BATCH_MAX", 500)
    assert codes_of(kafka.ask(commit_many(2, 10), 9)) == [E.INVALID_COMMIT_OFFSET_SIZE] * 10
    assert kafka.broker.tables.offsets.query("g", "orders", 0) == 1


def test_wrong_offset_in_a_long_commit_does_not_concern_the_others() -> None:
    kafka = KafkaBroker()
    request = commit_many(1, 100)
    request.topics[0].partitions[50].partition_index = 9
    request.topics[0].partitions[51].committed_metadata = "x" * 5000
    codes = codes_of(kafka.ask(request, 9))
    assert codes[49:53] == [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION, E.OFFSET_METADATA_TOO_LARGE, E.NONE]
    assert codes.count(E.NONE) == 98

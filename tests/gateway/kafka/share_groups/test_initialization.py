"""Partitions that may be assigned."""

from twisted.internet.defer import Deferred

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicsInMemory
from mqgateway.gateway.kafka.share_groups.initialization import AT_ONCE
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionsInMemory
from tests.gateway.kafka.share_groups.test_heartbeats import numbers
from tests.support.gateway.kafka.groups import Groups


class SlowPartitions(SharePartitionsInMemory):
    """States whose changes wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[int, Deferred[None]]] = []

    def alter(  # type: ignore[override]
        self, group_id: str, topic_id: bytes, partition: int, start_offset: int
    ) -> Deferred[None]:
        """See `SharePartitionStates`."""
        assert (group_id, start_offset) == ("g", 0)
        done: Deferred[None] = Deferred()
        self.waiting.append((partition, done))
        return done


def slow_groups(**given: object) -> tuple[Groups, SlowPartitions]:
    """Return a group of one member, whose topic then gets two more partitions."""
    groups, partitions = Groups(**given), SlowPartitions()  # type: ignore[arg-type]
    groups.coordinator.shares.attach(partitions)
    groups.share_heartbeat("a")
    groups.catalog.topics["orders"] += 2
    groups.pass_time(1000)
    return groups, partitions


def test_new_topic_starts_where_its_settings_say() -> None:
    groups, partitions = Groups(), SharePartitionsInMemory()
    groups.coordinator.shares.attach(partitions)
    groups.share_heartbeat("a")
    assert partitions.starts == {}


def test_added_partitions_start_at_0_at_once() -> None:
    groups, partitions = Groups(), SharePartitionsInMemory()
    groups.coordinator.shares.attach(partitions)
    groups.share_heartbeat("a")
    groups.catalog.topics["orders"] = 6
    groups.pass_time(1000)
    assert numbers(groups.share_heartbeat("a", 2)) == [0, 1, 2, 3, 4, 5]
    assert sorted(index for _, index in partitions.starts["g"]) == [4, 5]
    again = groups.restarted()
    assert numbers(again.share_heartbeat("a", 3)) is None


def test_added_partitions_are_assigned_once_they_have_offsets() -> None:
    groups, partitions = slow_groups()
    answer = groups.share_heartbeat("a", 2)
    assert (answer.member_epoch, numbers(answer)) == (3, None)
    groups.share_heartbeat("a", 3)
    assert [index for index, _ in partitions.waiting] == [4, 5]
    partitions.waiting[0][1].callback(None)
    groups.pass_time(1000)
    assert numbers(groups.share_heartbeat("a", 3)) == [0, 1, 2, 3, 4]


def test_failed_partition_is_initialized_again() -> None:
    groups, partitions = slow_groups()
    groups.share_heartbeat("a", 2)
    partitions.waiting[0][1].errback(NotWritten(E.COORDINATOR_NOT_AVAILABLE, "refused"))
    groups.share_heartbeat("a", 3)
    assert [index for index, _ in partitions.waiting] == [4, 5, 4]


def test_partition_of_a_topic_that_was_deleted_meanwhile_is_not_kept() -> None:
    groups, partitions = slow_groups()
    groups.share_heartbeat("a", 2)
    del groups.catalog.topics["orders"]
    groups.share_heartbeat("a", 3)
    assert groups.shares().initialized == {}
    partitions.waiting[0][1].callback(None)
    assert groups.shares().initialized == {}


def test_many_partitions_are_initialized_by_several_heartbeats() -> None:
    groups, partitions = Groups(), SharePartitionsInMemory()
    groups.coordinator.shares.attach(partitions)
    groups.share_heartbeat("a")
    groups.catalog.topics["orders"] += AT_ONCE + 1
    groups.share_heartbeat("a", 2)
    assert len(partitions.starts["g"]) == AT_ONCE
    groups.share_heartbeat("a", 2)
    assert len(partitions.starts["g"]) == AT_ONCE + 1


def test_group_has_no_more_partitions_than_are_allowed() -> None:
    groups = Groups(GroupSettings(group_partitions_max=5), catalog=TopicsInMemory({"orders": 4, "more": 2}))
    groups.share_heartbeat("a")
    groups.pass_time(1000)
    assert numbers(groups.share_heartbeat("a", 2, topics=["more"])) == []

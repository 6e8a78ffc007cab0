"""Start offsets, as administrators change them."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionOffset, SharePartitionsInMemory
from tests.support.gateway.kafka.groups import Groups

TOPIC = b"orders".ljust(16, b"\0")


def attached(groups: Groups) -> SharePartitionsInMemory:
    """Return the states of share partitions of a coordinator."""
    partitions = SharePartitionsInMemory()
    groups.coordinator.shares.attach(partitions)
    return partitions


def outcome(done: Deferred[Any]) -> Any:
    """Return what a Deferred has."""
    results: list[Any] = []
    done.addCallback(results.append)
    return results[0]


def alter(groups: Groups, offsets: dict[int, int], group: str = "g") -> Any:
    """Set start offsets of `orders`; return the errors."""
    places = {(TOPIC, index): offset for index, offset in offsets.items()}
    return outcome(run(groups.coordinator.shares.offsets.alter(group, {TOPIC: "orders"}, places)))


def delete(groups: Groups, *topics: bytes) -> Any:
    """Delete start offsets; return the errors."""
    return outcome(groups.coordinator.shares.offsets.delete("g", list(topics)))


class FailingPartitions(SharePartitionsInMemory):
    """States that cannot be changed."""

    def alter(self, *arguments: object) -> Deferred[None]:  # type: ignore[override]
        """See `SharePartitionStates`."""
        return fail(NotWritten(E.COORDINATOR_NOT_AVAILABLE, "refused"))

    def delete(self, *arguments: object) -> Deferred[None]:  # type: ignore[override]
        """See `SharePartitionStates`."""
        return fail(NotWritten(E.NOT_COORDINATOR, "refused"))


def test_altered_group_survives_a_restart() -> None:
    groups = Groups()
    attached(groups)
    assert alter(groups, {0: 7, 2: 9}) == {(TOPIC, 0): E.NONE, (TOPIC, 2): E.NONE}
    assert groups.coordinator.shares.offsets.describe("g") == {
        (TOPIC, 0): SharePartitionOffset(7, 0, 0),
        (TOPIC, 2): SharePartitionOffset(9, 0, 0),
    }
    again = groups.restarted()
    attached(again)
    assert again.coordinator.shares.offsets.describe("g") == {(TOPIC, 0): None, (TOPIC, 2): None}
    assert again.coordinator.shares.offsets.describe("x") == {}


def test_deleted_topics_are_forgotten() -> None:
    groups = Groups()
    partitions = attached(groups)
    alter(groups, {0: 7})
    assert delete(groups, TOPIC, b"u" * 16) == {TOPIC: E.NONE, b"u" * 16: None}
    assert (partitions.starts, groups.shares().initialized) == ({}, {})
    assert delete(groups, TOPIC) == {TOPIC: None}
    assert groups.restarted().shares().initialized == {}


def test_states_that_cannot_be_changed_are_errors() -> None:
    groups = Groups()
    groups.coordinator.shares.attach(FailingPartitions())
    assert alter(groups, {0: 7}) == {(TOPIC, 0): E.COORDINATOR_NOT_AVAILABLE}
    assert groups.coordinator.shares.get("g") is None
    attached(groups)
    alter(groups, {0: 7})
    groups.coordinator.shares.attach(FailingPartitions())
    assert delete(groups, TOPIC) == {TOPIC: E.NOT_COORDINATOR}
    assert TOPIC in groups.shares().initialized
    assert outcome(groups.coordinator.shares.offsets.delete_all("g")) == E.NOT_COORDINATOR


def test_only_groups_without_members_are_changed() -> None:
    groups = Groups(GroupSettings(groups_max=2))
    with pytest.raises(Refused, match=r"Group g not found\."):
        delete(groups)
    groups.share_heartbeat("a")
    with pytest.raises(Refused, match=r"The group is not empty\.") as refused:
        alter(groups, {0: 1})
    assert refused.value.code == E.NON_EMPTY_GROUP
    groups.consumer_heartbeat("a", group="h")
    with pytest.raises(Refused, match=r"Group h is not a share group\."):
        alter(groups, {0: 1}, "h")
    with pytest.raises(Refused, match=r"There are too many groups\."):
        alter(groups, {0: 1}, "i")

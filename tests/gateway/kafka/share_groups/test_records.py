"""Records of share groups."""

import pytest

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.member import MemberTally, RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.share_groups.group import InitializedTopic, ShareGroup
from mqgateway.gateway.kafka.share_groups.member import ShareMember
from mqgateway.gateway.kafka.share_groups.records import SHARE_RECORDS, replay

A: TopicPartition = (b"t" * 16, 0)
B: TopicPartition = (b"u" * 16, 7)
KEYS = [
    RecordKey(Kind.GROUP),
    RecordKey(Kind.MEMBER, "m"),
    RecordKey(Kind.TARGET_EPOCH),
    RecordKey(Kind.TARGET, "m"),
    RecordKey(Kind.POSITION, "m"),
    RecordKey(Kind.PARTITIONS),
]


def full_group() -> ShareGroup:
    """Return a group with something in each record."""
    group = ShareGroup("g", MemberTally())
    member = ShareMember("m", RequestSender("c", "/h"), rack_id="r", topics=("o",))
    group.put(member)
    group.epoch, group.metadata_hash = 6, -5
    group.set_targets(5, {"m": {A, B}}, 99)
    group.move(member, 4, {A})
    group.initialize(A[0], "o", (0, 2))
    return group


@pytest.mark.parametrize("order", [1, -1])
def test_group_is_replayed_from_its_records_in_any_order(order: int) -> None:
    group, again = full_group(), ShareGroup("g", MemberTally())
    for key in KEYS[::order]:
        assert SHARE_RECORDS.read_key(SHARE_RECORDS.key("g", key)) == ("g", key)
        replay(again, key, SHARE_RECORDS.value(group, key))
    assert (again.epoch, again.metadata_hash) == (6, -5)
    assert (again.assignment_epoch, again.assigned_time) == (5, 99)
    assert again.targets == {"m": {A, B}}
    member, known = again.members["m"], group.members["m"]
    assert member.metadata == known.metadata
    assert (member.epoch, member.previous_epoch, member.assigned) == (4, 0, {A})
    assert again.initialized == {A[0]: InitializedTopic("o", {0, 2})}


def test_tombstones_remove_what_was_replayed() -> None:
    group = full_group()
    for key in (KEYS[4], KEYS[3], KEYS[1], KEYS[5]):
        replay(group, key, None)
    assert (group.members, group.targets, group.initialized) == ({}, {}, {})


def test_member_of_no_group_has_no_values() -> None:
    group = ShareGroup("g", MemberTally())
    assert [SHARE_RECORDS.value(group, KEYS[number]) for number in (1, 3, 4)] == [None] * 3


def test_keys_have_the_types_of_kafka() -> None:
    types = [int.from_bytes(SHARE_RECORDS.key("g", key)[:2], "big") for key in KEYS]
    assert types == [11, 10, 12, 13, 14, 15]


def test_other_keys_are_not_read() -> None:
    assert SHARE_RECORDS.read_key(b"\0\3\0\1g") is None
    with pytest.raises(CodecError):
        SHARE_RECORDS.read_key(b"\0\x0b\0\5g")

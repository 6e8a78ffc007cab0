"""Records of groups."""

import pytest

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup, ResolvedRegex
from mqgateway.gateway.kafka.consumer_groups.member import AssignmentState, MemberPosition, ModernMember
from mqgateway.gateway.kafka.consumer_groups.records import (
    CONSUMER_RECORDS,
    replay,
)
from mqgateway.gateway.kafka.coordinator.assigned_group import Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.member import MemberTally, RequestSender

A, B = (b"t" * 16, 0), (b"u" * 16, 7)
KEYS = [
    RecordKey(Kind.GROUP),
    RecordKey(Kind.MEMBER, "m"),
    RecordKey(Kind.TARGET_EPOCH),
    RecordKey(Kind.TARGET, "m"),
    RecordKey(Kind.POSITION, "m"),
    RecordKey(Kind.REGEX, "x.*"),
]


def full_group() -> ModernGroup:
    """Return a group that has a record of each kind."""
    group = ModernGroup("g", MemberTally())
    client = RequestSender("c", "/h")
    member = ModernMember(
        "m",
        client,
        instance_id="i",
        rack_id="r",
        rebalance_timeout=9,
        topics=("o",),
        regex="x.*",
        assignor="range",
    )
    group.put(member)
    group.regexes["x.*"] = ResolvedRegex(frozenset({"x1"}), b"v", 77)
    group.epoch, group.metadata_hash = 6, -5
    group.set_targets(5, {"m": {A, B}}, 99)
    group.move(member, MemberPosition(4, 3, AssignmentState.UNREVOKED_PARTITIONS, {A: 2}, {B: 4}))
    return group


@pytest.mark.parametrize("order", [1, -1])
def test_group_is_replayed_from_its_records_in_any_order(order: int) -> None:
    group, again = full_group(), ModernGroup("g", MemberTally())
    for key in KEYS[::order]:
        assert CONSUMER_RECORDS.read_key(CONSUMER_RECORDS.key("g", key)) == ("g", key)
        replay(again, key, CONSUMER_RECORDS.value(group, key))
    again.settle()
    assert (again.epoch, again.metadata_hash) == (6, -5)
    assert (again.assignment_epoch, again.assigned_time) == (5, 99)
    assert again.targets == {"m": {A, B}}
    member, known = again.members["m"], group.members["m"]
    assert (member.metadata, member.position) == (known.metadata, known.position)
    assert again.regexes == {"x.*": ResolvedRegex(frozenset({"x1"}), b"", 77)}
    assert (again.static, again.owner(A), again.owner(B)) == ({"i": "m"}, "m", "m")


def test_tombstones_remove_what_was_replayed() -> None:
    group = full_group()
    for key in (KEYS[3], KEYS[5], KEYS[1], KEYS[4]):
        replay(group, key, None)
    assert (group.members, group.targets, group.regexes) == ({}, {}, {})


def test_member_of_no_group_has_no_values() -> None:
    group = ModernGroup("g", MemberTally())
    assert [CONSUMER_RECORDS.value(group, key) for key in KEYS[1::2] + KEYS[4:5]] == [None] * 4


def test_position_without_epochs_is_of_the_member_epoch() -> None:
    topic = b"t" * 16 + bytes.fromhex("02 00000000 00")
    value = bytes.fromhex("0000 00000004 00000003 00 02") + topic + bytes.fromhex("01 00")
    group = ModernGroup("g", MemberTally())
    replay(group, RecordKey(Kind.POSITION, "m"), value)
    assert group.members["m"].position.assigned == {A: 4}


def test_other_keys_are_not_read() -> None:
    assert CONSUMER_RECORDS.read_key(b"\0\x0b\0\1g") is None
    with pytest.raises(CodecError):
        CONSUMER_RECORDS.read_key(b"\0\3\0\5g")

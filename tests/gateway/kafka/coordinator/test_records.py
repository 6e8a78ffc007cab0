"""Records of groups and offsets: bytes as Apache Kafka 4.4.0 writes them, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.messages.offset_commit_key import OffsetCommitKey
from mqgateway.gateway.kafka.codec.messages.offset_commit_value import OffsetCommitValue
from mqgateway.gateway.kafka.codec.plans import encode
from mqgateway.gateway.kafka.coordinator.group import GroupState
from mqgateway.gateway.kafka.coordinator.member import MemberTally
from mqgateway.gateway.kafka.coordinator.records import (
    Committed,
    OffsetKey,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group,
    read_key,
    read_offset,
)
from tests.support.gateway.kafka.groups import Groups, subscription


def test_keys_begin_with_the_type_of_their_record() -> None:
    assert offset_key(OffsetKey("g", "t", 5)) == b"\0\x01\0\x01g\0\x01t\0\0\0\x05"
    assert group_key("g") == b"\0\x02\0\x01g"


def test_offset_is_written_in_version_4_and_with_an_expiry_in_version_1() -> None:
    value = offset_value(Committed(7, 3, "m", 9))
    assert value == b"\0\x04" + (7).to_bytes(8, "big") + b"\0\0\0\x03\x02m" + (9).to_bytes(8, "big") + b"\0"
    assert offset_value(Committed(7, 3, "m", 9, 11))[:2] == b"\0\x01"
    assert read_offset(offset_value(Committed(7, 3, "m", 9, 11))) == Committed(7, -1, "m", 9, 11)


@given(
    st.builds(
        Committed,
        st.integers(0, 2**63 - 1),
        st.integers(-1, 2**31 - 1),
        st.text(st.characters(codec="utf-8"), max_size=20),
        st.integers(0, 2**63 - 1),
        expires=st.just(-1),
        topic_id=st.binary(min_size=16, max_size=16),
    )
)
def test_offset_survives_a_round_trip_and_is_written_as_its_schema_says(committed: Committed) -> None:
    assert read_offset(offset_value(committed)) == committed
    assert offset_value(committed)[2:] == encode(OffsetCommitValue(*committed), 4)


@given(st.text(st.characters(codec="utf-8"), max_size=50), st.integers(0, 2**31 - 1))
def test_keys_survive_a_round_trip(name: str, partition: int) -> None:
    assert read_key(group_key(name)) == name
    key = OffsetKey(name, "t", partition)
    assert read_key(offset_key(key)) == key
    assert offset_key(key)[2:] == encode(OffsetCommitKey(*key), 0)


def test_keys_of_other_kinds_are_none_and_broken_ones_an_error() -> None:
    assert read_key(b"\0\x03abc") is None
    assert read_key(b"\0\0\0\x01g\0\x01t\0\0\0\x05") == OffsetKey("g", "t", 5)
    for broken in (b"", b"\0", b"\0\x02\0\x09g"):
        with pytest.raises(CodecError):
            read_key(broken)


def test_group_survives_a_round_trip() -> None:
    groups = Groups()
    one, other = groups.stable(subscription("orders"), subscription("items"))
    group = groups.group()
    assignments = {member.id: member.assignment for member in group.members.values()}
    again = read_group("g", group_value(group, assignments), MemberTally())
    assert (again.state, again.generation, again.leader) == (GroupState.STABLE, 1, one)
    assert (again.protocol_type, again.protocol, again.state_time) == ("consumer", "range", group.state_time)
    assert again.topics == frozenset(("orders", "items"))
    for before, after in zip(group.members.values(), again.members.values(), strict=True):
        for name in ("id", "instance_id", "client", "protocols", "assignment", "session_timeout"):
            assert getattr(before, name) == getattr(after, name)
    assert again.members[other].rebalance_timeout == 30_000


def test_group_without_members_is_read_as_empty() -> None:
    groups = Groups()
    groups.join()
    again = read_group("g", group_value(groups.group(), {}), MemberTally())
    assert (again.state, again.protocol_type) == (GroupState.EMPTY, None)

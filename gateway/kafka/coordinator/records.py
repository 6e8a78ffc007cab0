"""Groups and offsets as records of the topic `__consumer_offsets`, in Kafka's own schemas.

A key begins with the type of the record, a value with the version of its schema. A record without a value is
a tombstone. Standard: `GroupCoordinatorRecordHelpers`, `GroupCoordinatorRecordSerde`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.writer import write_unsigned_varint
from mqgateway.gateway.kafka.codec.messages.group_metadata_key import GroupMetadataKey
from mqgateway.gateway.kafka.codec.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from mqgateway.gateway.kafka.codec.messages.offset_commit_key import OffsetCommitKey
from mqgateway.gateway.kafka.codec.messages.offset_commit_value import OffsetCommitValue
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Message
from mqgateway.gateway.kafka.coordinator.group import Group, GroupState
from mqgateway.gateway.kafka.coordinator.member import Member, MemberTally, RequestSender

Record = tuple[bytes, bytes | None]
"""Key and value; a tombstone has no value."""
NEVER = -1
_TYPE = struct.Struct(">h")
_KEY_START = struct.Struct(">hh")
_PARTITION = struct.Struct(">i")
_VALUE_START = struct.Struct(">hqi")
_TIME = struct.Struct(">q")
_TOPIC_ID_TAG = b"\1\0\x10"
"""One tagged field: number 0, of 16 bytes."""
_OLD_OFFSET_KEY = 0
"""Type of keys of offsets that old versions wrote."""
_PENDING_KEY = 1000
"""Type of keys of pending offsets: not one of Kafka's, which tools skip."""
_PENDING_START = struct.Struct(">hq")
_EPOCH = struct.Struct(">h")
_GROUP_VERSION = 3
_OFFSET_VERSION, _EXPIRING_OFFSET_VERSION = 4, 1


class Committed(NamedTuple):
    """A committed offset. `expires` is set by old clients only, which chose the retention themselves."""

    offset: int
    leader_epoch: int
    metadata: str
    time: int
    expires: int = NEVER
    topic_id: bytes = NO_UUID


class OffsetKey(NamedTuple):
    """The place of a committed offset."""

    group: str
    topic: str
    partition: int


class PendingKey(NamedTuple):
    """The place of an offset that a producer has committed in a transaction that is not complete."""

    producer_id: int
    offset: OffsetKey


class Pending(NamedTuple):
    """An offset that is committed if the transaction of the producer's epoch is."""

    epoch: int
    committed: Committed


def group_key(group_id: str) -> bytes:
    """Return the key of a group's record."""
    return _bytes(GroupMetadataKey.KEY, GroupMetadataKey(group_id), 0)


def offset_key(key: OffsetKey) -> bytes:
    """Return the key of an offset's record: `OffsetCommitKey`, written by hand for its speed."""
    group, topic = key.group.encode("utf-8", "replace"), key.topic.encode("utf-8", "replace")
    return b"".join(
        (
            _KEY_START.pack(OffsetCommitKey.KEY, len(group)),
            group,
            _TYPE.pack(len(topic)),
            topic,
            _PARTITION.pack(key.partition),
        )
    )


def pending_key(key: PendingKey) -> bytes:
    """Return the key of a pending offset's record: the producer, and the key of the offset's own record."""
    return _PENDING_START.pack(_PENDING_KEY, key.producer_id) + offset_key(key.offset)


def group_value(group: Group, assignments: dict[str, bytes]) -> bytes:
    """Return the value of a group's record."""
    members = tuple(
        MemberMetadata(
            member.id,
            member.instance_id,
            member.client.id,
            member.client.host,
            member.rebalance_timeout,
            member.session_timeout,
            member.metadata(group.protocol),
            assignments.get(member.id, b""),
        )
        for member in group.members.values()
    )
    value = GroupMetadataValue(
        group.protocol_type or "", group.generation, group.protocol, group.leader, group.state_time, members
    )
    return _bytes(_GROUP_VERSION, value, _GROUP_VERSION)


def offset_value(committed: Committed) -> bytes:
    """Return the value of an offset's record: `OffsetCommitValue`, written by hand for its speed."""
    if committed.expires != NEVER:
        return _bytes(_EXPIRING_OFFSET_VERSION, OffsetCommitValue(*committed), _EXPIRING_OFFSET_VERSION)
    metadata = committed.metadata.encode("utf-8", "replace")
    out = bytearray(_VALUE_START.pack(_OFFSET_VERSION, committed.offset, committed.leader_epoch))
    write_unsigned_varint(out, len(metadata) + 1)
    out += metadata
    out += _TIME.pack(committed.time)
    out += b"\0" if committed.topic_id == NO_UUID else _TOPIC_ID_TAG + committed.topic_id
    return bytes(out)


def pending_value(pending: Pending) -> bytes:
    """Return the value of a pending offset's record: the epoch, and the value of the offset's own record."""
    return _EPOCH.pack(pending.epoch) + offset_value(pending.committed)


def read_key(key: bytes) -> OffsetKey | PendingKey | str | None:
    """Return an offset's place or a group's id; None for a record of another kind. Raises `CodecError`."""
    reader = Reader(key)
    kind = reader.int16()
    if kind == _PENDING_KEY:
        place = read_key(key[_PENDING_START.size :])
        producer_id = int(Reader(key).unpack(_PENDING_START)[1])
        return PendingKey(producer_id, place) if isinstance(place, OffsetKey) else None
    if kind in (_OLD_OFFSET_KEY, OffsetCommitKey.KEY):
        offset = read(OffsetCommitKey, reader, 0)
        return OffsetKey(offset.group, offset.topic, offset.partition)
    if kind == GroupMetadataKey.KEY:
        return read(GroupMetadataKey, reader, 0).group
    return None


def read_offset(value: bytes) -> Committed:
    """Return a committed offset. Raises `CodecError`."""
    return _read_offset(Reader(value))


def read_pending(value: bytes) -> Pending:
    """Return a pending offset. Raises `CodecError`."""
    reader = Reader(value)
    return Pending(reader.int16(), _read_offset(reader))


def _read_offset(reader: Reader) -> Committed:
    read_value = read(OffsetCommitValue, reader, reader.int16())
    return Committed(
        read_value.offset,
        read_value.leader_epoch,
        read_value.metadata,
        read_value.commit_timestamp,
        read_value.expire_timestamp,
        read_value.topic_id,
    )


def read_group(group_id: str, value: bytes, tally: MemberTally) -> Group:
    """Return a group as it was written: with members it is stable. Raises `CodecError`."""
    reader = Reader(value)
    known = read(GroupMetadataValue, reader, reader.int16())
    group = Group(group_id, max(known.current_state_timestamp, 0), tally)
    group.generation = known.generation
    for one in known.members:
        timeout = one.session_timeout if one.rebalance_timeout < 0 else one.rebalance_timeout
        member = Member(
            one.member_id,
            one.group_instance_id,
            RequestSender(one.client_id, one.client_host),
            known.protocol_type,
            ((known.protocol or "", one.subscription),),
            rebalance_timeout=timeout,
            session_timeout=one.session_timeout,
            assignment=one.assignment,
        )
        group.add(member)
    group.protocol_type = known.protocol_type or None
    group.protocol = known.protocol
    group.leader = known.leader if known.leader in group.members else next(iter(group.members), None)
    group.state = GroupState.STABLE if group.members else GroupState.EMPTY
    group.topics = group.subscribed_topics()
    return group


def _bytes(start: int, message: Message, version: int) -> bytes:
    out = bytearray(_TYPE.pack(start))
    encode_into(out, message, version)
    return bytes(out)

"""Groups whose partitions the broker assigns, as records of the topic `__consumer_offsets`.

A key begins with the type of the record, a value with the version of its schema. Standard:
`GroupCoordinatorRecordHelpers`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, Generic, TypeVar

from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.coordinator.assigned_group import AssignedGroup, Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition

G = TypeVar("G", bound=AssignedGroup[Any])
M = TypeVar("M", bound=Message)

_TYPE: Final = struct.Struct(">h")
_VERSION: Final = 0
"""The only version of all keys and values."""


class GroupRecords(Generic[G]):
    """Records of groups of one type: the schemas of keys, and functions that return values.

    A function is given a group and the name in the key. It returns None if the subject of the record is gone.
    """

    def __init__(
        self,
        keys: Mapping[Kind, type[Message]],
        values: Mapping[Kind, Callable[[G, str], Message | None]],
    ) -> None:
        self._keys = keys
        self._values = values
        self._kinds = {schema.KEY: kind for kind, schema in keys.items()}

    def key(self, group_id: str, key: RecordKey) -> bytes:
        """Return the key of a record."""
        schema = self._keys[key.kind]
        names = (group_id, key.name)[: len(schema.FIELDS)]
        return _bytes(schema.KEY, schema(*names))

    def read_key(self, key: bytes) -> tuple[str, RecordKey] | None:
        """Return the group and the key of a record, None for one of another type. Raises `CodecError`."""
        reader = Reader(key)
        kind = self._kinds.get(reader.int16())
        if kind is None:
            return None
        message = read(self._keys[kind], reader, _VERSION)
        group_id, *name = (getattr(message, field.name) for field in message.FIELDS)
        return group_id, RecordKey(kind, *name)

    def value(self, group: G, key: RecordKey) -> bytes | None:
        """Return the value of a record, None for a tombstone."""
        value = self._values[key.kind](group, key.name)
        return None if value is None else _bytes(_VERSION, value)

    def tombstones(self, group: G) -> Iterable[bytes]:
        """Return the keys of all records that the log may have of a group."""
        return (self.key(group.id, key) for key in group.tombstones())


def read_value(schema: type[M], value: bytes) -> M:
    """Return a value that was read from the log. Raises `CodecError`."""
    reader = Reader(value)
    reader.int16()
    return read(schema, reader, _VERSION)


def by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[bytes, list[int]]]:
    """Return partitions by the ids of their topics, both in their order."""
    topics: dict[bytes, list[int]] = {}
    for topic_id, index in sorted(partitions):
        topics.setdefault(topic_id, []).append(index)
    return list(topics.items())


def flat(topics: Iterable[tuple[bytes, Sequence[int]]]) -> Set[TopicPartition]:
    """Return the partitions of topics."""
    return {(topic_id, index) for topic_id, indexes in topics for index in indexes}


def _bytes(start: int, message: Any) -> bytes:
    out = bytearray(_TYPE.pack(start))
    encode_into(out, message, _VERSION)
    return bytes(out)

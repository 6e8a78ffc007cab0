"""The body a broker registers with, which has two forms.

The plain form is JSON. The compressed form is a zlib stream of these parts, all lengths and counts i4:

    length, data version as JSON
    count, then as often: length, topic as text `name readQueues writeQueues perm filterType {attributes}`
    length, filter servers as a JSON array
    count, then as often: length, mapping of a static topic as JSON       (senders from 5.0 on)

It leaves out the order flag, the system flag and the details of mappings. Standard: `RegisterBrokerBody`,
`TopicConfig.encode`.
"""

import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, Self

from mqgateway.engine import lenient_json
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.bodies.tables import TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import V5_0_0
from mqgateway.gateway.codec.errors import BodyError

INFLATED_LIMIT = 256 * 1024 * 1024
"""Bytes a compressed body may have when inflated; about two million topics."""

_LENGTH = struct.Struct(">i")
_BEST_COMPRESSION = 9


@dataclass(slots=True)
class RegisterBrokerBody(Body):
    """The topics of a broker."""

    topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper = field(
        default_factory=TopicConfigAndMappingSerializeWrapper
    )
    filter_server_list: list[str] = field(default_factory=list)

    def encode_compressed(self) -> bytes:
        """The compressed form, as brokers from 5.0 on send it."""
        wrapper = self.topic_config_serialize_wrapper
        topics = wrapper.topic_config_table.values()
        mappings = wrapper.topic_queue_mapping_info_map.values()
        parts = [
            _part(lenient_json.dumps(wrapper.data_version or {})),
            _LENGTH.pack(len(topics)),
            *(_part(_topic_text(topic).encode()) for topic in topics),
            _part(lenient_json.dumps(self.filter_server_list)),
            _LENGTH.pack(len(mappings)),
            *(_part(lenient_json.dumps(mapping)) for mapping in mappings),
        ]
        return zlib.compress(b"".join(parts), _BEST_COMPRESSION)

    @classmethod
    def decode_compressed(cls, data: bytes, version: int, limit: int | None = None) -> Self:
        """The body in its compressed form from a broker of this version. Raises BodyError.

        `limit` are the bytes it may have when inflated, INFLATED_LIMIT unless given.
        """
        try:
            inflated = _inflate(data, INFLATED_LIMIT if limit is None else limit)
            return cls._from_parts(_Parts(inflated), version)
        except (zlib.error, struct.error, ValueError) as error:
            raise BodyError("", f"the compressed RegisterBrokerBody cannot be read: {error}") from None

    @classmethod
    def _from_parts(cls, parts: "_Parts", version: int) -> Self:
        data_version = lenient_json.loads(parts.next_part())
        topics = [_topic_from_text(parts.next_part().decode()) for _ in range(parts.next_number())]
        filter_servers = lenient_json.loads(parts.next_part())
        if not isinstance(filter_servers, list):
            raise ValueError("filter servers that are no array")
        mapping_count = parts.next_number() if version >= V5_0_0 else 0
        mappings = [lenient_json.loads(parts.next_part()) for _ in range(mapping_count)]
        if not all(isinstance(mapping, dict) for mapping in mappings):
            raise ValueError("a mapping that is no object")
        wrapper = {
            "dataVersion": data_version,
            "topicConfigTable": {topic["topicName"]: topic for topic in topics},
            "topicQueueMappingInfoMap": {str(mapping.get("topic")): mapping for mapping in mappings},
        }
        return cls.from_json({"topicConfigSerializeWrapper": wrapper, "filterServerList": filter_servers})


class _Parts:
    """Reads numbers and parts off the front. Raises ValueError and struct.error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def next_number(self) -> int:
        number: int = _LENGTH.unpack_from(self._data, self._position)[0]
        self._position += _LENGTH.size
        return number

    def next_part(self) -> bytes:
        length = self.next_number()
        start, self._position = self._position, self._position + length
        if length < 0 or self._position > len(self._data):
            raise ValueError(f"a length of {length} leads out of the body")
        return self._data[start : self._position]


def _part(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def _inflate(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    inflated = stream.decompress(data, limit)
    if stream.unconsumed_tail:
        raise ValueError(f"more than {limit} bytes when inflated")
    if not stream.eof:
        raise ValueError("the zlib stream ends too early")
    return inflated


def _topic_text(topic: dict[str, Any]) -> str:
    names = ("topicName", "readQueueNums", "writeQueueNums", "perm", "topicFilterType")
    attributes = lenient_json.dumps(topic.get("attributes") or {}).decode()
    return " ".join([*(str(topic[name]) for name in names), attributes])


def _topic_from_text(text: str) -> dict[str, Any]:
    name, read_queues, write_queues, perm, filter_type, *rest = text.split(" ", 5)
    return {
        "topicName": name,
        "readQueueNums": int(read_queues),
        "writeQueueNums": int(write_queues),
        "perm": int(perm),
        "topicFilterType": filter_type,
        "topicSysFlag": 0,
        "order": False,
        "attributes": lenient_json.loads(rest[0]) if rest and rest[0] else {},
    }

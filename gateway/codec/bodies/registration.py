"""The body with which a broker registers, in two forms.

The plain form is JSON. The compressed form is a zlib stream of these parts, all lengths and counts i4:

    length, data version as JSON
    count, then as often: length, topic as text `name readQueues writeQueues perm filterType {attributes}`
    length, filter servers as a JSON array
    count, then as often: length, mapping of a static topic as JSON       (senders from 5.0 on)

It omits the order flag, the system flag and the details of mappings. Both forms are read as cooperative
tasks, topic by topic. So a hundred thousand topics delay no other request, and are never all in memory as
JSON. RocketMQ: `RegisterBrokerBody`, `TopicConfig.encode`.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Self

import orjson

from mqgateway.engine import lenient_json
from mqgateway.engine.steps import Steps
from mqgateway.gateway.codec.bodies.body import Body, body
from mqgateway.gateway.codec.bodies.tables import TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import V5_0_0
from mqgateway.gateway.codec.errors import BodyError

TOPIC_TEXT_MAX = 16 * 1024
"""Maximum bytes of the text of one topic in a compressed body."""

PART_MAX = 1024 * 1024
"""Maximum bytes of any other part of it."""

SHORT_BODY = 128 * 1024
"""Maximum bytes of a plain body that is read at once, which takes less than a millisecond and is eight
times as fast. A broker with some hundred topics sends no more.
"""

TakeTopic = Callable[[str, dict[str, Any]], None]
"""Called with each topic by its name; an error that it raises ends the reading."""

_LENGTH = struct.Struct(">i")
_BEST_COMPRESSION = 9
_TOPICS_A_STEP = 32
_DEFLATED_CHUNK = 16 * 1024
_INFLATED_CHUNK = 64 * 1024
_WRAPPER = "topicConfigSerializeWrapper"
_TABLE, _VERSION, _MAPPINGS = "topicConfigTable", "dataVersion", "topicQueueMappingInfoMap"


@body
class RegisterBrokerBody(Body):
    """The topics of a broker."""

    topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper = field(
        default_factory=TopicConfigAndMappingSerializeWrapper
    )
    filter_server_list: list[str] = field(default_factory=list)

    def encode_compressed(self) -> bytes:
        """Return the compressed form, as brokers from 5.0 on send it."""
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
    def read(cls, data: bytes, take: TakeTopic) -> Steps[Self]:
        """Parse the plain form, without the topics: `take` gets those. Raises BodyError."""
        found: dict[str, dict[Any, Any]] = {_VERSION: {}, _MAPPINGS: {}}

        def put(path: lenient_json.Path, value: Any) -> None:
            wrapper, member, key = path
            if wrapper == _WRAPPER and member == _TABLE:
                if not isinstance(value, dict):
                    raise BodyError(_TABLE, f"the topic {str(key)[:100]} of a registration is not an object")
                take(str(key), value)
            elif wrapper == _WRAPPER and member in found:
                found[member][key] = value

        try:
            value = _short(data)
            if value is None:
                value = yield from lenient_json.loads_in_steps(data, depth=3, take=put)
            else:
                yield from _hand_on(value, put)
        except ValueError as error:
            raise BodyError("", f"{cls.__name__} is not JSON: {error}") from None
        body = cls.from_json(value)
        wrapper = body.topic_config_serialize_wrapper
        wrapper.topic_queue_mapping_info_map = {str(key): one for key, one in found[_MAPPINGS].items()}
        if wrapper.data_version is not None:
            wrapper.data_version = found[_VERSION]
        return body

    @classmethod
    def read_compressed(cls, data: bytes, version: int, limit: int, take: TakeTopic) -> Steps[Self]:
        """Parse the compressed form, from a broker of this version; `take` gets the topics.

        `limit` is the maximum of inflated bytes. Raises BodyError.
        """
        try:
            return (yield from cls._from_parts(_Parts(data, limit), version, take))
        except (zlib.error, struct.error, ValueError) as error:
            raise BodyError("", f"the compressed RegisterBrokerBody cannot be read: {error}") from None

    @classmethod
    def _from_parts(cls, parts: "_Parts", version: int, take: TakeTopic) -> Steps[Self]:
        data_version = yield from lenient_json.loads_in_steps((yield from parts.next_part()))
        for number in range((yield from parts.next_number())):
            if number % _TOPICS_A_STEP == 0:
                yield
            text = yield from parts.next_part(TOPIC_TEXT_MAX)
            topic = _topic_from_text(text.decode())
            take(topic["topicName"], topic)
        filter_servers = yield from lenient_json.loads_in_steps((yield from parts.next_part()))
        if not isinstance(filter_servers, list):
            raise ValueError("the filter servers are not an array")
        mappings: dict[str, Any] = {}
        for _ in range((yield from parts.next_number()) if version >= V5_0_0 else 0):
            mapping = yield from lenient_json.loads_in_steps((yield from parts.next_part()))
            if not isinstance(mapping, dict):
                raise ValueError("a mapping is not an object")
            mappings[str(mapping.get("topic"))] = mapping
        yield from parts.end()
        wrapper = {_VERSION: data_version, _MAPPINGS: mappings}
        return cls.from_json({_WRAPPER: wrapper, "filterServerList": filter_servers})


class _Parts:
    """Reads numbers and parts from a zlib stream, which is inflated chunk by chunk.

    Raises zlib.error, struct.error and ValueError.
    """

    def __init__(self, data: bytes, limit: int) -> None:
        self._data = data
        self._given = 0  # bytes of `data` that were given to the stream
        self._stream = zlib.decompressobj()
        self._limit = limit
        self._inflated = b""  # inflated bytes that are not read yet begin at `_position`
        self._position = 0
        self._passed = 0  # bytes that were inflated before those

    def next_number(self) -> Steps[int]:
        """Return the next number."""
        yield from self._inflate(_LENGTH.size)
        number: int = _LENGTH.unpack_from(self._inflated, self._position)[0]
        self._position += _LENGTH.size
        return number

    def next_part(self, most: int = PART_MAX) -> Steps[bytes]:
        """Return the next part, of at most `most` bytes."""
        length = yield from self.next_number()
        if not 0 <= length <= most:
            raise ValueError(f"a part of {length} bytes, where {most} are allowed")
        yield from self._inflate(length)
        start, self._position = self._position, self._position + length
        return self._inflated[start : self._position]

    def end(self) -> Steps[None]:
        """Skip the rest; the stream must be complete."""
        while not self._stream.eof:
            self._position = len(self._inflated)
            yield from self._inflate(1, at_end=True)

    def _inflate(self, size: int, *, at_end: bool = False) -> Steps[None]:
        """Inflate until at least `size` bytes are unread."""
        while len(self._inflated) - self._position < size:
            if self._stream.eof:
                if at_end:
                    return
                raise ValueError(f"a length of {size} leads out of the body")
            deflated = self._stream.unconsumed_tail
            if not deflated:
                deflated = self._data[self._given : self._given + _DEFLATED_CHUNK]
                self._given += len(deflated)
            chunk = self._stream.decompress(deflated, _INFLATED_CHUNK)
            if not chunk and not deflated:
                raise ValueError("the zlib stream ends too early")
            self._passed += self._position
            self._inflated = self._inflated[self._position :] + chunk
            self._position = 0
            if self._passed + len(self._inflated) > self._limit:
                raise ValueError(f"more than {self._limit} bytes when inflated")
            yield


def _short(data: bytes) -> Any:
    """Return the value of a short body that is plain JSON; None for other bodies."""
    try:
        return orjson.loads(data) if len(data) <= SHORT_BODY else None
    except orjson.JSONDecodeError:
        return None


def _hand_on(value: Any, take: Callable[[lenient_json.Path, Any], None]) -> Steps[None]:
    """Pass on the values three levels deep, as `lenient_json.loads_in_steps` does, and keep none of them."""
    taken = 0
    for one, members in _inside(value):
        for two, table in _inside(members):
            for three, inner in _inside(table):
                if taken % _TOPICS_A_STEP == 0:
                    yield
                taken += 1
                take((one, two, three), inner)
            if isinstance(table, dict):
                table.clear()
            elif isinstance(table, list):
                table[:] = [None] * len(table)


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _part(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


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

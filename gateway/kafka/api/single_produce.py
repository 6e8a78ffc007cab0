"""Produce requests that repeat an earlier one but for their batch, as nearly all do.

What such requests have in common is resolved once, and kept under the bytes that they share. It is used as
long as the topic has the same configuration. Lease, role, permission and replicas are checked each time.
Whatever is unusual is left to `api.produce`, before anything is changed; the outcome is the same.
Source: `KafkaApis.handleProduceRequest`.
"""

from __future__ import annotations

import struct
from typing import Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.record_batches.batches import HEADER_SIZE
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.ordinary import OrdinaryBatch, ordinary_batch
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.store.expansion import INFLATED_MAX
from mqgateway.gateway.broker.operations import ClientConnection, Operations, Use
from mqgateway.gateway.broker.operations.batches import Appended
from mqgateway.gateway.kafka.api.produce import ALL, failed, failed_later
from mqgateway.gateway.kafka.call import Reply
from mqgateway.gateway.kafka.codec.apis import APIS, PRODUCE
from mqgateway.gateway.kafka.codec.headers import read_request_header, write_response_header
from mqgateway.gateway.kafka.codec.messages.produce_request import ProduceRequest
from mqgateway.gateway.kafka.codec.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from mqgateway.gateway.kafka.codec.produce import TOPIC_ID_SINCE, read_request, write_response
from mqgateway.gateway.kafka.codec.single_batch import read_single_batch
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.kafka.validation import NO_TIMESTAMP, rules_of

KNOWN_MAX: Final = 1000
"""Keys that are kept."""
KEY_MAX: Final = 1024
"""Bytes of a key that is kept: a client id may be long."""
_CORRELATION_ID: Final = struct.Struct(">i")
_OFFSETS: Final = struct.Struct(">qqq")
"""Base offset, time of the log (none), start of the log."""
_AFTER_OFFSETS: Final = 9
"""Bytes of an answer after these: no errors of records, no message, the throttle time, no tagged fields."""


class _Known:
    """The common part of requests with the same key.

    `is_ordinary` is False if such requests are left to `api.produce`. `size_max` is in bytes.
    """

    __slots__ = ("_answer", "_version", "index", "is_all", "is_ordinary", "rules", "size_max", "topic")

    def __init__(self, topic: Topic, index: int, request: ProduceRequest, version: int) -> None:
        rules = rules_of(topic)
        self.topic = topic
        self.index = index
        self.rules = rules
        self.is_all = request.acks == ALL
        self.size_max = min(rules.size_max, INFLATED_MAX + HEADER_SIZE)
        self.is_ordinary = (
            request.acks in (ALL, 1)
            and topic.keeps_batches
            and not topic.is_internal
            and 0 <= index < topic.partitions
            and not rules.has_log_append_time
            and rules.compression in (None, CompressionType.NONE)
        )
        self._version = version
        self._answer = bytes(self._encoded(PartitionProduceResponse(index, 0, 0, -1, 0), 0))

    def suits(self, batch: OrdinaryBatch, now: int) -> bool:
        """Return True if the topic's settings allow a batch at `now`, ms."""
        rules, base = self.rules, batch.base_timestamp
        if rules.needs_keys and not batch.has_keys:
            return False
        if base == NO_TIMESTAMP:
            return True
        least, greatest = now - rules.behind_max, now + rules.ahead_max
        return least <= base + batch.least_delta and base + batch.greatest_delta <= greatest

    def answer(self, appended: Appended, correlation_id: int) -> Reply:
        """Return the answer to a request whose batch was appended."""
        out = bytearray(self._answer)
        _CORRELATION_ID.pack_into(out, 0, correlation_id)
        at = len(out) - _AFTER_OFFSETS - _OFFSETS.size
        _OFFSETS.pack_into(out, at, appended.base_offset, -1, appended.log_start_offset)
        return (out,)

    def refusal(self, error: Exception, correlation_id: int) -> Reply:
        """Return the answer to a request whose batch could not be appended."""
        return (self._encoded(failed(self.index, error), correlation_id),)

    def late_refusal(self, failure: Failure, correlation_id: int) -> Reply:
        """Return the same, for an error that came later."""
        return (self._encoded(failed_later(failure, self.index), correlation_id),)

    def _encoded(self, partition: PartitionProduceResponse, correlation_id: int) -> bytearray:
        out = bytearray()
        write_response_header(out, PRODUCE, self._version, correlation_id)
        topic = TopicProduceResponse(self.topic.name, self.topic.id, [partition])
        write_response(out, ProduceResponse([topic]), self._version)
        return out


class SingleProduce:
    """Appends of one broker without access control: with it, each request is checked by itself."""

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._clock = operations.clock
        self._gate = operations.gate
        self._batches = operations.batches
        self._configs = operations.topics
        self._topics = topics
        self._known: dict[bytes, _Known] = {}

    def dispatch(self, frame: bytes, connection: ClientConnection) -> Reply | Deferred[Reply]:
        """Carry out the Produce request in a frame; None if it is left to `api.produce`."""
        parts = read_single_batch(frame)
        if parts is None:
            return None
        key, correlation_id, begin, end = parts
        known = self._find(key, frame)
        if known is None or end - begin > known.size_max or not self._gate.allows(Use.SEND):
            return None
        batch, now = ordinary_batch(frame, begin, end), self._clock.millis()
        if batch is None or not known.suits(batch, now):
            return None
        permit = self._gate.pass_on(Use.SEND, connection, now)
        try:
            outcome = self._batches.append(
                permit, known.topic.store_name, known.index, batch, is_all=known.is_all
            )
        except Exception as error:
            return known.refusal(error, correlation_id)
        if isinstance(outcome, Appended):
            return known.answer(outcome, correlation_id)
        arguments = (correlation_id,)
        return outcome.addCallbacks(
            known.answer, known.late_refusal, callbackArgs=arguments, errbackArgs=arguments
        )

    def _find(self, key: bytes, frame: bytes) -> _Known | None:
        """Return what is known of requests with a key, None if they are not ordinary."""
        known = self._known.get(key)
        if known is None or self._configs.get(known.topic.store_name) is not known.topic.config:
            known = self._learn(key, frame)
        return known if known is not None and known.is_ordinary else None

    def _learn(self, key: bytes, frame: bytes) -> _Known | None:
        """Resolve a request; None if its version or its topic is unknown."""
        self._known.pop(key, None)
        reader = Reader(frame)
        header = read_request_header(reader)
        version = header.version
        if len(key) > KEY_MAX or not APIS[PRODUCE].is_supported(version):
            return None
        request = read_request(reader, version)
        [wanted] = request.topic_data
        [data] = wanted.partition_data
        has_id = version >= TOPIC_ID_SINCE
        topic = self._topics.by_id(wanted.topic_id) if has_id else self._topics.find(wanted.name)
        if topic is None:
            return None
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        known = self._known[key] = _Known(topic, data.index, request, version)
        return known

"""A producer's batch, as a stored record names it.

A record that holds a batch of Kafka whole has producer, epoch, sequence and count in the batch's header. In
other topics the batch is stored as messages; the last of them has the property `__KPID`, with the value
`producer id:epoch:first sequence:number of records`. It is the last because a log that breaks off inside the
batch, after a crash or a truncation, must not count as one that has the batch.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from mqgateway.engine.message import PROPERTY_KAFKA, PROPERTY_KAFKA_PRODUCER, SysFlag
from mqgateway.engine.producers.markers import Marker, marker_of

HEADER_SIZE: Final = 61
SEQUENCE_MAX: Final = 0x7FFFFFFF
NO_PRODUCER: Final = -1

_PRODUCER: Final = struct.Struct(">q13xh20xqhii")
"""Base offset, attributes, producer, epoch, sequence and count, in a batch's header."""
_TRANSACTIONAL: Final = 1 << 4
_PARTS: Final = 4


class ProducerBatch:
    """A batch of a producer: `count` records whose first has `first_sequence` and whose last is at
    `last_offset` of the queue. A batch that has no offset yet has -1. `is_transactional` says that it belongs
    to a transaction."""

    __slots__ = ("count", "epoch", "first_sequence", "is_transactional", "last_offset", "producer_id")

    def __init__(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        count: int,
        last_offset: int = -1,
        is_transactional: bool = False,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.first_sequence = first_sequence
        self.count = count
        self.last_offset = last_offset
        self.is_transactional = is_transactional

    @property
    def first_offset(self) -> int:
        """Return the offset of the first record."""
        return self.last_offset - self.count + 1

    @property
    def last_sequence(self) -> int:
        """Return the sequence of the last record; 0 follows 2147483647."""
        return self.first_sequence + self.count - 1 & SEQUENCE_MAX

    @property
    def text(self) -> str:
        """Return the value of the property `__KPID`."""
        return f"{self.producer_id}:{self.epoch}:{self.first_sequence}:{self.count}"


Produced = ProducerBatch | Marker
"""A batch or a marker, which name their producer."""


def of_header(data: bytes | bytearray | memoryview) -> ProducerBatch | None:
    """Return the producer's batch that a batch header names, with the offset that the header has; None for a
    batch without a producer or a sequence, such as a control batch."""
    if len(data) < HEADER_SIZE:
        return None
    base_offset, attributes, producer_id, epoch, sequence, count = _PRODUCER.unpack_from(data)
    if producer_id < 0 or epoch < 0 or sequence < 0 or count <= 0:
        return None
    is_transactional = bool(attributes & _TRANSACTIONAL)
    return ProducerBatch(producer_id, epoch, sequence, count, base_offset + count - 1, is_transactional)


def of_record(
    sys_flag: int, properties: Mapping[str, str], body: bytes | memoryview, queue_offset: int
) -> Produced | None:
    """Return the producer's batch that a record has, or ends, or the marker that it has; None for any other
    record."""
    if sys_flag & SysFlag.INNER_BATCH:
        return of_header(body) or marker_of(body) if PROPERTY_KAFKA in properties else None
    text = properties.get(PROPERTY_KAFKA_PRODUCER)
    return None if text is None else of_text(text, queue_offset)


def of_text(text: str, last_offset: int) -> ProducerBatch | None:
    """Return the batch that a value of `__KPID` names; None for a value that names none."""
    parts = text.split(":")
    if len(parts) != _PARTS or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    producer_id, epoch, sequence, count = [int(part) for part in parts]
    if producer_id >= 1 << 63 or epoch > 0x7FFF or sequence > SEQUENCE_MAX or not 0 < count <= SEQUENCE_MAX:
        return None
    return ProducerBatch(producer_id, epoch, sequence, count, last_offset)

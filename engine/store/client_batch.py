"""A client's batch before it is appended: split into messages and encoded as records.

Most batches have messages of equal lengths. Those are kept as columns (`EvenBatch`), with almost no Python
work per message. With the extension, messages of any lengths are split and encoded in C (`NativeBatch`).
`PlainBatch` does the same for any batch, and defines the methods of the others.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import count, repeat
from typing import Final
from zlib import crc32

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.extension import Native, native
from mqgateway.engine.message import PROPERTY_KAFKA_PRODUCER, Message, parse_properties, properties_text
from mqgateway.engine.store.client_elements import (
    ELEMENT_SIZE_MIN,
    batch_sizes,
    element_ends,
    element_with_room_for_crc,
    encode_batch,
    encode_element,
    fill_crcs,
    split_batch,
)
from mqgateway.engine.store.dispatch_request import Batch, KeyedBatch
from mqgateway.engine.store.record import encode, record_size
from mqgateway.engine.unique_keys import lone_unique_keys

_PRODUCER: Final = PROPERTY_KAFKA_PRODUCER.encode() + b"\1"


class PlainBatch:
    """The messages of a batch body; with `has_crc` each record has a checksum of all its bytes.

    Raises `MessageIllegal` for inconsistent lengths, and if there is no room for a checksum.
    """

    def __init__(self, elements: bytes, has_crc: bool) -> None:
        parts = split_batch(elements)
        self._parts = [element_with_room_for_crc(part) for part in parts] if has_crc else parts
        self._has_crc = has_crc

    def sizes(self, topic: tuple[int, bytes], sys_flag: int) -> list[int]:
        """Return the size in bytes of each record in the log."""
        return batch_sizes(self._parts, topic, sys_flag)

    def records(
        self,
        message: Message,
        topic: tuple[int, bytes],
        sizes: list[int],
        sys_flag: int,
        queue_offset: int,
        physical_offset: int,
        store_timestamp: int,
    ) -> bytes:
        """Return the records, concatenated. The arguments are those of `record.encode_batch`."""
        buffers = encode_batch(
            message, self._parts, topic, sizes, sys_flag, queue_offset, physical_offset, store_timestamp
        )
        return b"".join(fill_crcs(buffers) if self._has_crc else buffers)

    def rows(self, sizes: list[int]) -> Batch:
        """Return the rows to dispatch."""
        return [(size, tail[2:]) for size, (_, _, tail) in zip(sizes, self._parts, strict=True)]

    def keyed(self, sizes: list[int]) -> KeyedBatch | None:
        """Return the batch in short form; None unless the properties are known to have unique keys only."""
        return None


class EvenBatch:
    """Messages with one flag, bodies of one length and properties of one length, as columns. See `cut`."""

    def __init__(
        self, flag: int, bodies: Sequence[bytes], properties: Sequence[bytes], properties_length: bytes
    ) -> None:
        self._flag = flag
        self._bodies = bodies
        self._properties = properties
        self._properties_length = properties_length  # two bytes

    def sizes(self, topic: tuple[int, bytes], sys_flag: int) -> list[int]:
        """See `PlainBatch.sizes`."""
        size = record_size(sys_flag, len(self._bodies[0]), len(topic[1]), len(self._properties[0]))
        return [size] * len(self._bodies)

    def records(
        self,
        message: Message,
        topic: tuple[int, bytes],
        sizes: list[int],
        sys_flag: int,
        queue_offset: int,
        physical_offset: int,
        store_timestamp: int,
    ) -> bytes:
        """See `PlainBatch.records`.

        The first record is the template for the fields that all have in common.
        """
        bodies, properties, size = self._bodies, self._properties, sizes[0]
        model = encode(
            message,
            bodies[0],
            properties[0],
            topic,
            size,
            sys_flag,
            self._flag,
            queue_offset,
            physical_offset,
            store_timestamp,
        )
        begin, place, rest = model[:8], model[12:20], model[36 : record_size(sys_flag, 0, 0, 0) - 2]
        between = topic[1] + self._properties_length
        lengths = len(rest), len(bodies[0]), len(between), len(properties[0])
        pack = struct.Struct(">8sI8sqq{}s{}s{}s{}s".format(*lengths)).pack
        return b"".join(
            map(
                pack,
                repeat(begin),
                [crc32(body) & 0x7FFFFFFF for body in bodies],
                repeat(place),
                count(queue_offset),
                count(physical_offset, size),
                repeat(rest),
                bodies,
                repeat(between),
                properties,
            )
        )

    def rows(self, sizes: list[int]) -> Batch:
        """See `PlainBatch.rows`."""
        return list(zip(sizes, self._properties, strict=True))

    def keyed(self, sizes: list[int]) -> KeyedBatch | None:
        """See `PlainBatch.keyed`."""
        keys = lone_unique_keys(self._properties)
        return None if keys is None else KeyedBatch(sizes, keys)


class NativeBatch:
    """A batch body with the sizes of its elements, without checksums of whole records. See `cut`."""

    def __init__(self, elements: bytes, element_sizes: list[int], native: Native) -> None:
        self._elements = elements
        self._element_sizes = element_sizes
        self._native = native

    def sizes(self, topic: tuple[int, bytes], sys_flag: int) -> list[int]:
        """See `PlainBatch.sizes`."""
        more = record_size(sys_flag, 0, len(topic[1]), 0) - ELEMENT_SIZE_MIN
        return [size + more for size in self._element_sizes]

    def records(
        self,
        message: Message,
        topic: tuple[int, bytes],
        sizes: list[int],
        sys_flag: int,
        queue_offset: int,
        physical_offset: int,
        store_timestamp: int,
    ) -> bytes:
        """See `PlainBatch.records`."""
        places = queue_offset, physical_offset, store_timestamp
        model = encode(message, b"", b"", topic, sizes[0], sys_flag, 0, *places)
        head = model[: record_size(sys_flag, 0, 0, 0) - 2]
        return self._native.batch_records(self._elements, head, topic[1], queue_offset, physical_offset)

    def rows(self, sizes: list[int]) -> Batch:
        """See `PlainBatch.rows`."""
        return _cut_in_python(self._elements).rows(sizes)

    def keyed(self, sizes: list[int]) -> KeyedBatch | None:
        """See `PlainBatch.keyed`."""
        keys = self._native.unique_keys(self._elements)
        return None if keys is None else KeyedBatch(sizes, keys)


ClientBatch = PlainBatch | EvenBatch | NativeBatch


def cut(elements: bytes, has_crc: bool) -> ClientBatch:
    """Parse a batch body into messages. Raises as `PlainBatch`.

    None of them ends a batch of a Kafka producer. The property that marks this is removed, as it may have
    been copied from another message.
    """
    if native is not None and not has_crc:
        sizes = native.element_sizes(elements)
        if sizes is not None:
            return NativeBatch(elements, sizes, native)
    if _PRODUCER in elements:
        elements = _without_producers(elements)
    return PlainBatch(elements, has_crc) if has_crc else _cut_in_python(elements)


def _without_producers(elements: bytes) -> bytes:
    """Return a batch body without the property `__KPID`."""
    parts: list[bytes] = []
    for flag, body, tail in split_batch(elements):
        text = tail[2:]
        if _PRODUCER in text:
            properties = parse_properties(text.decode("utf-8", "replace"))
            properties.pop(PROPERTY_KAFKA_PRODUCER, None)
            text = properties_text(properties)
        parts.append(encode_element(body, flag, text))
    return b"".join(parts)


def _cut_in_python(elements: bytes) -> EvenBatch | PlainBatch:
    return _cut_evenly(elements) or PlainBatch(elements, False)


def _cut_evenly(elements: bytes) -> EvenBatch | None:
    """Return the batch as columns; None if the messages differ in form or the lengths are inconsistent."""
    try:
        body_end, size = element_ends(elements, 0)
    except MessageIllegal:
        return None
    if len(elements) % size:
        return None
    body_length, properties_length = body_end + 2 - ELEMENT_SIZE_MIN, size - body_end - 2
    rows = struct.iter_unpack(f">12x4si{body_length}s2s{properties_length}s", elements)
    flags, body_lengths, bodies, properties_lengths, properties = zip(*rows, strict=True)
    flag, length, number = flags[0], properties_length.to_bytes(2, "big", signed=True), len(bodies)
    if not (
        flags.count(flag) == body_lengths.count(body_length) == properties_lengths.count(length) == number
    ):
        return None
    return EvenBatch(int.from_bytes(flag, "big", signed=True), bodies, properties, length)

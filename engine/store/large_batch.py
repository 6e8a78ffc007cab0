"""A client's batch of many messages, encoded incrementally before it is stored with one write.

A batch is one contiguous range of the log with consecutive queue offsets. Its position is known only when it
is written, but all else is encoded before, checksums of the bodies included. Then only the positions are
filled in (`record.place_batch`), some hundred nanoseconds a message, and one write follows. It is dispatched
in the parts in which it was encoded.
"""

from __future__ import annotations

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.client_batch import cut
from mqgateway.engine.store.client_elements import element_ends
from mqgateway.engine.store.dispatch_request import Part

LARGE = 32 << 10
"""Bytes of a batch body from which on it is encoded incrementally. Below, that would not unblock others."""
PART_WEIGHT = 128
"""Messages that are encoded in one step, and dispatched together, if they are small."""
_BODY_BYTES = 1024
_PROPERTY_BYTES = 32
"""Bytes that cost as much as a small message. Each key in the properties has an entry in the index."""


class LargeBatch:
    """The records of a batch, complete except for positions and times.

    `length` is that of the body. `records` are concatenated, `sizes` are their lengths. `parts` has the sizes
    and properties of some messages each, as `dispatch` takes them.
    """

    __slots__ = ("length", "parts", "records", "sizes")

    def __init__(self, length: int) -> None:
        self.length = length
        self.records = bytearray()
        self.sizes: list[int] = []
        self.parts: list[Part] = []


def made_ready(
    message: Message, elements: bytes, topic: tuple[int, bytes], sys_flag: int, has_crc: bool, most: int
) -> Steps[LargeBatch]:
    """Encode a batch as a cooperative task.

    `message` has the fields that all have in common; `topic` and `sys_flag` are those of `encode`. With
    `has_crc` records have room for a checksum of all of them. Raises `MessageIllegal` for inconsistent
    lengths, and for more than `most` messages.
    """
    at, total = 0, len(elements)
    batch = LargeBatch(total)
    while at < total:
        end = _end_of_part(elements, at)
        some = cut(elements[at:end], has_crc)
        at = end
        sizes = some.sizes(topic, sys_flag)
        batch.records += some.records(message, topic, sizes, sys_flag, 0, 0, 0)
        batch.sizes += sizes
        if len(batch.sizes) > most:
            raise MessageIllegal(f"the batch has more than the {most} messages that maxBatchMessages allows")
        batch.parts.append(tuple(some.rows(sizes)))
        yield
    return batch


def _end_of_part(elements: bytes, at: int) -> int:
    """Return the end of the part of a batch body that begins at a byte; lengths are not validated."""
    weight, total = 0, len(elements)
    while weight < PART_WEIGHT and at < total:
        try:
            body_end, end = element_ends(elements, at)
        except MessageIllegal:
            return total
        weight += 1 + (body_end - at) // _BODY_BYTES + (end - body_end) // _PROPERTY_BYTES
        at = end
    return at

"""Acknowledging many popped messages at once. Standard: `BatchAckMessageRequestBody`, `BatchAck`."""

import base64
from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, Int, body, wired


@body
class BatchAck(Body):
    """Messages of one hand-out; `bit_set` has bit n set for the message at `start_offset` + n.

    On the wire the names are short, and the bits are base64 of bytes, the lowest bits in the first byte.
    """

    consumer_group: str = field(metadata=wired("c"))
    topic: str = field(metadata=wired("t"))
    retry: str = field(metadata=wired("r"))
    start_offset: int = field(metadata=wired("so"))
    queue_id: Int = field(metadata=wired("q"))
    revive_queue_id: Int = field(metadata=wired("rq"))
    pop_time: int = field(metadata=wired("pt"))
    invisible_time: int = field(metadata=wired("it"))
    bit_set: str = field(metadata=wired("b"))

    @property
    def offsets(self) -> list[int]:
        """The queue offsets that are acknowledged. Raises ValueError when the bits are no base64."""
        octets = base64.b64decode(self.bit_set, validate=True)
        return [
            self.start_offset + 8 * place + bit
            for place, octet in enumerate(octets)
            for bit in range(8)
            if octet >> bit & 1
        ]


@body
class BatchAckMessageRequestBody(Body):
    """Acknowledgements for one broker."""

    broker_name: str | None = None
    acks: list[BatchAck] = field(default_factory=list)


def bit_set(numbers: list[int]) -> str:
    """Return the `bit_set` text with these bits."""
    bits = sum(1 << number for number in set(numbers))
    return base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode("ascii")

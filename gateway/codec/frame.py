"""Cutting frames out of a stream of bytes.

A frame is an i4 length of all that follows, then (the payload) an i4 whose top byte is the header form and
whose low 24 bits are the header length, the header, and the body. All numbers are big-endian:

    | i4 length | i1 form, i3 header length | header | body |

The cutter knows only the first i4; `gateway.codec.command` reads the payload. Standard: `NettyDecoder`, a
length field decoder that counts the length word itself into the limit.
"""

import struct
from typing import Final

from mqgateway.gateway.codec.errors import ProtocolError

FRAME_LIMIT: Final = 16 * 1024 * 1024
"""Bytes a frame may have, length word included. Standard property: `com.rocketmq.remoting.frameMaxLength`."""

LENGTH_SIZE: Final = 4
"""Bytes of the length word, and of the header word behind it: no payload is shorter."""

_LENGTH: Final = struct.Struct(">i")


class FrameCutter:
    """Turns whatever chunks a connection reads into payloads, whole and in order.

    Whole frames cost one slice each. Only the unfinished frame at the end of a chunk is kept, so never more
    than `limit` bytes, and a frame that comes byte by byte is still copied just twice.
    """

    __slots__ = ("_limit", "_partial", "_wanted")

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._wanted = LENGTH_SIZE  # bytes `_partial` must have before anything can happen

    @property
    def buffered(self) -> int:
        """Bytes of an unfinished frame that are waiting for the rest."""
        return len(self._partial)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads (frames without length word) that `data` completes.

        Raises CodecError when a length word is impossible; the stream is then lost, and with it the frames
        that came in the same chunk.
        """
        payloads: list[bytes] = []
        position = self._finish(data, payloads) if self._partial else 0
        end = len(data)
        while end - position >= LENGTH_SIZE:
            after = position + self._frame_size(data, position)
            if after > end:
                break
            payloads.append(data[position + LENGTH_SIZE : after])
            position = after
        if position < end:
            self._keep(data[position:])
        return payloads

    def _finish(self, data: bytes, payloads: list[bytes]) -> int:
        """Completes the frame in the buffer as far as `data` goes; how many bytes that took."""
        partial = self._partial
        taken = 0
        while len(partial) < self._wanted:
            chunk = data[taken : taken + self._wanted - len(partial)]
            if not chunk:
                return taken
            partial += chunk
            taken += len(chunk)
            if self._wanted == LENGTH_SIZE and len(partial) == LENGTH_SIZE:
                self._wanted = self._frame_size(partial)
        payloads.append(bytes(memoryview(partial)[LENGTH_SIZE:]))
        self._partial = bytearray()
        self._wanted = LENGTH_SIZE
        return taken

    def _keep(self, rest: bytes) -> None:
        self._partial += rest
        if self._wanted == LENGTH_SIZE and len(self._partial) >= LENGTH_SIZE:
            self._wanted = self._frame_size(self._partial)

    def _frame_size(self, data: bytes | bytearray, position: int = 0) -> int:
        length: int = _LENGTH.unpack_from(data, position)[0]
        if length < LENGTH_SIZE:
            raise ProtocolError(f"a frame of {length} bytes has no room for its header length")
        if length + LENGTH_SIZE > self._limit:
            raise ProtocolError(
                f"a frame of {length + LENGTH_SIZE} bytes is longer than the {self._limit} that "
                "frameMaxLength allows"
            )
        return LENGTH_SIZE + length

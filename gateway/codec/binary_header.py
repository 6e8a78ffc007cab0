"""Headers of remoting commands in the binary form, ROCKETMQ.

They are read as tolerantly as by RocketMQ; lengths that exceed the header are a CodecError. RocketMQ:
`RocketMQSerializable`.
"""

import struct
from typing import Final

from mqgateway.gateway.codec.errors import ProtocolError

_START: Final = struct.Struct(">hbhiii")  # code, language, version, opaque, flag, length of the remark
_LENGTH: Final = struct.Struct(">i")
_KEY_LENGTH: Final = struct.Struct(">h")

BinaryHeader = tuple[int, int, int, int, int, str | None, dict[str, str] | None]
"""Code, language, version, opaque, flag, remark and fields, which are None if there are too many."""


def decode_binary_header(header: bytes, fields_max: int) -> BinaryHeader:
    """Read a header. Raises CodecError."""
    try:
        code, language, version, opaque, flag, remark_length = _START.unpack_from(header)
        remark_end = _end(header, _START.size, remark_length)
        (fields_length,) = _LENGTH.unpack_from(header, remark_end)
        fields_start = remark_end + _LENGTH.size
        fields_end = _end(header, fields_start, max(0, fields_length))
        fields = _read_fields(header, fields_start, fields_end, fields_max)
    except struct.error:
        raise ProtocolError("a binary header that ends too early") from None
    remark = header[_START.size : remark_end].decode("utf-8", "replace") or None
    return code, language, version, opaque, flag, remark, fields


def _read_fields(header: bytes, position: int, end: int, fields_max: int) -> dict[str, str] | None:
    """Return the fields; None if there are too many.

    As in RocketMQ, the last field may extend past the end of the fields, but not of the header, and a field
    with an empty value is missing.
    """
    fields: dict[str, str] = {}
    left = fields_max
    while position < end:
        if left == 0:
            return None
        left -= 1
        key_start = position + 2
        key_end = key_start + _KEY_LENGTH.unpack_from(header, position)[0]
        value_start = key_end + 4
        position = value_start + _LENGTH.unpack_from(header, key_end)[0]
        if not key_start <= key_end < value_start <= position <= len(header):
            raise ProtocolError("a length in a binary header leads out of its place")
        key = header[key_start:key_end].decode("utf-8", "replace")
        if position > value_start:
            fields[key] = header[value_start:position].decode("utf-8", "replace")
        else:
            fields.pop(key, None)
    return fields


def _end(header: bytes, start: int, length: int) -> int:
    end = start + length
    if not start <= end <= len(header):
        raise ProtocolError(f"a length of {length} in a binary header leads out of it")
    return end


def encode_binary_header(
    numbers: tuple[int, int, int, int, int], remark: str | None, fields: dict[str, str]
) -> bytes:
    """Write a header; `numbers` are code, language, version, opaque and flag. Raises CodecError."""
    text = (remark or "").encode("utf-8", "replace")
    try:
        written = b"".join([_write_field(name, value) for name, value in fields.items()])
        return b"".join((_START.pack(*numbers, len(text)), text, _LENGTH.pack(len(written)), written))
    except struct.error as error:
        raise ProtocolError(f"code {numbers[0]} does not fit into a binary header: {error}") from None


def _write_field(name: str, value: str) -> bytes:
    key = name.encode("utf-8", "replace")
    text = value.encode("utf-8", "replace")
    return _KEY_LENGTH.pack(len(key)) + key + _LENGTH.pack(len(text)) + text


def binary_outline(header: bytes) -> tuple[int, int, int]:
    """Return code, opaque and flag of a header that is too large to be read. Raises CodecError."""
    if len(header) < _START.size:
        raise ProtocolError("a binary header that ends too early")
    code, _, _, opaque, flag, _ = _START.unpack_from(header)
    return code, opaque, flag

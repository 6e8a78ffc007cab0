"""Binary headers as peers may write them, and lengths in them that are wrong."""

import struct

import pytest

from mqgateway.gateway.codec.binary_header import binary_outline, decode_binary_header, encode_binary_header
from mqgateway.gateway.codec.codes import LanguageCode
from mqgateway.gateway.codec.command import decode_command, encode_command
from mqgateway.gateway.codec.errors import ProtocolError
from tests.support.gateway.codec import payload


def test_header_is_read_as_it_was_written() -> None:
    header = encode_binary_header((10, 9, 317, 7, 2), "hi", {"topic": "T"})
    assert decode_binary_header(header, 1) == (10, 9, 317, 7, 2, "hi", {"topic": "T"})
    assert decode_binary_header(header, 0)[-1] is None
    assert binary_outline(header) == (10, 7, 2)


def test_header_that_is_too_short_has_no_outline() -> None:
    with pytest.raises(ProtocolError, match="too early"):
        binary_outline(b"\0" * 16)


def test_a_binary_header_byte_by_byte() -> None:
    header = (
        b"\x00\x69" + b"\x09" + b"\x01\x3d" + b"\x00\x00\x00\x07" + b"\x00\x00\x00\x02"
        b"\x00\x00\x00\x02hi" + b"\x00\x00\x00\x0c" + b"\x00\x05topic" + b"\x00\x00\x00\x01T"
    )
    command = decode_command(payload(header, form=1, body=b"body"))
    assert (command.code, command.opaque, command.version) == (105, 7, 317)
    assert command.language is LanguageCode.GO
    assert command.is_oneway
    assert command.remark == "hi"
    assert command.ext_fields == {"topic": "T"}
    assert encode_command(command)[4:] == payload(header, form=1, body=b"body")


BINARY = struct.pack(">hbhii", 1, 0, 0, 0, 0)


def binary_fields(*fields: tuple[bytes, bytes]) -> bytes:
    return b"".join(
        struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value for name, value in fields
    )


TOPIC = binary_fields((b"topic", b"TBW102"))


@pytest.mark.parametrize(
    ("rest", "fields"),
    [
        (struct.pack(">ii", 0, -1) + TOPIC, {}),
        (struct.pack(">ii", 0, -(2**31)), {}),
        (struct.pack(">ii", 0, 0) + TOPIC, {}),
        (struct.pack(">ii", 0, len(TOPIC) - 1) + TOPIC, {"topic": "TBW102"}),
        (struct.pack(">ii", 0, len(TOPIC)) + TOPIC + b"more", {"topic": "TBW102"}),
        (struct.pack(">ii", 0, len(TOPIC) + 7) + TOPIC + binary_fields((b"n", b"")), {"topic": "TBW102"}),
        (struct.pack(">ii", 0, len(TOPIC) + 11) + TOPIC + binary_fields((b"topic", b"")), {}),
    ],
)
def test_binary_header_is_read_as_tolerantly_as_rocketmq_reads_it(
    rest: bytes, fields: dict[str, str]
) -> None:
    assert decode_command(payload(BINARY + rest, form=1, body=b"body")).ext_fields == fields


@pytest.mark.parametrize("length", range(len(TOPIC)))
def test_binary_header_whose_last_field_leads_out_of_it_is_refused(length: int) -> None:
    header = BINARY + struct.pack(">ii", 0, max(1, length)) + TOPIC[:length]
    with pytest.raises(ProtocolError):
        decode_command(payload(header, form=1, body=TOPIC))


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        b"\0\0\0\1",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff\0\0\0\0",
        b"\0\0\0\0\0\0\0\5ab",
        b"\0\0\0\0\0\0\0\1a",
        b"\0\0\0\0\0\0\0\6\xff\xff\0\0\0\0",
        b"\0\0\0\0\0\0\0\6\0\0\xff\xff\xff\xff",
        b"\0\0\0\0\0\0\0\6\0\0\0\0\0\2a",
        b"\0\0\0\0\0\0\0\6\0\7abcdefghi",
    ],
)
def test_binary_lengths_that_lead_out_are_refused(rest: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_command(payload(BINARY + rest, form=1))

"""The hand-written codec is equal to its specification, both ways and in both header forms."""

import struct

import pytest
from construct import Container
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.codes import SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command, encode_response
from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.codec.schema import FRAME, parse_frame
from tests.gateway.codec.test_command import commands

any_command = commands(SerializeType.JSON) | commands(SerializeType.ROCKETMQ)


def members(command: RemotingCommand) -> dict[str, object]:
    """The command in the shape of the specification."""
    return {
        "form": int(command.serialize_type),
        "header": {
            "code": command.code,
            "language": int(command.language),
            "version": command.version,
            "opaque": command.opaque,
            "flag": command.flag,
            "remark": command.remark,
            "fields": command.ext_fields,
        },
        "body": command.body,
    }


def parsed(frame: bytes) -> dict[str, object]:
    found = parse_frame(frame)
    header = {name: value for name, value in found.header.items() if name != "_io"}
    return {"form": found.form, "header": header, "body": found.body}


@given(any_command)
def test_specification_reads_our_frames(command: RemotingCommand) -> None:
    assert parsed(encode_command(command)) == members(command)


@given(any_command)
def test_frames_of_the_specification_are_read(command: RemotingCommand) -> None:
    built = FRAME.build(_container(command))
    assert [decode_command(payload) for payload in FrameCutter().feed(built)] == [command]


@given(commands(SerializeType.ROCKETMQ))
def test_binary_frames_are_the_same_bytes(command: RemotingCommand) -> None:
    assert FRAME.build(_container(command)) == encode_command(command)


@given(any_command, st.integers(0, 3000), st.none() | st.text("remark", min_size=1), st.binary(max_size=9))
def test_answers_are_to_the_specification_too(
    request: RemotingCommand, code: int, remark: str | None, body: bytes
) -> None:
    found = parse_frame(encode_response(request, code, {"queueId": "3"}, body, remark))
    assert (found.header.code, found.header.remark, found.body) == (code, remark, body)
    assert (found.form, found.header.opaque, found.header.flag) == (request.serialize_type, request.opaque, 1)
    assert found.header.fields == {"queueId": "3"}


@given(st.lists(any_command, max_size=4), st.binary(max_size=3))
def test_frames_whole_byte_by_byte_and_with_a_tail(sent: list[RemotingCommand], tail: bytes) -> None:
    stream = b"".join(FRAME.build(_container(command)) for command in sent)
    whole = FrameCutter()
    assert [decode_command(payload) for payload in whole.feed(stream + tail)] == sent
    assert whole.buffered == len(tail)
    bytewise = FrameCutter()
    found = [payload for i in range(len(stream)) for payload in bytewise.feed(stream[i : i + 1])]
    assert [decode_command(payload) for payload in found] == sent
    assert bytewise.buffered == 0


@given(commands(SerializeType.ROCKETMQ), st.data())
def test_a_damaged_binary_header_is_refused_by_both_or_by_none(
    command: RemotingCommand, data: st.DataObject
) -> None:
    """A byte of a length changed: both readers agree on whether that still is a command."""
    frame = bytearray(encode_command(command))
    header_end = len(frame) - len(command.body)
    place = data.draw(st.integers(21, header_end - 1))
    frame[place] = data.draw(st.integers(0, 255))
    try:
        found = parsed(bytes(frame))
    except ProtocolError:
        found = None
    try:
        ours = members(decode_command(bytes(frame[4:])))
    except ProtocolError:
        assert found is None
    else:
        assert found in (ours, None)  # malformed UTF-8 is read by us alone


@pytest.mark.parametrize(
    "frame", [b"", b"\0\0\0\1a", struct.pack(">iI", 6, 2) + b"[]", struct.pack(">iI", 4, 2 << 24)]
)
def test_invalid_frame_is_a_codec_error(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_frame(frame)


def _container(command: RemotingCommand) -> Container:
    """Return the input of the specification; its headers need attributes."""
    found = members(command)
    return Container({**found, "header": Container(found["header"])})

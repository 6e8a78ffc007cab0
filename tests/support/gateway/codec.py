"""Frames with headers as peers may write them."""

from __future__ import annotations

import struct
from typing import Any

import orjson
import pytest

from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.codec.errors import HeaderTooLarge


def payload(header: bytes, form: int = 0, body: bytes = b"") -> bytes:
    """Return a frame without its length word; form 0 is JSON, 1 binary."""
    return struct.pack(">I", form << 24 | len(header)) + header + body


def json_payload(**members: Any) -> bytes:
    """Return a frame with these members of a JSON header, without its length word."""
    return payload(orjson.dumps(members))


def too_large(frame: bytes, **limits: int) -> RemotingCommand:
    """Return the request with which a header is refused unread."""
    with pytest.raises(HeaderTooLarge) as caught:
        decode_command(frame[4:], **limits)
    request: RemotingCommand = caught.value.request
    return request

"""Typed decoding of answers; no I/O."""

from __future__ import annotations

from typing import TypeVar

from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.bodies.body import Body
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import BodyError, HeaderError
from mqgateway.gateway.codec.fields import Header

H = TypeVar("H", bound=Header)
B = TypeVar("B", bound=Body)


def decode_header(kind: type[H], answer: RemotingCommand) -> H:
    """Decode the header of an answer. Raises `ClientError` if it is malformed."""
    try:
        return answer.read_header(kind)
    except HeaderError as error:
        raise ClientError(f"an answer that cannot be read: {error.remark}") from None


def decode_body(kind: type[B], answer: RemotingCommand) -> B:
    """Decode the body of an answer. Raises `ClientError` if it is malformed."""
    try:
        return kind.decode(answer.body)
    except BodyError as error:
        raise ClientError(f"an answer that cannot be read: {error.remark}") from None

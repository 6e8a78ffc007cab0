"""Answers of the echo server: the official client gets all that it needs to continue sending."""

import pytest

from bench.echo import ENDLESS, answer
from bench.requests import send_request
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, decode_command, encode_command

PORT = 1234


def asked(code: int, flag: int = 0) -> bytes:
    """A request without its length word."""
    command = RemotingCommand(code, opaque=7, flag=flag, version=CURRENT_VERSION)
    return encode_command(command)[4:]


@pytest.mark.parametrize("opaque", [0, 9, 2_147_483_647])
def test_a_send_is_answered_under_its_number(opaque: int) -> None:
    frame = answer(send_request(opaque)[4:], PORT)
    reply = decode_command(frame[4:])
    assert len(frame) == 4 + int.from_bytes(frame[:4], "big")
    assert (reply.code, reply.opaque, reply.is_response) == (0, opaque, True)
    assert {"msgId", "queueId", "queueOffset"} == reply.ext_fields.keys()


def test_routes_lead_back_here() -> None:
    reply = decode_command(answer(asked(RequestCode.GET_ROUTEINFO_BY_TOPIC), PORT)[4:])
    assert (reply.code, reply.opaque) == (0, 7) and b'"0": "127.0.0.1:1234"' in reply.body


def test_queues_are_never_short_of_what_was_sent() -> None:
    reply = decode_command(answer(asked(RequestCode.GET_MAX_OFFSET), PORT)[4:])
    assert reply.ext_fields == {"offset": str(ENDLESS)}


def test_other_requests_succeed_and_oneway_ones_are_not_answered() -> None:
    assert decode_command(answer(asked(RequestCode.HEART_BEAT), PORT)[4:]).code == 0
    assert answer(asked(RequestCode.HEART_BEAT, ONEWAY_FLAG), PORT) == b""

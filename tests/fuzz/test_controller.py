"""Requests to a controller with a field or a body that is not what it should be.

Every code is asked with every field of its header missing, or something else, and with bodies of any kind.
Each such request gets one answer, nothing is logged as a failure of ours, the tables stay within their
limits, and what is on disk afterwards is what the controller has.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import camel_case, request_header
from mqgateway.gateway.controller.requests import REQUESTS
from tests.fuzz.test_hostile_requests import NO_BOOLEANS, NO_NUMBERS, NUMBERS, TEXTS
from tests.fuzz.world import LogWatch
from tests.support.gateway.controller.world import Caller, ControllerWorld

BODIES = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"{}",
    b'["brk"]',
    b"[1,null,{}]",
    b'{"syncStateSet":[9223372036854775808],"syncStateSetEpoch":1}',
    b'{"syncStateSet":{"1":1},"syncStateSetEpoch":"x"}',
    b'{"syncStateSet":[null,-1,1],"syncStateSetEpoch":2147483648}',
    b"\xff\xfe",
    b"maxBrokers=x\n",
    b"[" * 5000,
)
HONEST = {
    "clusterName": "CL",
    "brokerName": "brk",
    "brokerId": "1",
    "brokerAddr": "127.0.0.1:10910",
    "brokerAddress": "127.0.0.1:10910",
    "masterBrokerId": "1",
    "masterEpoch": "1",
    "designateElect": "false",
    "appliedBrokerId": "3",
    "registerCheckCode": "127.0.0.1:10930;1",
    "isCleanLivingBroker": "false",
}


def spoiled(code: int) -> Iterator[dict[str, str]]:
    """The fields of a request with each in turn missing or wrong."""
    header = request_header(code)
    names = [] if header is None else [camel_case(field.name) for field in header.__fields__]
    fields = {name: HONEST[name] for name in names if name in HONEST}
    yield fields
    for name in names:
        yield {other: value for other, value in fields.items() if other != name}
        for value in (*NUMBERS, *NO_NUMBERS, *NO_BOOLEANS, *TEXTS):
            yield {**fields, name: value}


def answer(caller: Caller, code: int, fields: dict[str, str], body: bytes) -> RemotingCommand:
    command = RemotingCommand.request(code, None, body, ext=fields)
    caller.talker.transport.write(encode_command(command))
    caller.world.net.settle()
    (found,) = caller.talker.take()
    return found


@pytest.mark.parametrize("code", sorted(map(int, REQUESTS)))
def test_spoiled_requests_are_answered_and_harm_no_other(code: int) -> None:
    watch = LogWatch()
    root = logging.getLogger()
    root.addHandler(watch)
    try:
        world = ControllerWorld(max_brokers=50)
        first, second = world.pair()
        caller = world.caller()
        for fields in spoiled(code):
            answer(caller, code, fields, b'{"syncStateSet":[1],"syncStateSetEpoch":2}')
        for body in BODIES:
            answer(caller, code, next(spoiled(code)), body)
        assert caller.talker.lost is None
        controller = world.service.controller
        assert len(controller._liveness) <= 50
        assert sum(len(one.replicas) for one in controller.state.sets.values()) <= 50
        assert first.ask(RequestCode.CONTROLLER_GET_METADATA_INFO).ext_fields["isLeader"] == "true"
        assert first.info().code == second.info().code
        assert ControllerWorld(world.disk.crash(code)).service.controller.state.sets == controller.state.sets
    finally:
        root.removeHandler(watch)
    assert not watch.complaints

"""Limits of bodies: measurement, refusals and bodies within the limits."""

import logging

import pytest

from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.call import Call, RequestError
from mqgateway.gateway.remoting.limits import BodyLimit, body_limits, parts
from tests.support.gateway.remoting.pair import StillPeer

OPTIONS = RemotingOptions(max_body_size=2000, max_body_parts=100)
USUAL = BodyLimit(OPTIONS, "max_body_size", "max_body_parts")


def call(body: bytes) -> Call:
    return Call(RemotingCommand(42, body=body), None, body, StillPeer(), 0)


def test_parts_count_json_values_and_property_lines() -> None:
    assert parts(b'{"a":[1,2,{}],"b":"c"}') == 6
    assert parts(b"a=1\nb=2\r\n") == 3


@pytest.mark.parametrize("body", [b"", b"x" * 2000, b"[" + b"1," * 99, b"[" * 100])
def test_body_within_limit_is_accepted(body: bytes) -> None:
    USUAL.check(call(body))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"x" * 2001, "the body of request 42 has 2001 bytes, more than the 2000 that maxBodySize allows"),
        (b"[" * 101, "the body of request 42 has 101 parts, more than the 100 that maxBodyParts allows"),
    ],
)
def test_body_above_limit_is_refused_with_option_name(
    body: bytes, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(RequestError) as refused:
        USUAL.check(call(body))
    assert (refused.value.code, refused.value.remark) == (ResponseCode.SYSTEM_ERROR, words)
    assert f"10.0.0.7:5 is refused a request: {words}" in caplog.text


def test_limit_follows_option_and_may_be_bytes_only() -> None:
    options = RemotingOptions(max_body_size=2000)
    limit = BodyLimit(options, "max_body_size")
    limit.check(call(b"," * 2000))
    options.max_body_size = 1999
    with pytest.raises(RequestError):
        limit.check(call(b"," * 2000))


def test_codes_have_default_limit_unless_overridden() -> None:
    other = BodyLimit(OPTIONS, "max_body_size")
    assert body_limits([1, 2, 3], OPTIONS, {2: other, 3: None}) == {1: USUAL, 2: other}
    of_settings = body_limits([RequestCode.UPDATE_BROKER_CONFIG], OPTIONS, {})[25]
    assert (of_settings.size, of_settings.parts) == ("max_settings_size", "max_settings_parts")

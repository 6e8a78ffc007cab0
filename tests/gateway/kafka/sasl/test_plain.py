"""Tokens of PLAIN."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.kafka.sasl.exchange import AuthenticationFailed, SaslClient, SaslStep
from mqgateway.gateway.kafka.sasl.plain import PlainExchange

CLIENT = SaslClient("10.0.0.7:5000", "SaslAuthenticate")


def outcome(token: bytes, password: str = "secret") -> Any:
    """Return the step or the failure that a token leads to, for users with a password."""

    def authenticate(caller: FrontEndCaller) -> None:
        assert (caller.address, caller.request, caller.has_session) == (*CLIENT, False)
        if not caller.proof(password):
            raise NotAdmitted("wrong")

    outcomes: list[Any] = []
    PlainExchange(CLIENT, authenticate).evaluate(token).addCallbacks(
        outcomes.append, lambda failure: outcomes.append(failure.value)
    )
    return outcomes[0]


def test_password_in_utf_8_is_compared() -> None:
    assert outcome("\0zoë\0pässword".encode(), "pässword") == SaslStep(b"", "zoë")


@pytest.mark.parametrize("token", [b"", b"a", b"a\0b", b"a\0b\0c\0d", b"\0a\0secre", b"\0a\0\xff\xfe"])
def test_other_tokens_fail(token: bytes) -> None:
    assert isinstance(outcome(token), AuthenticationFailed)

"""Claims and failures."""

from __future__ import annotations

from mqgateway.gateway.kafka.sasl.exchange import AuthenticationFailed, SaslClient


def test_a_claim_has_the_address_and_the_request() -> None:
    caller = SaslClient("10.0.0.7:5000", "SaslAuthenticate").claims("alice", lambda secret: secret == "s")
    assert (caller.name, caller.ip, caller.request) == ("alice", "10.0.0.7", "SaslAuthenticate")
    assert caller.proof("s") and not caller.proof("t") and not caller.has_session


def test_a_failure_without_a_text_does_not_say_why() -> None:
    assert (AuthenticationFailed().text, str(AuthenticationFailed())) == (None, "invalid credentials")
    assert str(AuthenticationFailed("no")) == "no"

"""Requests of authentication where there is none."""

from __future__ import annotations

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.support.gateway.kafka.broker import KafkaBroker


def test_handshake_and_authenticate_are_errors() -> None:
    kafka = KafkaBroker()
    handshake = kafka.ask(SaslHandshakeRequest("PLAIN"))
    assert handshake.error_code == ErrorCode.ILLEGAL_SASL_STATE and not handshake.mechanisms
    assert kafka.ask(SaslAuthenticateRequest(b"")).error_code == ErrorCode.ILLEGAL_SASL_STATE

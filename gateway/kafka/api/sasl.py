"""SaslHandshake and SaslAuthenticate outside of an authentication, where they are errors.

Those of an authentication are carried out by `sasl.session`. Standard:
`KafkaApis.handleSaslHandshakeRequest`, `KafkaApis.handleSaslAuthenticateRequest`.
"""

from __future__ import annotations

from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_response import SaslAuthenticateResponse
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_response import SaslHandshakeResponse


class SaslRequests:
    """Refusals of requests that are not expected: of a server without SASL, or after authentication."""

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {SASL_HANDSHAKE: self.handshake, SASL_AUTHENTICATE: self.authenticate}

    def handshake(self, call: KafkaCall, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        """Refuse SaslHandshake."""
        return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)

    def authenticate(self, call: KafkaCall, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        """Refuse SaslAuthenticate."""
        return SaslAuthenticateResponse(
            ErrorCode.ILLEGAL_SASL_STATE, "SaslAuthenticate request received after successful authentication"
        )

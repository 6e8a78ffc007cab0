"""A refused request."""

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.refusal import Refused


def test_refusal_has_code_and_message() -> None:
    refused = Refused(ErrorCode.INVALID_REQUEST, "No.")
    assert (refused.code, str(refused)) == (ErrorCode.INVALID_REQUEST, "No.")

"""A request about a group that is refused."""

from __future__ import annotations

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode


class Refused(Exception):
    """A request that is refused, with the error code and the message for the client."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code

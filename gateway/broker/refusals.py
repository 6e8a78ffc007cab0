"""Errors of operations as answers of the remoting protocol."""

from __future__ import annotations

from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Reply

CODES: dict[Reason, int] = {reason: ResponseCode[reason.name] for reason in Reason}
"""The code that a client is answered, by reason."""


def refusal(error: BaseException) -> Reply | None:
    """The answer to a request whose operation raised `error`; None where the broker means nothing by it."""
    if isinstance(error, OperationError):
        return Reply(CODES[error.reason], remark=error.message)
    return None

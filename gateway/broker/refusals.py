"""Errors of operations as answers of the remoting protocol."""

from __future__ import annotations

from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Reply

_OURS = {
    Reason.RECEIPT_STALE: ResponseCode.NO_MESSAGE,
    Reason.PROPERTIES_TOO_LARGE: ResponseCode.MESSAGE_ILLEGAL,
}
CODES: dict[Reason, int] = {
    reason: _OURS[reason] if reason in _OURS else ResponseCode[reason.name] for reason in Reason
}
"""Response codes by reason."""


def refusal(error: BaseException) -> Reply | None:
    """Return the answer to a request whose operation raised `error`; None for other errors."""
    if isinstance(error, OperationError):
        return Reply(CODES[error.reason], remark=error.message)
    return None

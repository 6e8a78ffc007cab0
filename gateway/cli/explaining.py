"""Errors of servers and connections with what to do about them; pure.

mqadmin loads this too, so it needs nothing but the client's errors.
"""

from __future__ import annotations

from mqgateway.gateway.client.errors import BrokerError, ClientError, NoRoute, TimedOut, Unreachable
from mqgateway.gateway.codec.codes import ResponseCode

_FINAL_CODES = frozenset({ResponseCode.NO_PERMISSION, ResponseCode.SUBSCRIPTION_PARSE_FAILED})
_BUSY_CODES = frozenset(
    {ResponseCode.SYSTEM_BUSY, ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.SERVICE_NOT_AVAILABLE}
)
_SIGNS_OF_TLS = ("is gone", "closed the connection", "reset by peer")
"""Errors that a client without TLS gets from a server that expects TLS."""


def is_final(error: ClientError) -> bool:
    """Return True if the same request would be refused again."""
    return isinstance(error, BrokerError) and error.code in _FINAL_CODES


def explained(error: ClientError) -> str:
    """Return what happened and, where that is known, what to do about it, as one sentence."""
    if isinstance(error, NoRoute) and not error.detail:
        text = f"there is no topic {error.topic}"
        remedy = f"see 'mqgateway topic list', or create it with 'mqgateway topic create {error.topic}'"
    else:
        text, remedy = str(error), _remedy(_root(error), str(error))
    return f"{text.rstrip('.')}; {remedy}" if remedy else text


def _root(error: BaseException) -> BaseException:
    """Return the error of the client that led to this one."""
    while isinstance(cause := error.__cause__ or error.__context__, ClientError):
        error = cause
    return error


def _remedy(root: BaseException, text: str) -> str:
    if isinstance(root, BrokerError):
        return _remedy_of_refusal(root)
    if isinstance(root, TimedOut):
        return "the server may be busy or stopped: try again, or allow it more time"
    if isinstance(root, Unreachable):
        if any(sign in text for sign in _SIGNS_OF_TLS):
            return "is this the port of a RocketMQ server? If it expects TLS, add --tls"
        return "check that the server runs, and that its address is right"
    return ""


def _remedy_of_refusal(refusal: BrokerError) -> str:
    if refusal.code == ResponseCode.NO_PERMISSION:
        remark = refusal.remark.lower()
        if "username" in remark or "accesskey" in remark:
            return "give credentials: --access-key and --secret-key, or a profile"
        if "signature" in remark:
            return "check the secret key"
        if "permission" in remark or "authorization" in remark:
            return "ask an administrator for the permission: mqgateway access policies"
        return ""
    if "SQL92" in refusal.remark:
        return "filter by tags, or set enablePropertyFilter=true on the broker"
    if refusal.code in _BUSY_CODES:
        return "try again later"
    return ""

"""Errors of the client; all errors that it raises on purpose are `ClientError`.

Callers distinguish errors by class, and a `BrokerError` by its `code`, one of RocketMQ's response codes
(`gateway.codec.codes.ResponseCode`). RocketMQ: `MQClientException`, `MQBrokerException`, `RemotingException`,
`RequestTimeoutException`.
"""

from __future__ import annotations

from collections.abc import Sequence


class ClientError(Exception):
    """Base of all errors of the client."""


class NotRunning(ClientError):
    """A producer or consumer was used before `start` or after `close`."""


class BadArgument(ClientError, ValueError):
    """Invalid setting, name or message; nothing was sent."""


class NoRoute(ClientError):
    """No name server has a route for the topic; `detail` names a further problem, if there is one."""

    def __init__(self, topic: str, detail: str = "") -> None:
        super().__init__(f"no route to topic {topic}" + (f": {detail}" if detail else ""))
        self.topic = topic
        self.detail = detail


class NoBroker(ClientError):
    """The broker of a queue is no longer in any route, or has no master."""


class Unreachable(ClientError):
    """The connection to a server failed, or broke before the answer arrived."""


class TimedOut(Unreachable):
    """The answer did not arrive in time. The request may have been executed all the same."""


class BrokerError(ClientError):
    """Refusal by a server, with its response code, its remark and its address."""

    def __init__(self, code: int, remark: str | None, address: str) -> None:
        super().__init__(f"{address} answered {code}: {remark or 'no remark'}")
        self.code = code
        self.remark = remark or ""
        self.address = address


class SendFailed(ClientError):
    """All attempts to send a message failed; `__cause__` is the error of the last one.

    `code` is the response code of the last attempt, 0 if that was not refused by a broker. `brokers` are the
    brokers tried, in order.
    """

    def __init__(self, topic: str, brokers: Sequence[str], cause: Exception) -> None:
        tried = ", ".join(brokers)
        super().__init__(f"{topic}: {len(brokers)} tries failed ({tried}), the last because {cause}")
        self.brokers = tuple(brokers)
        self.code = cause.code if isinstance(cause, BrokerError) else 0


class TooBusy(ClientError):
    """The limit of requests in flight is reached; nothing was sent. Retry when some have completed."""


class ReplyTimedOut(ClientError):
    """A request was sent, but no consumer replied in time."""


for _error in (
    ClientError,
    NotRunning,
    BadArgument,
    NoRoute,
    NoBroker,
    Unreachable,
    TimedOut,
    BrokerError,
    SendFailed,
    TooBusy,
    ReplyTimedOut,
):
    _error.__module__ = "mqgateway"  # the package that programs import them from, shown in tracebacks


def trimmed(error: ClientError) -> ClientError:
    """Remove the client's own frames from an error's traceback, which then starts where it is raised again.

    Causes that the client raised on purpose lose their traceback too; other causes keep it.
    """
    one: BaseException | None = error
    while isinstance(one, ClientError):
        one.__traceback__ = None
        one = one.__cause__ or one.__context__
    return error

"""What can go wrong for a user of the client; everything it raises on purpose is a `ClientError`.

Callers branch on the class, and for a `BrokerError` on its `code`, which is one of the standard's response
codes (`gateway.codec.codes.ResponseCode`). Standard: `MQClientException`, `MQBrokerException`,
`RemotingException`, `RequestTimeoutException`.
"""

from __future__ import annotations

from collections.abc import Sequence


class ClientError(Exception):
    """Base of all errors of the client."""


class NotRunning(ClientError):
    """Something was asked of a producer or consumer that was not started, or has been closed."""


class BadArgument(ClientError, ValueError):
    """A setting, a name or a message that no broker would take; nothing was sent."""


class NoRoute(ClientError):
    """No name server knows brokers of the topic; `detail` says what else is wrong, if anything is."""

    def __init__(self, topic: str, detail: str = "") -> None:
        super().__init__(f"no route to topic {topic}" + (f": {detail}" if detail else ""))
        self.topic = topic
        self.detail = detail


class NoBroker(ClientError):
    """The broker that a queue lies on is in no route any more, or has no master."""


class Unreachable(ClientError):
    """A server could not be connected to, or the connection broke before the answer came."""


class TimedOut(Unreachable):
    """The answer did not come in time. What was asked may have been done all the same."""


class BrokerError(ClientError):
    """A server's refusal: its response code, its remark, and who it was."""

    def __init__(self, code: int, remark: str | None, address: str) -> None:
        super().__init__(f"{address} answered {code}: {remark or 'no remark'}")
        self.code = code
        self.remark = remark or ""
        self.address = address


class SendFailed(ClientError):
    """All tries to send a message failed; `__cause__` is the reason of the last one.

    `code` is the response code of the last refusal, 0 when there was none; `brokers` are those that were
    tried, in order.
    """

    def __init__(self, topic: str, brokers: Sequence[str], cause: Exception) -> None:
        tried = ", ".join(brokers)
        super().__init__(f"{topic}: {len(brokers)} tries failed ({tried}), the last because {cause}")
        self.brokers = tuple(brokers)
        self.code = cause.code if isinstance(cause, BrokerError) else 0


class TooBusy(ClientError):
    """As much as is allowed is under way already; nothing was sent. Try again when some of it is done."""


class ReplyTimedOut(ClientError):
    """A request was sent, but nobody replied in time."""


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
    _error.__module__ = "mqgateway"  # where programs import them from, and what tracebacks show


def trimmed(error: ClientError) -> ClientError:
    """The same error without the client's own frames: its traceback begins again where it is raised.

    What caused it loses them too, if the client raised that on purpose; of anything else all is kept.
    """
    one: BaseException | None = error
    while isinstance(one, ClientError):
        one.__traceback__ = None
        one = one.__cause__ or one.__context__
    return error

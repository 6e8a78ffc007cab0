"""From a command to the bytes of its answer: the one place where failures become replies.

| what happens                        | answer                                                      |
|-------------------------------------|-------------------------------------------------------------|
| `RequestError` is raised            | its code, remark and header                                 |
| a header field is wrong             | 1, the remark of `HeaderError`                              |
| the table has no such code          | 3 " request type N not supported"                           |
| anything else is raised             | 1 "ClassName, message", and a traceback in the log          |
| the server is stopping              | 1500 "please go away" to versions that understand it        |
| `NO_REPLY`, or the request is oneway | nothing                                                    |

A function that returns a plain `Reply` is answered without any Deferred being made. Standard:
`NettyRemotingAbstract.processRequestCommand`, `UtilAll.exceptionSimpleDesc`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mypy_extensions import mypyc_attr
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

import mqgateway.gateway.codec.headers  # noqa: F401  (fills the registry behind `request_header`)
from mqgateway.engine.clock import Clock
from mqgateway.gateway.codec.codes import V5_3_1, ResponseCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, encode_response
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.fields import Header, request_header
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Peer, Reply, RequestError

log = logging.getLogger(__name__)

RequestFunction = Callable[[Any, Call], "Reply | Deferred[Reply]"]

_GO_AWAY = Reply(ResponseCode.GO_AWAY, remark="please go away")
_BUSY = Reply(ResponseCode.SYSTEM_BUSY, remark="[OVERLOAD]system busy, start flow control for a while")


class Hook(Protocol):
    """What watches over every request: signatures, metrics, traces."""

    def before(self, call: Call) -> None:
        """Called before the header is read (`call.header` is None); raises RequestError to refuse."""
        ...

    def after(self, call: Call, reply: Reply) -> None:
        """Called with every reply, refusals included, before it is written; `NO_REPLY` for none."""
        ...


@mypyc_attr(native_class=False)
class Dispatcher:
    """The functions of one port. `context` is handed to each of them as it is.

    `unsupported` says why codes of the standard are refused; the first refusal of each goes to the log.
    """

    def __init__(
        self,
        context: Any,
        table: Mapping[int, RequestFunction],
        unsupported: Mapping[int, str],
        *,
        clock: Clock,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self._context = context
        self._table: dict[int, tuple[RequestFunction, type[Header] | None]] = {
            int(code): (function, request_header(int(code))) for code, function in table.items()
        }
        self._reasons = {int(code): reason for code, reason in unsupported.items()}
        self._millis = clock.millis
        self._before = tuple(hook.before for hook in hooks)
        self._after = tuple(hook.after for hook in reversed(hooks))
        self.on_refused: Callable[[RemotingCommand, Peer], None] | None = None
        """Told of each request that `refuse` answers."""
        self.stopping = False
        """Set when the server stops: clients that understand it are told to go elsewhere."""

    def dispatch(self, command: RemotingCommand, peer: Peer) -> bytes | Deferred[bytes | None] | None:
        """The encoded answer; a Deferred of it when it takes time; None when there is none. Never raises."""
        call = Call(command, None, command.body, peer, self._millis())
        try:
            if self.stopping and command.version > V5_3_1:
                return self._finish(_GO_AWAY, call)
            entry = self._table.get(command.code)
            if entry is None:
                return self._finish(self._unsupported(call), call)
            function, header = entry
            for before in self._before:
                before(call)
            if header is not None:
                call.header = header.decode(command.ext_fields)
            reply: Any = function(self._context, call)
        except Exception as error:
            return self._finish(_reply_to(error, call), call)
        if type(reply) is not Reply and isinstance(reply, Deferred):  # the second question takes long
            return reply.addCallbacks(
                self._finish, self._finish_failed, callbackArgs=(call,), errbackArgs=(call,)
            )
        return self._finish(reply, call)

    def refuse(self, command: RemotingCommand, peer: Peer) -> bytes | None:
        """The answer to a request that is not even looked at, since the peer has too many in flight."""
        if self.on_refused is not None:
            self.on_refused(command, peer)
        return self._finish(_BUSY, Call(command, None, command.body, peer, self._millis()))

    def _finish(self, reply: Any, call: Call) -> bytes | None:
        command = call.command
        silent = reply is NO_REPLY or command.flag & ONEWAY_FLAG
        try:
            for after in self._after:
                after(call, reply)
            return None if silent else encode_reply(command, reply)
        except Exception:
            log.exception("the reply to %s cannot be given", call)
            if silent:
                return None
            return encode_response(command, ResponseCode.SYSTEM_ERROR, None, b"", "the reply cannot be given")

    def _finish_failed(self, failure: Failure, call: Call) -> bytes | None:
        assert failure.value is not None
        return self._finish(_reply_to(failure.value, call), call)

    def _unsupported(self, call: Call) -> Reply:
        code = call.command.code
        reason = self._reasons.pop(code, None)
        if reason is not None:
            log.info(
                "request %d, first asked for by %s, is not supported: %s", code, call.peer.address, reason
            )
        return Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {code} not supported")


def encode_reply(request: RemotingCommand, reply: Reply) -> bytes:
    """The frame that answers `request` with `reply`."""
    fields = None if reply.header is None else reply.header.encode()
    if reply.ext:
        fields = reply.ext if fields is None else fields | reply.ext
    return encode_response(request, reply.code, fields, reply.body, reply.remark)


def _reply_to(error: BaseException, call: Call) -> Reply:
    if isinstance(error, RequestError):
        return Reply(error.code, error.header, remark=error.remark, ext=error.ext)
    if isinstance(error, HeaderError):
        return Reply(ResponseCode.SYSTEM_ERROR, remark=error.remark)
    if isinstance(error, CancelledError):  # the peer went away and its held requests were dropped
        return NO_REPLY
    log.error("%s failed", call, exc_info=error)
    return Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}, {error}")

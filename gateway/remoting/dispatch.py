"""Dispatch of commands to request functions; the single place where failures become replies.

| event                                | answer                                                      |
|--------------------------------------|-------------------------------------------------------------|
| `RequestError` is raised             | its code, remark and header, after its delay                |
| an error of the context's own        | the result of its `refusal`                                 |
| a header field is wrong              | 1, the remark of `HeaderError`                              |
| the table has no such code           | 3 " request type N not supported"                           |
| another exception is raised          | 1 "ClassName, message", and a traceback in the log          |
| the body is above its limit          | the refusal of `gateway.remoting.limits`                    |
| the server is stopping               | 1500 "please go away" to versions that understand it        |
| `NO_REPLY`, or the request is oneway | none                                                        |

A function that returns a plain `Reply` is answered without a Deferred. A function whose work may be long
returns `Steps`. The first steps are run at once, which completes most requests; the caller runs the rest.
RocketMQ: `NettyRemotingAbstract.processRequestCommand`, `UtilAll.exceptionSimpleDesc`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure

import mqgateway.gateway.codec.headers  # noqa: F401  (fills the registry behind `request_header`)
from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps
from mqgateway.gateway.codec.codes import V5_3_1, ResponseCode
from mqgateway.gateway.codec.command import ONEWAY_FLAG, RemotingCommand, encode_response
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.fields import Header, request_header
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Peer, Reply, RequestError
from mqgateway.gateway.remoting.limits import BodyLimit

log = logging.getLogger(__name__)

RequestFunction = Callable[[Any, Call], "Reply | Deferred[Reply]"]
Served = Reply | Deferred[Reply] | Steps[Reply | Deferred[Reply]]
LongRequestFunction = Callable[[Any, Call], Served]
Answer = bytes | Deferred[bytes | None] | None
CarryOut = Callable[[RemotingCommand, Peer], "Answer | Steps[Answer]"]
Interceptor = Callable[[RemotingCommand, Peer, CarryOut], "Answer | Steps[Answer]"]
"""Function called first with each request and with the function that serves it; returns the answer."""
RequestTable = Mapping[int, RequestFunction | LongRequestFunction]

AT_ONCE_STEPS: Final = 16
"""Steps of a request that are run before other requests get a turn."""

_GO_AWAY: Final = Reply(ResponseCode.GO_AWAY, remark="please go away")
_BUSY: Final = Reply(ResponseCode.SYSTEM_BUSY, remark="[OVERLOAD]system busy, start flow control for a while")


class Hook(Protocol):
    """Observer of every request: signatures, metrics, traces."""

    def before(self, call: Call) -> None:
        """Check a request before its header is decoded (`call.header` is None).

        Raises RequestError to refuse it.
        """
        ...

    @property
    def after(self) -> Callable[[Call, Reply], None] | None:
        """Function called with every reply before it is written, refusals included; with `NO_REPLY` for none.

        None if replies are not of interest, so that most answers can take a shorter path.
        """
        ...


class Times(Protocol):
    """Measurement of request latencies.

    Most requests are answered at once and successfully. For these only the codes are recorded, and counted
    together at the end of their read: they were read, and are answered, at the same time.
    """

    answered: list[int]
    """Codes of the requests of this read that were answered at once and successfully."""
    alone: frozenset[int]
    """Codes whose requests are always recorded one by one, as late requests are."""

    def begin(self) -> None:
        """Start a read."""
        ...

    def end(self) -> None:
        """End a read, after its answers were written."""
        ...

    def wait(self, call: Call) -> None:
        """Exclude a request from its read: it is late, and not held so far."""
        ...

    def note(self, call: Call, reply: Reply) -> None:
        """Record the answer of a late request, or of one of this read that did not succeed.

        The answer may be `NO_REPLY`.
        """
        ...


class Dispatcher:
    """Request functions of one port. `context` is passed to each function.

    `unsupported` has the reasons why codes of RocketMQ are refused; the first refusal of each is logged.
    `limits` are the body limits by code; a body without one may have any size. `refusal` converts errors that
    only the context knows to answers, and returns None for others.
    """

    def __init__(
        self,
        context: Any,
        table: RequestTable,
        unsupported: Mapping[int, str],
        *,
        clock: Clock,
        hooks: Sequence[Hook] = (),
        limits: Mapping[int, BodyLimit] | None = None,
        refusal: Callable[[BaseException], Reply | None] | None = None,
        on_refused: Callable[[RemotingCommand, Peer], None] | None = None,
    ) -> None:
        self._context = context
        self._refusal = refusal
        self._on_refused = on_refused
        known_limits = {} if limits is None else limits
        self._table: dict[int, tuple[Callable[[Any, Call], Any], type[Header] | None, BodyLimit | None]] = {
            int(code): (function, request_header(int(code)), known_limits.get(int(code)))
            for code, function in table.items()
        }
        self._reasons = {int(code): reason for code, reason in unsupported.items()}
        self._millis = clock.millis
        self._hooks: tuple[Hook, ...] = ()
        self.watch_with(hooks)
        self.times: Times | None = None
        """Measurement of latencies, notified of reads by the connections; see `time_with`."""
        self._answered: list[int] | None = None
        self._interceptor: Interceptor | None = None
        self.stopping = False
        """Set when the server stops: clients that understand it are sent away."""

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Observers of the requests."""
        return self._hooks

    def watch_with(self, hooks: Sequence[Hook]) -> None:
        """Replace the hooks from the next request on.

        For requests in flight, new hooks see only the reply.
        """
        self._hooks = tuple(hooks)
        self._before = tuple(hook.before for hook in hooks)
        self._after = tuple(hook.after for hook in reversed(hooks) if hook.after is not None)

    def time_with(self, times: Times) -> None:
        """Measure latencies with `times` from the next read on."""
        self.times = times
        self._answered = times.answered
        for code in times.alone:
            if code in self._table:
                function, header, limit = self._table[code]
                self._table[code] = partial(_as_late, function), header, limit

    def intercept_with(self, interceptor: Interceptor) -> None:
        """Pass all requests to `interceptor` from the next one on, before any other one."""
        inner = self._interceptor
        if inner is None:
            self._interceptor = interceptor
        else:
            self._interceptor = lambda command, peer, carry_out: interceptor(
                command, peer, lambda one, sender: inner(one, sender, carry_out)
            )

    def dispatch(self, command: RemotingCommand, peer: Peer) -> Answer | Steps[Answer]:
        """Serve a request and return its encoded answer, or None for no answer. Never raises.

        Return a Deferred if the answer must be waited for, or the remaining steps if it is CPU-bound.
        """
        if self._interceptor is not None:
            return self._interceptor(command, peer, self._carry_out)
        return self._carry_out(command, peer)

    def _carry_out(self, command: RemotingCommand, peer: Peer) -> Answer | Steps[Answer]:
        call = Call(command, None, command.body, peer, self._millis())
        try:
            if self.stopping and command.version > V5_3_1:
                return self._finish(_GO_AWAY, call)
            entry = self._table.get(command.code)
            if entry is None:
                return self._finish(self._unsupported(call), call)
            function, header, limit = entry
            for before in self._before:
                before(call)
            if header is not None:
                call.header = command.read_header(header)
            if limit is not None and call.body:
                limit.check(call)
            reply: Any = function(self._context, call)
        except Exception as error:
            return self._refused(error, call)
        if type(reply) is not Reply:
            return self._finish_later(reply, call)
        if reply.code or self._after or command.flag & ONEWAY_FLAG or reply is NO_REPLY:
            return self._finish(reply, call)
        # Fast path of most requests: `_finish` would do no more for them, and take longer.
        try:
            answer = encode_reply(command, reply)
        except Exception:
            return self._not_given(call)
        if self._answered is not None:
            self._answered.append(command.code)
        return answer

    def _refused(self, error: Exception, call: Call) -> Answer:
        reply = self._reply_to(error, call)
        until = error.until if isinstance(error, RequestError) else None
        if until is None:
            return self._finish(reply, call)
        if self.times is not None:
            self.times.wait(call)
        return self._finish_reply(until.addCallback(lambda _: reply), call)

    def _finish_later(self, reply: Any, call: Call) -> Answer | Steps[Answer]:
        if self.times is not None:
            self.times.wait(call)
        if not isinstance(reply, Generator):
            return self._finish_reply(reply, call)
        steps = self._finish_steps(reply, call)
        try:
            for _ in range(AT_ONCE_STEPS):
                next(steps)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        return steps

    def _finish_reply(self, reply: Any, call: Call) -> Answer:
        if isinstance(reply, Deferred):
            call.is_held = not reply.called
            return reply.addCallbacks(
                self._finish, self._finish_failed, callbackArgs=(call,), errbackArgs=(call,)
            )
        return self._finish(reply, call)

    def _finish_steps(self, steps: Steps[Any], call: Call) -> Steps[Answer]:
        try:
            reply = yield from steps
        except Exception as error:
            return self._finish(self._reply_to(error, call), call)
        return self._finish_reply(reply, call)

    def refuse(self, command: RemotingCommand, peer: Peer) -> bytes | None:
        """Return the answer to a request that is not served because its peer has too many in flight."""
        if self._on_refused is not None:
            self._on_refused(command, peer)
        return self._finish(_BUSY, Call(command, None, command.body, peer, self._millis()))

    def _finish(self, reply: Any, call: Call) -> bytes | None:
        command = call.command
        silent = reply is NO_REPLY or command.flag & ONEWAY_FLAG
        try:
            if self._answered is not None:
                if silent or reply.code or call.is_late:
                    assert self.times is not None
                    self.times.note(call, reply)
                else:
                    self._answered.append(command.code)
            for after in self._after:
                after(call, reply)
            return None if silent else encode_reply(command, reply)
        except Exception:
            answer = self._not_given(call)
            return None if silent else answer

    def _not_given(self, call: Call) -> bytes:
        log.exception("the reply to %s cannot be sent", call)
        return encode_response(
            call.command, ResponseCode.SYSTEM_ERROR, None, b"", "the reply cannot be given"
        )

    def _finish_failed(self, failure: Failure, call: Call) -> bytes | None:
        assert failure.value is not None
        return self._finish(self._reply_to(failure.value, call), call)

    def _unsupported(self, call: Call) -> Reply:
        code = call.command.code
        reason = self._reasons.pop(code, None)
        if reason is not None:
            log.info("request %d, first sent by %s, is not supported: %s", code, call.peer.address, reason)
        return Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {code} not supported")

    def _reply_to(self, error: BaseException, call: Call) -> Reply:
        if isinstance(error, RequestError):
            return Reply(error.code, error.header, remark=error.remark, ext=error.ext)
        refused = None if self._refusal is None else self._refusal(error)
        if refused is not None:
            return refused
        if isinstance(error, HeaderError):
            return Reply(ResponseCode.SYSTEM_ERROR, remark=error.remark)
        if isinstance(error, CancelledError):  # the peer disconnected and its held requests were cancelled
            return NO_REPLY
        log.error("%s failed", call, exc_info=error)
        return Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}, {error}")


def _as_late(function: Callable[[Any, Call], Any], context: Any, call: Call) -> Any:
    reply = function(context, call)
    return succeed(reply) if type(reply) is Reply else reply


def encode_reply(request: RemotingCommand, reply: Reply) -> bytes:
    """Encode the frame that answers `request` with `reply`."""
    fields = None if reply.header is None else reply.header.encode()
    if reply.ext:
        fields = reply.ext if fields is None else fields | reply.ext
    return encode_response(request, reply.code, fields, reply.body, reply.remark)

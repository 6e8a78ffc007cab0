"""From a command to the bytes of its answer: the one place where failures become replies.

| what happens                        | answer                                                      |
|-------------------------------------|-------------------------------------------------------------|
| `RequestError` is raised            | its code, remark and header, when its time has come         |
| an error of the context's own       | what its `refusal` makes of it                              |
| a header field is wrong             | 1, the remark of `HeaderError`                              |
| the table has no such code          | 3 " request type N not supported"                           |
| anything else is raised             | 1 "ClassName, message", and a traceback in the log          |
| the body is above its limit          | the refusal of `gateway.remoting.limits`                    |
| the server is stopping              | 1500 "please go away" to versions that understand it        |
| `NO_REPLY`, or the request is oneway | nothing                                                    |

A function that returns a plain `Reply` is answered without any Deferred being made. One whose work may be
long returns `Steps`: a few are done at once, with which most are finished; the rest is left to the caller.
Standard: `NettyRemotingAbstract.processRequestCommand`, `UtilAll.exceptionSimpleDesc`.
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
Served = Reply | Deferred[Reply] | Steps[Reply] | Steps[Reply | Deferred[Reply]]
LongRequestFunction = Callable[[Any, Call], Served]
Answer = bytes | Deferred[bytes | None] | None
CarryOut = Callable[[RemotingCommand, Peer], "Answer | Steps[Answer]"]
Interceptor = Callable[[RemotingCommand, Peer, CarryOut], "Answer | Steps[Answer]"]
"""Is given each request before all else, and what carries it out; answers in its place."""
RequestTable = Mapping[int, RequestFunction | LongRequestFunction]

AT_ONCE_STEPS: Final = 16
"""Steps of a request that are done before others have their turn."""

_GO_AWAY: Final = Reply(ResponseCode.GO_AWAY, remark="please go away")
_BUSY: Final = Reply(ResponseCode.SYSTEM_BUSY, remark="[OVERLOAD]system busy, start flow control for a while")


class Hook(Protocol):
    """What watches over every request: signatures, metrics, traces."""

    def before(self, call: Call) -> None:
        """Called before the header is read (`call.header` is None); raises RequestError to refuse."""
        ...

    @property
    def after(self) -> Callable[[Call, Reply], None] | None:
        """Called with every reply, refusals included, before it is written; `NO_REPLY` for none.

        None where that is of no interest: then most answers take a shorter way.
        """
        ...


class Times(Protocol):
    """What takes the time of requests.

    Most are answered at once and well. Of these it is given the codes only, and counts them together when
    their read has been served: they were read, and are answered, at the same time.
    """

    answered: list[int]
    """Codes of the requests of this read that were answered so."""
    alone: frozenset[int]
    """Codes of which it is given each request all the same, as if it were late."""

    def begin(self) -> None:
        """A read is about to be served."""
        ...

    def end(self) -> None:
        """It has been, and the answers are written."""
        ...

    def wait(self, call: Call) -> None:
        """A request of this read is not to be counted with the others: it is late, and not held so far."""
        ...

    def note(self, call: Call, reply: Reply) -> None:
        """A late request is answered, or one of this read in another way, with `NO_REPLY` as well."""
        ...


class Dispatcher:
    """The functions of one port. `context` is handed to each of them as it is.

    `unsupported` says why codes of the standard are refused; the first refusal of each goes to the log.
    `limits` are those of the bodies of each code; without one a body may have any size. `refusal` makes the
    answer to an error that only the context knows, and None of others.
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
        """What takes the time of requests, which is told of reads by who serves them; see `time_with`."""
        self._answered: list[int] | None = None
        self.interceptor: Interceptor | None = None
        """Stands before all requests, if there is one."""
        self.stopping = False
        """Set when the server stops: clients that understand it are told to go elsewhere."""

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """What watches over the requests."""
        return self._hooks

    def watch_with(self, hooks: Sequence[Hook]) -> None:
        """Let these watch from the next request on, and no others. Of requests that are under way new ones
        see the reply only."""
        self._hooks = tuple(hooks)
        self._before = tuple(hook.before for hook in hooks)
        self._after = tuple(hook.after for hook in reversed(hooks) if hook.after is not None)

    def time_with(self, times: Times) -> None:
        """Let this take the time of requests from the next read on."""
        self.times = times
        self._answered = times.answered
        for code in times.alone:
            if code in self._table:
                function, header, limit = self._table[code]
                self._table[code] = partial(_as_late, function), header, limit

    def dispatch(self, command: RemotingCommand, peer: Peer) -> Answer | Steps[Answer]:
        """The encoded answer, or None when there is none. Never raises.

        When it takes time, a Deferred of it; when it takes work, the steps that are left of that.
        """
        if self.interceptor is not None:
            return self.interceptor(command, peer, self._carry_out)
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
        # What most requests come to: `_finish` does no more for them, and takes longer.
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
        """The answer to a request that is not even looked at, since the peer has too many in flight."""
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
        if isinstance(error, CancelledError):  # the peer went away and its held requests were dropped
            return NO_REPLY
        log.error("%s failed", call, exc_info=error)
        return Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}, {error}")


def _as_late(function: Callable[[Any, Call], Any], context: Any, call: Call) -> Any:
    reply = function(context, call)
    return succeed(reply) if type(reply) is Reply else reply


def encode_reply(request: RemotingCommand, reply: Reply) -> bytes:
    """The frame that answers `request` with `reply`."""
    fields = None if reply.header is None else reply.header.encode()
    if reply.ext:
        fields = reply.ext if fields is None else fields | reply.ext
    return encode_response(request, reply.code, fields, reply.body, reply.remark)

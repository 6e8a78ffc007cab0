"""Protocol of one connection, used by server and client: reads bytes, dispatches requests, writes answers.

Each read is served as a turn: every frame is dispatched, then `after_read` is called, then each connection
with pending output writes once (`Turn`). Replies that become ready later are written as they come; those that
become ready in another connection's turn are joined with it.

Backpressure: a peer that does not read is not read either. Once Twisted's own buffer is full, written bytes
are counted. Above the high-water mark reading stops until everything has been sent; frames already read wait.
A peer whose held replies still exceed the limit is disconnected.

A long request is processed as a cooperative task; later input of its connection waits behind it, unparsed.
Unfinished and waiting input is counted (`PendingInput`), and connections that buffer too much are closed.
Malformed input closes the connection with one log line, after earlier requests have been answered.
RocketMQ: `NettyRemotingAbstract`, `NettyDecoder`; the limits are additions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import classImplements  # type: ignore[import-untyped, unused-ignore]

from mqgateway.engine.message import pack_host
from mqgateway.engine.steps import Steps
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    RemotingCommand,
    decode_command,
    encode_command,
)
from mqgateway.gateway.codec.errors import HeaderTooLarge, ProtocolError
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.call import Peer, Reply
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings
from mqgateway.gateway.remoting.dispatch import Answer, Dispatcher, encode_reply
from mqgateway.gateway.remoting.exchange import Done, Exchange, PeerGone, RemotingError, TooManyInFlight
from mqgateway.gateway.remoting.foreign import language
from mqgateway.gateway.remoting.long_work import Work
from mqgateway.gateway.runtime.loop import Timer, Transport

log = logging.getLogger(__name__)

OnPeer = Callable[[Peer], None]


class RemotingConnection:
    """`Peer`, with the Twisted protocol beneath it and the push producer that its transport pauses.

    `on_made` and `on_gone` are called when the conversation starts and when it has ended. `address` may be
    set before the start, from a PROXY header. It does not inherit from Twisted's `Protocol`, so that it can
    be compiled.
    """

    transport: Transport  # set before any call

    def __init__(
        self, settings: ConnectionSettings, dispatcher: Dispatcher, on_made: OnPeer, on_gone: OnPeer
    ) -> None:
        self._settings = settings
        self._dispatcher = dispatcher
        self._on_made = on_made
        self._on_gone = on_gone
        self._cutter = FrameCutter(settings.frame_limit)
        self._exchange = Exchange(settings.ask_limit, settings.hold_limit)
        self._timer: Timer | None = None
        self._timer_deadline = inf  # the deadline of the timer
        self._held: set[Deferred[bytes | None]] = set()
        self._backlog: list[bytes] = []  # payloads read but not served yet
        self._backlog_call: Timer | None = None
        self._work: Work | None = None  # a request in progress: others wait behind it
        self._work_size = 0
        self._pending = 0  # bytes registered in `PendingInput`
        self._outbox: list[bytes] = []  # frames to write when the turn ends
        self._unsent = 0  # upper bound of the bytes not sent yet
        self._reads_until = inf if settings.reads_always else settings.high_water_mark
        self._transport_full = False
        self._reading = True
        self._lost_callbacks: dict[OnPeer, None] = {}
        self._settled: list[Deferred[None]] = []
        self.is_open = False
        self.is_secure = False
        """True after a TLS handshake."""
        self._touched = True  # read or written since the last idle sweep
        self._idle_since = 0.0
        self._last_code = -1
        self._ip = ""
        self.address = ""
        self.local_address = ""
        self.host_bytes = b""

    # Twisted callbacks

    def makeConnection(self, transport: Transport) -> None:
        """Start the conversation."""
        self.transport = transport
        if not self.address:
            self.set_address(*host_and_port(self.transport.getPeer()))
        self.local_address = format_address(*host_and_port(self.transport.getHost()))
        no_delay = getattr(self.transport, "setTcpNoDelay", None)  # TCP only
        if no_delay is not None:
            no_delay(True)
        self.is_open = True
        self.transport.registerProducer(self, True)
        self._on_made(self)

    def dataReceived(self, data: bytes) -> None:
        if not self.is_open:
            return
        self._touched = True
        try:
            payloads = self._cutter.feed(data)
        except ProtocolError as error:
            self._break_off(str(error), data)
            return
        if payloads:
            self._serve_turn(payloads)
        if self._pending or self._cutter.buffered:
            self._count_input(bool(payloads))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.is_open = False
        self._cancel_calls()
        self._let_go_of_input()
        self._outbox.clear()
        self._exchange.fail_all(PeerGone(f"{self.address} is gone: {reason.getErrorMessage()}"))
        for held in list(self._held):
            held.cancel()
        self._held.clear()
        self._check_settled()
        callbacks, self._lost_callbacks = self._lost_callbacks, {}
        for callback in callbacks:
            self._notify_lost(callback)
        self._notify_lost(self._on_gone)

    def handshakeCompleted(self) -> None:
        """Handle the end of the TLS handshake."""
        self.is_secure = True

    def pauseProducing(self) -> None:
        """Start counting written bytes, because Twisted's write buffer is full."""
        self._transport_full = True

    def resumeProducing(self) -> None:
        """Continue serving, because everything written has been sent."""
        self._transport_full = False
        self._unsent = sum(map(len, self._outbox))
        self._continue()

    def stopProducing(self) -> None:
        """Do nothing; `connectionLost` follows."""

    # Input

    def _serve_turn(self, payloads: list[bytes]) -> None:
        turn = self._settings.turn
        ours = turn.begin()
        times = self._dispatcher.times if ours else None
        if times is not None:
            times.begin()
        try:
            self._serve(payloads)
        except ProtocolError as error:
            self._break_off(str(error))
        finally:
            if ours:
                turn.end()
            if times is not None:
                times.end()

    def _serve(self, payloads: list[bytes]) -> None:
        """Serve frames in order; the rest waits while the peer leaves too much unread."""
        if self._backlog:
            self._put_off(payloads)
            return
        settings = self._settings
        for index, payload in enumerate(payloads):
            if self._unsent > self._reads_until or self._work is not None:
                self._put_off(payloads[index:])
                return
            try:
                command = decode_command(payload, settings.header_max, settings.fields_max)
            except HeaderTooLarge as refusal:
                self._refuse(refusal)
            else:
                self._take(command)
            if not self.is_open:
                return

    def _put_off(self, payloads: list[bytes]) -> None:
        self._backlog += payloads
        self._stop_reading()
        self._count_input(False)

    def _refuse(self, refusal: HeaderTooLarge) -> None:
        """Skip a frame whose header is too large, and answer it if it is a request."""
        log.warning("%s is refused a request: %s", self.address, refusal)
        request: RemotingCommand = refusal.request
        if not request.flag & RESPONSE_FLAG:
            self.send_reply(request, Reply(ResponseCode.SYSTEM_ERROR, remark=str(refusal)))

    def _take(self, command: RemotingCommand) -> None:
        if command.flag & RESPONSE_FLAG:
            self._exchange.settle(command)
            self._check_settled()
            return
        self._last_code = command.code
        self._give(self._dispatcher.dispatch(command, self), command)

    def _give(self, answer: Answer | Steps[Answer], command: RemotingCommand) -> None:
        if isinstance(answer, bytes):
            self._write(answer)
        elif isinstance(answer, Deferred):
            self._hold(answer, command)
        elif answer is not None:
            self._work_on(answer, command)

    def _work_on(self, steps: Steps[Answer], command: RemotingCommand) -> None:
        def done(answer: Answer) -> None:
            self._work = None
            self._work_size = 0
            if self.is_open:
                self._give(answer, command)
                self._count_input(True)
                self._continue()
            elif isinstance(answer, Deferred):
                answer.cancel()
            self._check_settled()

        self._work_size = len(command.body)
        self._work = self._settings.long_work.add(command.code, steps, done)
        self._stop_reading()
        self._count_input(True)

    def _continue(self) -> None:
        """Serve waiting frames and resume reading, unless prevented."""
        if self._work is not None:
            return
        if self._backlog:
            self._serve_later()
        elif self._unsent <= self._reads_until:
            self._read_again()

    def _hold(self, answer: Deferred[bytes | None], command: RemotingCommand) -> None:
        if self._exchange.is_full and not answer.called:
            # Refuse only requests that would have to wait: heartbeats and the like are answered at once and
            # get through however many pulls are parked.
            answer.cancel()
            refusal = self._dispatcher.refuse(command, self)
            if refusal is not None:
                self._write(refusal)
            return
        self._exchange.hold()
        self._held.add(answer)
        answer.addCallback(self._held_is_ready, answer)

    def _held_is_ready(self, frame: bytes | None, answer: Deferred[bytes | None]) -> None:
        self._held.discard(answer)
        self._exchange.release()
        if frame is not None:
            self._write(frame)
        self._check_settled()

    def _serve_later(self) -> None:
        if self._backlog_call is None:
            self._backlog_call = self._settings.reactor.callLater(0, self._serve_backlog)

    def _serve_backlog(self) -> None:
        self._backlog_call = None
        payloads, self._backlog = self._backlog, []
        self._serve_turn(payloads)
        self._count_input(True)
        if not self._backlog:
            self._check_settled()
            self._continue()

    def _stop_reading(self) -> None:
        if self._reading and self.is_open and not self._settings.reads_always:
            self._reading = False
            self.transport.pauseProducing()

    def _read_again(self) -> None:
        if not self._reading and self.is_open:
            self._reading = True
            self.transport.resumeProducing()

    def _count_input(self, is_new: bool) -> None:
        """Update the count of buffered input, possibly to 0."""
        if not self.is_open:
            return
        size = self._cutter.buffered + sum(map(len, self._backlog)) + self._work_size
        self._pending = size
        self._settings.pending.set(self, self._ip, size, is_new=is_new)

    def _let_go_of_input(self) -> None:
        self._cutter = FrameCutter(self._settings.frame_limit)
        self._backlog.clear()
        if self._work is not None:
            self._settings.long_work.drop(self._work)
        if self._pending:
            self._pending = 0
            self._settings.pending.set(self, self._ip, 0, is_new=True)

    def cut_off(self, reason: str) -> None:
        """Close the connection, because of its buffered input; see `PendingInput`."""
        log.warning("%s is disconnected: %s", self.address, reason)
        self._pending = 0
        self._let_go_of_input()
        self.abort()

    # Output

    def _write(self, frame: bytes) -> None:
        if not self.is_open:
            return
        self._unsent += len(frame)
        if self._outbox or self._settings.turn.add(self):
            self._outbox.append(frame)
        else:
            # More may become ready before the loop turns; this way they are sent together.
            self.transport.writeSequence((frame,))
            self._written()

    def flush(self) -> None:
        """Write the output of the turn in one piece."""
        outbox, self._outbox = self._outbox, []
        if outbox and self.is_open:
            self.transport.write(outbox[0] if len(outbox) == 1 else b"".join(outbox))
            self._written()

    def _written(self) -> None:
        self._touched = True
        if not self._transport_full:
            self._unsent = 0
            if self._backlog:
                self._serve_later()
        elif self._unsent > self._settings.unsent_limit:
            log.warning("%s is disconnected: it has left %d bytes unread", self.address, self._unsent)
            self.abort()
        elif self._unsent > self._reads_until:
            self._stop_reading()

    # Interface `Peer`

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Send a request; see `Peer.request`. Sets the command's opaque."""
        exchange = self._exchange
        answer: Deferred[RemotingCommand] = Deferred(lambda _: exchange.forget(command.opaque))

        def done(outcome: RemotingCommand | Exception) -> None:
            if isinstance(outcome, Exception):
                answer.errback(outcome)
            else:
                answer.callback(outcome)

        try:
            self.ask(command, timeout, done)
        except RemotingError as error:
            return fail(error)
        return answer

    def ask(self, command: RemotingCommand, timeout: float, done: Done) -> None:
        """Send a request without a Deferred; raises `RemotingError` or `ProtocolError` if it was not sent."""
        self._check_writable()
        command.opaque = self._exchange.open(self._settings.reactor.seconds(), timeout, done)
        try:
            frame = encode_command(command)
        except ProtocolError:
            self._exchange.forget(command.opaque)
            raise
        self._write(frame)
        self._watch_deadline()

    def send_oneway(self, command: RemotingCommand) -> None:
        """Send a one-way request; see `Peer.send_oneway`."""
        try:
            self._check_writable()
        except RemotingError as error:
            log.info("request %d was not sent: %s", command.code, error)
            return
        command.flag |= ONEWAY_FLAG
        command.opaque = self._exchange.next_opaque()
        self._write(encode_command(command))

    def send_reply(self, request: RemotingCommand, reply: Reply) -> None:
        """Answer a request outside its function; see `Peer.send_reply`."""
        if not request.is_oneway:
            self._write(encode_reply(request, reply))

    def close(self, reason: str) -> None:
        """Close after pending writes are flushed; see `Peer.close`."""
        if self.is_open:
            if reason:
                log.info("%s is closed: %s", self.address, reason)
            self._lose()

    def abort(self) -> None:
        """Close now; unsent output is lost."""
        self.is_open = False
        self.transport.abortConnection()

    def on_lost(self, callback: OnPeer) -> None:
        """Call `callback(self)` when the connection is lost; see `Peer.on_lost`."""
        if self.is_open:
            self._lost_callbacks[callback] = None
        else:
            self._notify_lost(callback)

    def is_idle(self, now: float, limit: float) -> bool:
        """Return True if nothing was read or written for `limit` seconds; called by a periodic sweep.

        Activity since the last sweep counts as activity now, so that reads and writes need no clock.
        """
        if self._touched:
            self._touched = False
            self._idle_since = now
            return False
        return now - self._idle_since >= limit

    def quiet(self, now: float) -> float:
        """See `Conversing`."""
        return 0.0 if self._touched else now - self._idle_since

    @property
    def last_request(self) -> str:
        """See `Conversing`; the number if the code has no name."""
        if self._last_code < 0:
            return ""
        try:
            return RequestCode(self._last_code).name
        except ValueError:
            return str(self._last_code)

    def settled(self) -> Deferred[None]:
        """Return a Deferred that fires when nothing is in flight, or the connection is lost."""
        if self._is_settled():
            return succeed(None)
        waiter: Deferred[None] = Deferred()
        self._settled.append(waiter)
        return waiter

    def set_address(self, ip: str, port: int) -> None:
        """Set the peer's address."""
        self._ip = ip
        self.address = format_address(ip, port)
        self.host_bytes = pack_host(ip, port)

    # Internals

    def _check_writable(self) -> None:
        if not self.is_open:
            raise PeerGone(f"the connection to {self.address} is closed")
        if self._unsent > self._settings.high_water_mark:
            raise TooManyInFlight(f"{self.address} has left {self._unsent} bytes unread")

    def _break_off(self, reason: str, data: bytes = b"") -> None:
        """Close after malformed input; `data` are the bytes that could not be parsed into frames."""
        spoken = language(data)
        if spoken is None:
            log.warning("%s is closed after a protocol error: %s", self.address, reason)
        else:
            self.say_refused(self.address, spoken)
        self._lose()

    def say_refused(self, peer: str, reason: str) -> None:
        """Log that a peer is refused for this reason, unless that was just logged for another."""
        unsaid = self._settings.notices.say(reason, self._settings.reactor.seconds())
        if unsaid is not None:
            more = f" ({unsaid} more did since this was last said)" if unsaid else ""
            log.warning("%s is refused: %s%s", peer, reason, more)

    def _lose(self) -> None:
        self.flush()
        self.is_open = False
        self._cancel_calls()
        # A transport with a paused producer would wait for it instead of closing.
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def _cancel_calls(self) -> None:
        for call in (self._timer, self._backlog_call):
            if call is not None:
                call.cancel()
        self._timer = self._backlog_call = None

    def _watch_deadline(self) -> None:
        deadline = self._exchange.next_deadline
        if deadline is None or deadline >= self._timer_deadline:
            return
        delay = max(0.0, deadline - self._settings.reactor.seconds())
        self._timer_deadline = deadline
        if self._timer is None:
            self._timer = self._settings.reactor.callLater(delay, self._deadline_reached)
        else:
            self._timer.reset(delay)

    def _deadline_reached(self) -> None:
        self._timer, self._timer_deadline = None, inf
        self._exchange.expire(self._settings.reactor.seconds())
        self._watch_deadline()
        self._check_settled()

    def _is_settled(self) -> bool:
        exchange = self._exchange
        return not (exchange.holding or exchange.waiting or self._backlog or self._work is not None)

    def _check_settled(self) -> None:
        if self._settled and self._is_settled():
            waiters, self._settled = self._settled, []
            for waiter in waiters:
                waiter.callback(None)

    def _notify_lost(self, callback: OnPeer) -> None:
        try:
            callback(self)
        except Exception:
            log.exception("handling the disconnection of %s failed", self.address)


# Twisted's TLS layer notifies objects that provide this interface of the end of the handshake.
classImplements(RemotingConnection, IHandshakeListener)

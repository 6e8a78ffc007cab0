"""One connection of a Kafka client.

A request is a frame: its size in four bytes, then as many bytes. Requests are carried out as they come, and
their answers leave in the same order. One read is a turn, as with the remoting protocol: all requests that it
brings are carried out, then the store has its turn, then everything is written at once.

While as many requests wait for answers as the settings allow, or the peer does not read its answers, the
connection is not read. A long request, which is a cooperative task, holds up those behind it.
Source: `SocketServer`, `KafkaChannel`.
"""

from __future__ import annotations

import logging
import struct
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import classImplements  # type: ignore[import-untyped, unused-ignore]

from mqgateway.engine.message import pack_host
from mqgateway.gateway.kafka.call import Address, Reply
from mqgateway.gateway.kafka.codec.fetch import Chunk, owned
from mqgateway.gateway.kafka.connection_settings import KafkaConnectionSettings
from mqgateway.gateway.kafka.dispatch import Session, UnservableRequest
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.transport import CHUNKS_MAX, EagerTransport
from mqgateway.gateway.runtime.loop import Transport

log = logging.getLogger(__name__)

_SIZE: Final = struct.Struct(">i")
_WRITTEN_TOGETHER: Final = 128 * 1024
"""Bytes that a transport which takes no chunks, as that of TLS, is given at a time: they are copied, which is
fast while they are few."""
_HEADER_MIN: Final = 10
"""Bytes of the smallest request: key, version, correlation id, and no client id."""


class _Slot:
    """The place of an answer in the order of answers."""

    __slots__ = ("data", "is_ready", "waiting")

    def __init__(self) -> None:
        self.data: Reply = None
        self.is_ready = False
        self.waiting: Deferred[Reply] | None = None


class KafkaConnection:
    """See `Conversing`, and `ClientConnection`, which operations are given.

    `on_made` and `on_gone` are called when it begins and when it has ended.
    """

    transport: Transport  # there is one whenever we are called

    def __init__(
        self,
        terms: KafkaConnectionSettings,
        on_made: Callable[[KafkaConnection], None],
        on_gone: Callable[[KafkaConnection], None],
    ) -> None:
        self._terms = terms
        self._on_made = on_made
        self._on_gone = on_gone
        self._ip = ""
        self._local = Address("", 0)
        self._session: Session | None = None
        self.address = ""
        self.host_bytes = b"\0" * 8
        self.is_open = False
        self.is_secure = False
        self.last_request = ""
        self._buffer = bytearray()
        self._slots: deque[_Slot] = deque()
        self._long: _Slot | None = None  # of the request that holds up others
        self._output: deque[Chunk] = deque()  # what the transport has not been given
        self._eager: EagerTransport | None = None  # the transport, if it takes chunks
        self._unsent = 0
        self._is_full = False  # the transport's buffer
        self._is_reading = True
        self._is_serving = False
        self._has_output = False  # the turn will have it written
        self._is_held = False  # its client is throttled
        self._is_ending = False  # no request is accepted any more
        self._was_read = True  # since the idle sweep looked last
        self._silent_since = 0.0
        self._lost: list[Callable[[KafkaConnection], None]] = []
        self._settled: Deferred[None] | None = None

    @property
    def ip(self) -> str:
        """The address of the client without its port; behind a proxy, the client's own."""
        return self._ip

    # Called by Twisted and by the server

    def set_address(self, ip: str, port: int) -> None:
        """See `Conversing`."""
        self._ip = ip
        self.address, self.host_bytes = format_address(ip, port), pack_host(ip, port)

    def handshakeCompleted(self) -> None:
        """See `Conversing`."""
        self.is_secure = True
        if self._session is not None:
            self._session.secured(self.transport)

    def makeConnection(self, transport: Transport) -> None:
        """See `Conversing`."""
        self.transport = transport
        if not self.address:
            self.set_address(*host_and_port(transport.getPeer()))
        self._local = Address(*host_and_port(transport.getHost()))
        no_delay = getattr(transport, "setTcpNoDelay", None)  # TCP only
        if no_delay is not None:
            no_delay(True)
        self.is_open = True
        if self._terms.sessions is not None:
            self._session = self._terms.sessions(self)
            if self.is_secure:
                self._session.secured(transport)
        if isinstance(transport, EagerTransport):  # a layer of TLS has its methods, and must not be passed by
            self._eager = transport
        transport.registerProducer(self, True)
        self._on_made(self)

    def dataReceived(self, data: bytes) -> None:
        """See `Conversing`."""
        if not self.is_open:
            return
        self._was_read = True
        self._buffer += data
        self._serve()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See `Conversing`: requests that wait are cancelled."""
        self.is_open = False
        self._release_input()
        slots, self._slots = list(self._slots), deque()
        for slot in slots:
            if slot.waiting is not None:
                slot.waiting.cancel()
        self._check_settled()
        callbacks, self._lost = self._lost, []
        for callback in callbacks:
            callback(self)
        self._on_gone(self)

    def pauseProducing(self) -> None:
        """Count what is written from now on, as the buffer of the transport is full."""
        self._is_full = True

    def resumeProducing(self) -> None:
        """Everything that the transport was given has gone out."""
        self._is_full = False
        self._write_output()
        if not self._is_full:
            self._unsent = 0
            self._resume()

    def stopProducing(self) -> None:
        """Do nothing: the transport has ended, and `connectionLost` follows."""

    def close(self, reason: str) -> None:
        """See `Conversing`."""
        if not self.is_open:
            return
        if reason:
            log.info("%s is closed: %s", self.address, reason)
        self.flush()
        self.transport.write(b"".join(self._output))
        self.is_open = False
        # A transport with a paused producer would wait for it, and not close.
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def is_idle(self, now: float, limit: float) -> bool:
        """See `Conversing`; the limit is the protocol's own. A request that waits is no silence."""
        if self._was_read or self._slots or self._is_held or not self.is_open:
            self._was_read = False
            self._silent_since = now
            return False
        return now - self._silent_since >= self._terms.idle_seconds

    def quiet(self, now: float) -> float:
        """See `Conversing`."""
        return 0.0 if self._was_read else now - self._silent_since

    def settled(self) -> Deferred[None]:
        """See `Conversing`: no request is accepted any more."""
        self._is_ending = True
        if not self._slots or not self.is_open:
            return succeed(None)
        self._settled = Deferred()
        return self._settled

    def say_refused(self, peer: str, reason: str) -> None:
        """See `Conversing`."""
        remoting = self._terms.remoting
        unsaid = remoting.notices.say(f"Kafka: {reason}", remoting.reactor.seconds())
        if unsaid is not None:
            more = f" ({unsaid} more like this were not logged)" if unsaid else ""
            log.warning("%s is disconnected: %s%s", peer, reason, more)

    def on_lost(self, callback: Callable[[KafkaConnection], None]) -> None:
        """See `ClientConnection`."""
        if self.is_open:
            self._lost.append(callback)
        else:
            callback(self)

    def cut_off(self, reason: str) -> None:
        """See `Keeper`."""
        log.warning("%s is disconnected: %s", self.address, reason)
        self._buffer.clear()
        self.abort()

    def abort(self) -> None:
        """Break it."""
        self.is_open = False
        self.transport.abortConnection()

    # Requests

    def _serve(self) -> None:
        """Carry out the requests that the buffer has."""
        if self._is_serving:
            return
        has_more = True
        # The end of a turn sends the answers that are ready, so the limits may allow more requests.
        while has_more and self.is_open and not self._is_over_limit():
            has_more = self._serve_turn()
        if self.is_open:
            self._terms.pending.set(self, self._ip, len(self._buffer), is_new=False)
            self._pause_or_resume()

    def _serve_turn(self) -> bool:
        """Carry out requests as a turn, up to the limits; return True if there may be more."""
        turn = self._terms.remoting.turn
        is_ours = turn.begin()
        self._is_serving = True
        try:
            return self._carry_out_frames()
        except UnservableRequest as refused:
            self.say_refused(self.address, str(refused))
            self._end_with_what_is_ready()
        except Exception:
            log.exception("%s is disconnected: a request failed", self.address)
            self._end_with_what_is_ready()
        finally:
            self._is_serving = False
            if is_ours:
                turn.end()
        return False

    def _carry_out_frames(self) -> bool:
        """Carry out requests up to the limits; return True if these keep back a whole one."""
        buffer, begin, session = self._buffer, 0, self._session
        least, limit = _HEADER_MIN, self._terms.request_limit
        try:
            while self.is_open and not self._is_ending and len(buffer) - begin >= _SIZE.size:
                [size] = _SIZE.unpack_from(buffer, begin)
                if session is not None:
                    least, limit = session.size_limits
                if not least <= size <= limit:
                    raise UnservableRequest(
                        f"a request of {size} bytes, when {least} to {limit} are allowed "
                        "(kafkaMaxRequestSize)"
                    )
                end = begin + _SIZE.size + size
                if len(buffer) < end:
                    return False
                if self._is_over_limit():
                    return True
                frame = bytes(memoryview(buffer)[begin + _SIZE.size : end])
                begin = end
                self._carry_out(frame)
            return False
        finally:
            del buffer[:begin]

    def _carry_out(self, frame: bytes) -> None:
        session, dispatcher = self._session, self._terms.dispatcher
        if session is None:
            self.last_request, reply, is_long = dispatcher.dispatch(frame, self, self._local)
        elif session.admits(frame):
            self.last_request, reply, is_long = dispatcher.dispatch(
                frame, self, self._local, session.user, session.has_token
            )
        else:
            self.last_request, reply, is_long = session.dispatch(frame, self._local)
        if reply is None:
            return
        slot = _Slot()
        self._slots.append(slot)
        if isinstance(reply, tuple) or not isinstance(reply, Deferred):  # the second question is slow
            self._fill(reply, slot)
            return
        slot.waiting = reply
        if is_long:
            self._long = slot
        reply.addCallbacks(self._fill, self._fail, callbackArgs=(slot,), errbackArgs=(slot,))

    def _fill(self, reply: Reply, slot: _Slot) -> None:
        is_next = bool(self._slots) and self._slots[0] is slot
        slot.data = reply if is_next or reply is None else list(map(owned, reply))
        slot.waiting = None
        slot.is_ready = True
        if self.is_open and self._slots and self._slots[0].is_ready:
            self._write_soon()
        if self._long is slot:
            self._long = None
            self._resume()

    def _fail(self, failure: Failure, slot: _Slot) -> None:
        slot.waiting = None
        if not self.is_open or isinstance(failure.value, CancelledError):
            return
        if isinstance(failure.value, UnservableRequest):
            self.say_refused(self.address, str(failure.value))
        else:
            log.error("%s is disconnected: a request failed: %s", self.address, failure.getTraceback())
        self._end_with_what_is_ready()

    def _end_with_what_is_ready(self) -> None:
        self._buffer.clear()
        self.close("")

    # Answers

    def _write_soon(self) -> None:
        if not self._has_output:
            self._has_output = True
            if not self._terms.remoting.turn.add(self):
                self.flush()

    def flush(self) -> None:
        """Write the answers that are ready, in order; see `Speaker`."""
        self._has_output = False
        if not self.is_open:
            return
        total = 0
        while self._slots and self._slots[0].is_ready:
            data = self._slots.popleft().data
            if data is not None:
                size = sum(map(len, data))
                total += _SIZE.size + size
                self._output.append(_SIZE.pack(size))
                self._output += filter(None, data)  # sending nothing looks like a full socket
        if total:
            self._write_output()
            self._own_output()
            self._count_unsent(total)
        self._check_settled()
        if not self._is_reading and self.is_open:
            self._resume()

    def _write_output(self) -> None:
        """Give the transport answers until it is full."""
        output, eager = self._output, self._eager
        while eager is not None and output and not self._is_full:
            sent = eager.offer(list(islice(output, CHUNKS_MAX)))
            self._is_full = not sent
            _drop(output, sent)
        while output and not self._is_full:
            chunks = [output.popleft()]
            size = len(chunks[0])
            while output and size + len(output[0]) <= _WRITTEN_TOGETHER:
                size += len(output[0])
                chunks.append(output.popleft())
            self.transport.write(b"".join(chunks))  # it takes nothing but bytes

    def _own_output(self) -> None:
        """Copy what is borrowed of the answers that have to wait."""
        if self._output:
            self._output = deque(map(owned, self._output))

    def _count_unsent(self, size: int) -> None:
        if not self._is_full:
            return
        self._unsent += size
        limit = self._terms.remoting.unsent_limit
        if self._unsent > limit:
            self.cut_off(f"it leaves {self._unsent} bytes of answers unread, maxUnsentBytes allows {limit}")

    # Flow

    def hold(self) -> None:
        """See `HeldConnection`."""
        self._is_held = True
        self._pause_or_resume()

    def release(self) -> None:
        """See `HeldConnection`."""
        self._is_held = False
        self._resume()

    def _is_over_limit(self) -> bool:
        return (
            self._is_held
            or self._long is not None
            or len(self._slots) >= self._terms.in_flight_limit
            or self._unsent > self._terms.remoting.high_water_mark
        )

    def _pause_or_resume(self) -> None:
        if self._is_over_limit() and self._is_reading:
            self._is_reading = False
            self.transport.pauseProducing()

    def _resume(self) -> None:
        """Continue with what was read, then with reading."""
        if self._is_reading or not self.is_open or self._is_over_limit():
            return
        self._is_reading = True
        self.transport.resumeProducing()
        self._serve()

    def _release_input(self) -> None:
        self._buffer.clear()
        self._terms.pending.set(self, self._ip, 0, is_new=False)

    def _check_settled(self) -> None:
        if self._settled is not None and (not self._slots or not self.is_open):
            settled, self._settled = self._settled, None
            settled.callback(None)


def _drop(output: deque[Chunk], size: int) -> None:
    """Remove the first bytes of chunks."""
    while size:
        chunk = output[0]
        if size < len(chunk):
            output[0] = memoryview(chunk)[size:]
            return
        size -= len(chunk)
        output.popleft()


classImplements(KafkaConnection, IHandshakeListener)

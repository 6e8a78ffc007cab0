"""Remoting client: requests to addresses, over one connection per address that is opened on demand.

    client = RemotingClient(reactor, options, clock=clock)
    client.request("10.0.0.1:9876", command, timeout=3.0)  # a Deferred of the answer

A stopping server answers 1500. Then the connection is retired, a new one is opened and the request is
repeated once. RocketMQ: `NettyRemotingClient`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from twisted.internet.defer import Deferred, DeferredList, fail, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.connection_settings import client_settings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.exchange import Done, PeerGone, RemotingError, RequestTimedOut
from mqgateway.gateway.remoting.link import Link
from mqgateway.gateway.remoting.protocol import RemotingConnection
from mqgateway.gateway.remoting.turn import Turn
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule, ScheduledCall

if TYPE_CHECKING:
    from mqgateway.gateway.remoting.tls import ClientTls

log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 5.0
"""Interval of the sweep for idle connections."""

_GO_AWAY: Final = int(ResponseCode.GO_AWAY)

LAST_WORDS_SECONDS: Final = 1.0
"""Time in which connections of a closed client can flush pending writes."""


class Ask(Protocol):
    """Callable type of `RemotingClient.request`."""

    def __call__(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]: ...


class RemotingClient:
    """Connections to any number of addresses.

    `dispatcher` serves requests from the other sides. `on_connect(address)` is called for each new connection
    before anything is sent on it. `sign` signs each request, as the last step. Writes made within a `turn`
    are flushed at its end.
    """

    def __init__(
        self,
        reactor: Reactor,
        options: RemotingOptions,
        *,
        dispatcher: Dispatcher | None = None,
        tls: ClientTls | None = None,
        clock: Clock,
        on_connect: Callable[[str], None] | None = None,
        sign: Callable[[RemotingCommand], None] | None = None,
        turn: Turn | None = None,
    ) -> None:
        self._reactor = reactor
        self._options = options
        self._dispatcher = Dispatcher(None, {}, {}, clock=clock) if dispatcher is None else dispatcher
        self._tls = tls
        self._on_connect = on_connect
        self._sign = sign
        self._settings = client_settings(options, reactor, turn)
        self._links: dict[str, Link] = {}
        self._schedule = Schedule(reactor)
        self._sweeper: ScheduledCall | None = None
        self._is_closed = False

    def request(
        self, address: str, command: RemotingCommand, timeout: float = 3.0
    ) -> Deferred[RemotingCommand]:
        """Send a request to `address` (`host:port`); `timeout` in seconds, connecting included.

        The Deferred fails with `PeerGone`, `RequestTimedOut` or `TooManyInFlight`. Refusals are answers:
        check the code.
        """
        deadline = self._reactor.seconds() + timeout
        if self._sign is not None:
            self._sign(command)
        answer = self._ask(address, command, deadline)
        answer.addCallback(self._repeat_if_sent_away, address, command, deadline)
        return answer

    def ask(self, address: str, command: RemotingCommand, timeout: float, done: Done) -> None:
        """Send a request without a Deferred: `done` is called once, with the answer or the error.

        Raises `CodecError`.
        """
        link = self._links.get(address)
        connection = None if link is None else link.connection
        if connection is None or not connection.is_open:
            _report(self.request(address, command, timeout), done)
            return
        deadline = self._reactor.seconds() + timeout
        if self._sign is not None:
            self._sign(command)
        try:
            # When compiled, a closure would refer to itself and be garbage in a reference cycle.
            connection.ask(command, timeout, partial(self._answered, address, command, deadline, done))
        except RemotingError as error:
            done(error)

    def send_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a one-way request to `address`; failures are only logged."""
        if self._sign is not None:
            self._sign(command)

        def send(connection: RemotingConnection) -> None:
            connection.send_oneway(command)

        def failed(failure: Failure) -> None:
            log.info("request %d was not sent: %s", command.code, failure.getErrorMessage())

        try:
            connected = self._link(address).connected()
        except PeerGone as error:
            connected = fail(error)
        connected.addCallback(send).addErrback(failed)

    def release(self, address: str) -> None:
        """Close the connection to `address`; requests in flight fail with `PeerGone`."""
        link = self._links.pop(address, None)
        if link is not None:
            link.close("it is not needed any more")

    def close(self) -> Deferred[None]:
        """Close all connections; requests in flight fail with `PeerGone`.

        Fires when all connections are gone.
        """
        self._is_closed = True
        self._schedule.stop()
        links, self._links = self._links, {}
        connections = [link.connection for link in links.values() if link.connection is not None]
        abort = self._reactor.callLater(LAST_WORDS_SECONDS, _abort_all, connections)
        gone = DeferredList([link.close("the client is closed", is_said=False) for link in links.values()])

        def finished(_: object) -> None:
            if abort.active():
                abort.cancel()

        return gone.addCallback(finished)

    def _link(self, address: str) -> Link:
        link = self._links.get(address)
        if link is not None:
            return link
        if self._is_closed:
            raise PeerGone("the client is closed")
        try:
            link = Link(
                self._reactor,
                address,
                settings=self._settings,
                dispatcher=self._dispatcher,
                tls=self._tls,
                connect_timeout=self._options.connect_timeout_millis / 1000,
                on_gone=self._link_gone,
                on_made=self._on_connect,
            )
        except ValueError as error:
            raise PeerGone(str(error)) from None
        self._links[address] = link
        if self._sweeper is None:
            self._sweeper = self._schedule.every(SWEEP_SECONDS, SWEEP_SECONDS, self._sweep)
        return link

    def _link_gone(self, link: Link) -> None:
        if self._links.get(link.address) is link:
            del self._links[link.address]
        if not self._links and self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None

    def _ask(self, address: str, command: RemotingCommand, deadline: float) -> Deferred[RemotingCommand]:
        seconds = self._reactor.seconds
        try:
            link = self._link(address)
        except PeerGone as error:
            return fail(error)
        connection = link.connection
        if connection is not None and connection.is_open:
            return connection.request(command, deadline - seconds())

        def too_late(_: object, timeout: float) -> None:
            raise RequestTimedOut(f"no connection to {address} within {timeout:g} s")

        connected = link.connected()
        connected.addTimeout(deadline - seconds(), self._reactor, too_late)  # type: ignore[arg-type]
        return connected.addCallback(lambda made: made.request(command, deadline - seconds()))

    def _answered(
        self,
        address: str,
        command: RemotingCommand,
        deadline: float,
        done: Done,
        outcome: RemotingCommand | Exception,
    ) -> None:
        if isinstance(outcome, RemotingCommand) and outcome.code == _GO_AWAY:
            again = succeed(outcome)
            again.addCallback(self._repeat_if_sent_away, address, command, deadline)
            _report(again, done)
        else:
            done(outcome)

    def _repeat_if_sent_away(
        self, answer: RemotingCommand, address: str, command: RemotingCommand, deadline: float
    ) -> RemotingCommand | Deferred[RemotingCommand]:
        link = self._links.get(address)
        if answer.code != _GO_AWAY or link is None:
            return answer
        if link.connection is not None:
            link.retire(link.connection)
        return self._ask(address, command, deadline)

    def _sweep(self) -> None:
        now = self._reactor.seconds()
        limit = self._options.client_channel_max_idle_time_seconds
        for link in list(self._links.values()):
            connection = link.connection
            if connection is not None and connection.is_idle(now, limit):
                connection.close(f"idle for {limit} s")


def _report(answer: Deferred[RemotingCommand], done: Done) -> None:
    answer.addCallbacks(done, lambda failure: done(failure.value))


def _abort_all(connections: list[RemotingConnection]) -> None:
    for connection in connections:
        connection.abort()

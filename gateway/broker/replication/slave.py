"""A slave's connection to its master: connect, receive the log, give up, reconnect.

Before it follows, the slave checks with the master that its log is a prefix of the master's
(`engine.ha.log_prefix`), on the master's port for clients, if that is known. A log that diverged stays as it
is: the reason is logged once and shown among the broker's figures, and the check is repeated every few
seconds. `engine.ha.follow` decides what to do with received data. RocketMQ: `DefaultHAClient`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.errors import StoreError
from mqgateway.engine.ha.admission import TICKET, shown_ticket
from mqgateway.engine.ha.frames import StreamBroken
from mqgateway.engine.ha.log_prefix import Masters, Own, where_to_begin, why_not
from mqgateway.engine.options import FlushDiskType, StoreOptions
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.gateway.broker.replication.streams import Following, ReplicationStream
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ExchangeHAInfoRequestHeader, ViewMessageRequestHeader
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.link import connects_to
from mqgateway.gateway.runtime.loop import Reactor, Transport

log = logging.getLogger(__name__)

CONNECT_SECONDS = 3.0


class MasterConnection(Protocol):
    """One connection to the master."""

    transport: Transport  # type: ignore[assignment]  # there is one whenever we are called

    def __init__(self, client: MasterClient, follow: Following, ticket: bytes) -> None:
        self.follow = follow
        self._client = client
        self._ticket = ticket

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self.send(self._ticket)
        self._client.connected(self)

    def dataReceived(self, data: bytes) -> None:
        self._client.received(self, data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._client.lost(self, reason.getErrorMessage())

    def send(self, data: bytes) -> None:
        """Send a report, or the ticket before the first one; no-op if empty."""
        if data:
            self.transport.write(data)

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()


class MasterClient:
    """Follows the master at `ha_address`, whose port for clients is `main_address`; empty while unknown.

    `ask` sends a request to an address, `on_following` is called when the master is connected. `problem` is
    the reason why this slave does not follow; empty while it does.
    """

    def __init__(
        self,
        options: StoreOptions,
        store: MessageStore,
        clock: Clock,
        reactor: Reactor,
        ask: Ask,
        on_following: Callable[[], None],
        stream: ReplicationStream,
    ) -> None:
        self._stream = stream
        self._options = options
        self._store = store
        self._clock = clock
        self._reactor = reactor
        self._ask = ask
        self._on_following = on_following
        self.ha_address = options.ha_master_address
        self.main_address = ""
        self.problem = ""
        self.connection: MasterConnection | None = None
        self._is_trying = False
        self._is_stopped = False
        self._next_try = 0
        self._waits_for_disk = False
        self._waits_for_every_byte = options.flush_disk_type is FlushDiskType.SYNC_FLUSH

    def now(self) -> int:
        """Return the time in ms of a monotonic clock."""
        return elapsed_millis(self._clock)

    def on_master(self, main_address: str | None, ha_address: str | None) -> None:
        """Apply the master's addresses from a name server; a configured address has priority."""
        if main_address:
            self.main_address = main_address
        if ha_address and not self._options.ha_master_address and ha_address != self.ha_address:
            log.info("the replication address of the master is %s", ha_address)
            self.ha_address = ha_address
            self._next_try = 0
            if self.connection is not None:
                self.connection.abort()

    def try_soon(self) -> None:
        """Retry at the next tick: the master is back."""
        self._next_try = 0

    def tick(self) -> None:
        """Connect, report, or give up a silent master, whichever is due."""
        now = self.now()
        connection = self.connection
        if connection is None:
            if self.ha_address and not self._is_trying and not self._is_stopped and now >= self._next_try:
                self._try()
        elif connection.follow.is_expired(now):
            self._give_up(connection, "the master was silent for too long")
        else:
            self._report(connection)

    def stop(self) -> None:
        """Stop following, and ignore data that still arrives."""
        self._is_stopped = True
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abort()

    # Connecting

    def _try(self) -> None:
        self._is_trying = True
        placed = maybeDeferred(self._check_place)
        placed.addCallback(self._with_ticket).addCallback(self._connect).addErrback(self._failed)

    def _check_place(self) -> Deferred[int]:
        """Check that the log is a prefix of the master's; return the offset at which an empty log begins.

        Fails with `StreamBroken` if the logs diverged.
        """
        raw = self._store.raw
        raw.drop_partial()
        if self._stream.compares or not self.main_address:
            return succeed(0)
        last = raw.last_record()
        if last is None:
            if not self._options.ha_copy_whole_log:
                return succeed(0)
            return self._ends().addCallback(lambda ends: where_to_begin(ends[0], ends[1], raw.file_size))
        own = Own(last.start, last.record, raw.position)
        header = ViewMessageRequestHeader(offset=last.start)
        command = RemotingCommand.request(RequestCode.VIEW_MESSAGE_BY_ID, header)
        return self._ask(self.main_address, command).addCallback(self._compare, own)

    def _compare(self, answer: RemotingCommand, own: Own) -> int | Deferred[int]:
        record = answer.body if answer.code == ResponseCode.SUCCESS else None
        if record == own.record:
            return 0

        def judge(ends: tuple[int, int]) -> int:
            refusal = why_not(own, Masters(record, *ends))
            raise StreamBroken(refusal)

        return self._ends().addCallback(judge)

    def _ends(self) -> Deferred[tuple[int, int]]:
        """Query the start and end of the master's log, from its figures."""
        command = RemotingCommand.request(RequestCode.GET_BROKER_RUNTIME_INFO)

        def ends(answer: RemotingCommand) -> tuple[int, int]:
            table = KVTable.decode(answer.body).table if answer.body else {}
            try:
                return int(table["commitLogMinOffset"]), int(table["commitLogMaxOffset"])
            except (KeyError, ValueError):
                raise StreamBroken("the master does not say where its log begins and ends") from None

        return self._ask(self.main_address, command).addCallback(ends)

    def _with_ticket(self, begin: int) -> Deferred[tuple[int, bytes]]:
        """Request the ticket that a master with authentication requires at its port for slaves."""
        if not self.main_address:
            return succeed((begin, b""))
        command = RemotingCommand.request(RequestCode.EXCHANGE_BROKER_HA_INFO, ExchangeHAInfoRequestHeader())

        def shown(answer: RemotingCommand) -> tuple[int, bytes]:
            if answer.code != ResponseCode.SUCCESS:
                log.info("the master at %s returned no ticket: %s", self.main_address, answer.remark)
            return begin, shown_ticket(answer.ext_fields.get(TICKET, ""))

        return self._ask(self.main_address, command).addCallback(shown)

    def _connect(self, begun: tuple[int, bytes]) -> Deferred[Any]:
        if self._is_stopped:
            raise StreamBroken("the broker stops")
        begin, ticket = begun
        follow = self._stream.follow(self.now(), begin)
        connect = connects_to(self._reactor, self.ha_address, CONNECT_SECONDS)
        return connect(_Connections(self, follow, ticket))

    def _failed(self, failure: Failure) -> None:
        self._is_trying = False
        self._next_try = self.now() + self._stream.retry_millis
        if not self._is_stopped:
            self._complain(f"{self.ha_address} cannot be followed: {failure.getErrorMessage()}")

    # Called by the connection

    def connected(self, connection: MasterConnection) -> None:
        """Begin to follow on a new connection."""
        self._is_trying = False
        if self._is_stopped:
            connection.abort()
            return
        self.connection = connection
        log.info("following the master at %s from %d on", self.ha_address, self._store.raw.position)
        self._report(connection)
        self._on_following()

    def received(self, connection: MasterConnection, data: bytes) -> None:
        """Append received bytes of the master's log."""
        if connection is not self.connection:
            return
        try:
            connection.follow.receive(data, self.now())
        except (StreamBroken, StoreError, OSError) as error:
            self._store.dispatch()
            self._give_up(connection, str(error))
            return
        self.problem = ""
        self._store.dispatch()
        self._report(connection)

    def lost(self, connection: MasterConnection, reason: str) -> None:
        """Forget a connection that has ended."""
        if connection is not self.connection:
            return
        self.connection = None
        self._next_try = max(self._next_try, self.now() + self._stream.retry_millis)
        if not self._is_stopped:
            log.warning("the connection to the master at %s is lost: %s", self.ha_address, reason)

    def _report(self, connection: MasterConnection) -> None:
        """Acknowledge the data written, or with SYNC_FLUSH the data on disk."""
        try:
            self._acknowledge(connection)
        except (StreamBroken, StoreError, OSError) as error:
            self._give_up(connection, str(error))

    def _acknowledge(self, connection: MasterConnection) -> None:
        store = self._store
        if not self._waits_for_every_byte:
            connection.send(connection.follow.report(store.raw.position, self.now()))
            return
        if store.flushed_offset < store.raw.position and not self._waits_for_disk:
            self._waits_for_disk = True
            store.when_flushed(store.raw.position, self._flushed)
            store.dispatch()
        connection.send(connection.follow.report(store.flushed_offset, self.now()))

    def _flushed(self, status: PutStatus) -> None:
        self._waits_for_disk = False
        if self.connection is not None and status is PutStatus.PUT_OK:
            self._report(self.connection)

    def _give_up(self, connection: MasterConnection, reason: str) -> None:
        self._complain(f"{self.ha_address} is not followed: {reason}")
        connection.abort()
        self.lost(connection, reason)

    def _complain(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            log.error("the master at %s", problem)


class _Connections(Factory):
    """Factory of the connection, for the endpoint."""

    noisy = False

    def __init__(self, client: MasterClient, follow: Following, ticket: bytes) -> None:
        self._client = client
        self._follow = follow
        self._ticket = ticket

    def buildProtocol(self, addr: object) -> MasterConnection:
        return MasterConnection(self._client, self._follow, self._ticket)

"""Replication of a broker in its group: a master with its slaves, or a slave with its master.

Every broker listens for slaves, whatever its role, as a slave may have slaves of its own. Only a slave
follows a master, and copies its tables: each time it becomes one it starts both afresh, and answers to
earlier requests are ignored. `runtime_info` covers both sides. RocketMQ: `DefaultHAService`, `HARuntimeInfo`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.ha.admission import SlaveAdmission
from mqgateway.engine.ha.role import RoleState
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.long_polling import resume_all
from mqgateway.gateway.broker.replication.master import SlaveServer
from mqgateway.gateway.broker.replication.slave import MasterClient
from mqgateway.gateway.broker.replication.slave_listener import SlaveListener
from mqgateway.gateway.broker.replication.slave_tables import SlaveTables
from mqgateway.gateway.broker.replication.streams import ReplicationStream
from mqgateway.gateway.codec.bodies import HARuntimeInfo
from mqgateway.gateway.codec.bodies.replicas import HAClientRuntimeInfo, HAConnectionRuntimeInfo
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.runtime.loop import Reactor

log = logging.getLogger(__name__)

FOREVER = 2**62


class Replication:
    """Both sides of a broker's replication, which use the same stream.

    `leader_sends_log` returns True if the leader of a DLedger group sends the log by another connection; None
    if slaves fetch it.
    """

    def __init__(
        self,
        broker: Broker,
        reactor: Reactor,
        ask: Ask,
        stream: ReplicationStream,
        leader_sends_log: Callable[[], bool] | None = None,
    ) -> None:
        self._broker = broker
        self._stream = stream
        self._reactor = reactor
        self._ask = ask
        self._address = broker.environment.address
        self.server = SlaveServer(
            broker.store_options,
            broker.store,
            broker.produce.durability.replicas,
            broker.clock,
            reactor,
            stream,
        )
        self.admission = SlaveAdmission(
            broker.store_options.ha_allowed_slaves, requires_tickets=broker.options.authentication_enabled
        )
        self.listener = self.server.listener = SlaveListener(
            self.admission,
            self.server.buildProtocol,
            clock=broker.clock,
            worker=broker.environment.reader or broker.environment.worker,
            name_servers=broker.cluster.name_servers,
            broker_name=broker.options.broker_name,
            own_address=self._address,
            on_refused=self.server.complain,
        )
        self.client: MasterClient | None = None
        self.tables: SlaveTables | None = None
        self._leader_sends_log = leader_sends_log
        if broker.role.is_slave:
            self._begin_to_follow()
        broker.role.on_change(self._role_changed)

    def _begin_to_follow(self) -> None:
        broker = self._broker
        if not broker.store_options.enable_d_leger_commit_log:
            self.client = MasterClient(
                broker.store_options,
                broker.store,
                broker.clock,
                self._reactor,
                self._ask,
                self.release_readers,
                self._stream,
            )
        self.tables = SlaveTables(broker, self._ask, self._address)

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        is_slave = self._broker.role.is_slave
        if is_slave and self.tables is None:
            self._begin_to_follow()
        elif not is_slave and self.tables is not None:
            self._follow_no_more()
        if not self._broker.role.is_master and not self._stream.is_open:
            self.server.drop_all()
        self.release_readers()
        self._broker.pop.wait_no_longer(FOREVER)
        self._broker.lite.parked.due(FOREVER)

    def _follow_no_more(self) -> None:
        client, tables, self.client, self.tables = self.client, self.tables, None, None
        if client is not None:
            client.stop()
        if tables is not None:
            tables.stop()

    @property
    def follows(self) -> bool:
        """True if this is a slave that is connected to its master."""
        if self._leader_sends_log is not None:
            return self._broker.role.is_slave and self._leader_sends_log()
        return self.client is not None and self.client.connection is not None

    @property
    def following(self) -> int:
        """Number of slaves whose logs follow ours; on a slave 1 while its own follows its master's."""
        if self.client is not None:
            return int(self.follows)
        return sum(feed.next_offset >= 0 for feed in self.server.replicas.feeds)

    def follow_another(self, main_address: str) -> None:
        """Follow another master, and ignore further data of the one before."""
        self._follow_no_more()
        self._begin_to_follow()
        self.on_master(main_address, None)

    def follow(self, main_address: str, ha_address: str) -> None:
        """Follow a member of the group that reports to be the master."""
        self.on_master(main_address, ha_address)
        if self.client is not None:
            self.client.try_soon()

    @property
    def after_read(self) -> Callable[[], None]:
        """Function to call after the requests of one read.

        If sends wait for slaves, it sends them at once the records that wake no other reader, such as half
        messages. Brokers that never wait for slaves only dispatch.
        """
        store, server, durability = self._broker.store, self.server, self._broker.produce.durability
        if not durability.may_wait_for_slaves:
            return store.dispatch

        def dispatch_and_send() -> None:
            store.dispatch()
            if durability.is_for_slaves:
                server.pump()

        return dispatch_and_send

    def settle(self) -> Deferred[None]:
        """Return a Deferred that fires when the slaves have everything, or after some seconds; for a stop."""
        return self.server.settle()

    def listen(self, host: str, port: int) -> None:
        """Accept slaves, unless the leader sends the log by another connection.

        A port that is in use is an error only if it is configured, or if sends wait for slaves. Raises
        `twisted.internet.error.CannotListenError`.
        """
        options = self._broker.store_options
        if self._leader_sends_log is not None:
            return
        try:
            self.server.listen(host, port)
        except CannotListenError:
            if options.ha_listen_port or options.broker_role is not BrokerRole.ASYNC_MASTER:
                raise
            log.warning("port %d is taken: no slave can connect", port)

    def arrived(self) -> None:
        """Send new records to slaves. Called after the requests that wait for them were woken."""
        if self.server.connections:
            self.server.pump()

    def stop(self) -> Deferred[None]:
        """Follow no master, serve no slave; return a Deferred that fires when the port is closed."""
        if self.client is not None:
            self.client.stop()
        self.listener.stop()
        return self.server.stop()

    def tick(self) -> None:
        """Do the work that is due; called with every tick."""
        self.listener.tick()
        self.server.tick()
        if self.client is not None:
            self.client.tick()

    def sync_tables(self) -> None:
        """Copy the master's tables, if this is a slave.

        An acting slave's own tables are newer, until its master has taken them over and is registered again.
        """
        membership = self._broker.membership
        if self.tables is not None and not (membership is not None and membership.group.acts):
            self.tables.tick()

    def on_master(self, main_address: str | None, ha_address: str | None) -> None:
        """Apply the master's addresses from a name server. RocketMQ: `handleRegisterBrokerResult`."""
        if self.client is not None:
            self.client.on_master(main_address, ha_address)
        if self.tables is not None and main_address:
            self.tables.master_address = main_address

    def release_readers(self) -> None:
        """Answer all parked pulls, so that their clients query the right broker again.

        Called when the master is back, or the role of this broker has changed. RocketMQ:
        `notifyMasterOnline`.
        """
        broker = self._broker
        resume_all(broker.consume.held_pulls.due(FOREVER, broker.store.max_offset))

    def log_requested(self, host: str) -> bytes:
        """Note that the peer at `host` requests the log; return its ticket, empty if none is needed.

        If slaves come online before name servers have them, the host is remembered as an expected slave.
        """
        membership = self._broker.membership
        comes_first = membership is not None and membership.is_enabled
        if comes_first or self._broker.options.enable_controller_mode:
            self.admission.log_requested(host, self.listener.now())
        return self.admission.issue(self.listener.now())

    def runtime_info(self) -> HARuntimeInfo:
        """Return the answer to 907. RocketMQ: `DefaultHAService.getRuntimeInfo`."""
        raw = self._broker.store.raw
        if self.client is not None:
            return HARuntimeInfo(ha_client_runtime_info=self._of_slave(self.client))
        now = self.server.now()
        connections = [
            HAConnectionRuntimeInfo(
                addr=feed.address,
                slave_ack_offset=feed.ack_offset,
                diff=raw.position - feed.ack_offset,
                in_sync=feed.is_in_sync(),
                transferred_byte_in_second=feed.flow.per_second(now),
                transfer_from_where=feed.next_offset,
            )
            for feed in self.server.replicas.feeds
        ]
        return HARuntimeInfo(
            master=not self._broker.role.is_slave,
            master_commit_log_max_offset=raw.position,
            in_sync_slave_nums=sum(connection.in_sync for connection in connections),
            ha_connection_info=connections,
        )

    def _of_slave(self, client: MasterClient) -> HAClientRuntimeInfo:
        info = HAClientRuntimeInfo(
            master_addr=client.ha_address or None, max_offset=self._broker.store.raw.position
        )
        if client.connection is not None:
            follow, now, wall = client.connection.follow, client.now(), self._broker.clock.millis()
            info.transferred_byte_in_second = follow.flow.per_second(now)
            info.last_read_timestamp = wall - (now - follow.last_read)
            info.last_write_timestamp = wall - (now - follow.last_write)
        return info

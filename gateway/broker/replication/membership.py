"""Membership in a group whose slaves act for their master: queries and heartbeats to name servers.

With `enableSlaveActingMaster` a broker queries name servers every second for the members of its group, sends
them heartbeats as often, and is notified by them when the smallest id changes (905). With `totalReplicas`
above 1 it does not register before it is online (`engine.ha.online`): until then it serves no client and
delivers nothing. Masters and slaves find each other's logs by 906. Without the setting a broker is online at
once, and only its role counts. RocketMQ: `BrokerController.syncBrokerMemberGroup`, `sendHeartbeat`,
`BrokerPreOnlineService`, `AdminBrokerProcessor.updateBrokerHaInfo`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine import lenient_json
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.adoption import taken_back
from mqgateway.engine.ha.member_group import MASTER_ID, MemberGroup, MinIdChange
from mqgateway.engine.ha.online import ComingOnline, MemberTask, Task
from mqgateway.engine.ha.role import RoleKind, RoleState
from mqgateway.gateway.broker.acting.services import SpecialServices
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.name_servers import accepted
from mqgateway.gateway.broker.replication.replication import Replication
from mqgateway.gateway.broker.replication.slave_tables import places
from mqgateway.gateway.codec.bodies import GetBrokerMemberGroupResponseBody, TopicRouteData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    BrokerHeartbeatRequestHeader,
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
    GetBrokerMemberGroupRequestHeader,
    GetRouteInfoRequestHeader,
)
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

MEMBER_TOPIC_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
"""With the broker name it is a topic whose route has the members of the group, for old name servers."""

SendOneway = Callable[[str, RemotingCommand], None]


class BrokerMembership:
    """Membership of this broker. `ask` sends requests, `send_oneway` one-way requests to other servers."""

    def __init__(
        self,
        broker: Broker,
        services: SpecialServices,
        replication: Replication,
        ask: Ask,
        send_oneway: SendOneway,
    ) -> None:
        options = broker.options
        self._broker = broker
        self._services = services
        self._ask = ask
        self._send_oneway = send_oneway
        self._replication = replication
        self._address = broker.environment.address
        self._ha_address = broker.environment.ha_address
        self._role = broker.role
        self.group = MemberGroup(broker.role.state.broker_id)
        self.is_enabled = options.enable_slave_acting_master
        self.coming: ComingOnline | None = None
        if self.is_enabled and broker.store_options.total_replicas > 1 and not options.skip_pre_online:
            self.coming = ComingOnline(options.broker_id)
        self._init_end = 0
        self._is_asking = False
        self._is_stopped = False
        self._next_question = self._next_heartbeat = 0
        self._role.on_change(self._role_changed)

    @property
    def is_online(self) -> bool:
        """True if this broker may register with name servers."""
        return self.coming is None or self.coming.is_online

    @property
    def is_active(self) -> bool:
        """True if this broker does the periodic work of a master."""
        return self._services.is_on

    def start(self) -> Deferred[None]:
        """Register, or first come online; called once the store has started.

        Return a Deferred that fires when each name server has answered or failed; at once if this broker does
        not register yet.
        """
        self._init_end = self._broker.store.raw.position
        self._next_question = self._next_heartbeat = self._now() + 1000
        if self.coming is None:
            return self._broker.cluster.registration.start()
        self._services.is_held = True
        return succeed(None)

    def stop(self) -> None:
        """Send name servers nothing more."""
        self._is_stopped = True

    def _now(self) -> int:
        return elapsed_millis(self._broker.clock)

    def tick(self) -> None:
        """Do the work that is due; called with every tick."""
        if not self.is_enabled or self._is_stopped:
            return
        now, options = self._now(), self._broker.options
        if self.coming is not None and not self.coming.is_online:
            step = self.coming.next(now, self._replication.following)
            if step is not None:
                self._take(step, self.coming)
            return
        if now >= self._next_heartbeat and not self._role.is_fenced:
            self._next_heartbeat = now + options.broker_heartbeat_interval
            for name_server in self._broker.cluster.name_servers.addresses:
                self._send_oneway(name_server, self._lives())
        if now >= self._next_question and not self._is_asking:
            self._next_question = now + options.sync_broker_member_group_period
            self._is_asking = True
            self._members().addCallback(self._take_members).addErrback(_unknown).addBoth(
                lambda _: setattr(self, "_is_asking", False)
            )
        self._turn()

    def _turn(self) -> None:
        """Start or stop acting for the master, as the group requires."""
        if not self._role.is_slave:
            return
        may_deliver = self._broker.options.enable_remote_escape
        acts = may_deliver and self.group.serves(self._now(), follows=self._replication.following > 0)
        self._role.become(RoleKind.ACTING if acts else RoleKind.SLAVE)

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        self.group.own_id = after.broker_id

    # Answers of name servers

    def _take_members(self, members: dict[int, str]) -> None:
        """Apply the members that a name server returned."""
        change = self.group.update(members)
        if members:
            self._broker.produce.durability.replicas.alive = self.group.alive
        self._changed(change)

    def noticed(self, min_id: int, address: str, ha_address: str) -> None:
        """905: apply a name server's notification of the smallest broker id."""
        if self.is_enabled and self.is_online:
            self._changed(self.group.noticed(min_id, address, ha_address))
            self._turn()

    def _changed(self, change: MinIdChange | None) -> None:
        if change is None:
            return
        group = self.group
        log.warning("the member with the smallest id is now %d at %s", group.min_id, group.min_address)
        if not change.master:
            return
        self._replication.release_readers()
        if change.ha_address:
            self._replication.follow(change.master, change.ha_address)
            return
        self._ask_master(change.master).addErrback(
            lambda failure: log.info("the master did not return its replication address: %s", failure.value)
        )

    def _members(self) -> Deferred[dict[int, str]]:
        """Query the members by id."""
        options, name_servers = self._broker.options, self._broker.cluster.name_servers
        if not options.compatible_with_old_name_srv:
            header = GetBrokerMemberGroupRequestHeader(
                cluster_name=options.broker_cluster_name, broker_name=options.broker_name
            )
            command = RemotingCommand.request(RequestCode.GET_BROKER_MEMBER_GROUP, header)
            return name_servers.read(command, _of_group)
        route = GetRouteInfoRequestHeader(
            topic=MEMBER_TOPIC_PREFIX + options.broker_name, accept_standard_json_only=True
        )
        command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, route)
        return name_servers.read(command, lambda answer: _of_route(answer, options.broker_name))

    def _lives(self) -> RemotingCommand:
        """Return the light heartbeat."""
        options = self._broker.options
        if options.compatible_with_old_name_srv:
            return self._broker.cluster.registration.announcement.version_query(oneway=True)
        header = BrokerHeartbeatRequestHeader(
            cluster_name=options.broker_cluster_name,
            broker_addr=self._address,
            broker_name=options.broker_name,
        )
        return RemotingCommand.request(RequestCode.BROKER_HEARTBEAT, header, oneway=True)

    # Coming online

    def _take(self, step: MemberTask, coming: ComingOnline) -> None:
        def failed(failure: Failure) -> None:
            log.info("not online yet, %s %s: %s", step.task.name, step.address, failure.getErrorMessage())
            coming.failed(self._now())
            if step.address in coming.left_out:
                log.error("the member at %s is ignored: it cannot be reached or followed", step.address)

        tasks: dict[Task, Callable[[], Any]] = {
            Task.ASK_MEMBERS: lambda: self._members().addCallback(coming.members_are),
            Task.ANNOUNCE: lambda: self._announce(step.address),
            Task.ASK_MASTER: lambda: self._ask_master(step.address),
            Task.TAKE_BACK: lambda: self._take_back(step.address),
            Task.REGISTER: self._register,
        }
        asked = maybeDeferred(tasks[step.task])
        if step.task is not Task.ASK_MEMBERS:
            asked.addCallback(lambda _: coming.done())
        asked.addErrback(failed)

    def _announce(self, address: str) -> Deferred[None]:
        header = ExchangeHAInfoRequestHeader(
            master_ha_address=self._ha_address,
            master_flush_offset=self._init_end,
            master_address=self._address,
        )
        command = RemotingCommand.request(RequestCode.EXCHANGE_BROKER_HA_INFO, header)
        return self._ask(address, command).addCallback(_checked).addCallback(lambda _: None)

    def _ask_master(self, address: str) -> Deferred[None]:
        """Query the master for its replication address, and follow it."""

        def take(answer: RemotingCommand) -> None:
            header = ExchangeHAInfoResponseHeader.decode(_checked(answer).ext_fields)
            if header.master_ha_address:
                self._replication.follow(header.master_address or address, header.master_ha_address)

        header = ExchangeHAInfoRequestHeader()
        return self._ask(
            address, RemotingCommand.request(RequestCode.EXCHANGE_BROKER_HA_INFO, header)
        ).addCallback(take)

    def _take_back(self, address: str) -> Deferred[None]:
        """Take over the newer state of a slave that acted for us.

        Delay offsets come before consumer offsets, as groups continue after the messages delivered to them.
        """
        broker = self._broker

        def ask(code: RequestCode, take: Callable[[bytes], None]) -> Deferred[None]:
            def taken(answer: RemotingCommand) -> None:
                # A member without timers has no checkpoint of them.
                if answer.code == ResponseCode.SUCCESS or code != RequestCode.GET_TIMER_CHECK_POINT:
                    take(_checked(answer).body)

            return self._ask(address, RemotingCommand.request(code)).addCallback(taken)

        asked = ask(
            RequestCode.GET_ALL_DELAY_OFFSET, lambda body: broker.delays.take_back(lenient_json.loads(body))
        )
        asked.addCallback(lambda _: ask(RequestCode.GET_ALL_CONSUMER_OFFSET, self._take_offsets))
        if broker.timers.is_enabled:
            asked.addCallback(lambda _: ask(RequestCode.GET_TIMER_CHECK_POINT, broker.timers.take_back))
        return asked

    def _take_offsets(self, body: bytes) -> None:
        broker = self._broker
        reported = places(lenient_json.loads(body))
        changes = list(taken_back(reported, broker.store.max_offset, broker.tables.offsets.query))
        for (group, topic, queue_id), offset in changes:
            broker.tables.offsets.commit(group, topic, queue_id, offset)
        if changes:
            broker.transactions.load()
            broker.pop.load()

    def _register(self) -> Deferred[None]:
        if self._is_stopped:
            return succeed(None)
        log.info("online: registering with the name servers")
        self._broker.cluster.registration.start().addErrback(
            lambda failure: log.error("not registered: %s", failure.value)
        )
        self._services.is_held = False
        self._next_question = self._next_heartbeat = self._now() + 1000
        return succeed(None)

    # Requests between members

    def announced(self, address: str, ha_address: str) -> None:
        """906 from a master that is back: follow it, and leave the periodic work of a master to it."""
        self.group.announced(self._now())
        self._turn()
        self._replication.follow(address, ha_address)

    def whereabouts(self) -> ExchangeHAInfoResponseHeader:
        """Return a master's answer to 906; empty for other roles."""
        if self._role.state.broker_id != MASTER_ID:
            return ExchangeHAInfoResponseHeader()
        return ExchangeHAInfoResponseHeader(
            master_ha_address=self._ha_address,
            master_flush_offset=self._init_end,
            master_address=self._address,
        )


def _checked(answer: RemotingCommand) -> RemotingCommand:
    if answer.code != ResponseCode.SUCCESS:
        raise RemotingError(f"it answers {answer.code}, {answer.remark}")
    return answer


def _of_group(answer: RemotingCommand) -> dict[int, str]:
    group = GetBrokerMemberGroupResponseBody.decode(accepted(answer).body).broker_member_group
    return {} if group is None else group.broker_addrs


def _of_route(answer: RemotingCommand, name: str) -> dict[int, str]:
    if answer.code == ResponseCode.TOPIC_NOT_EXIST:
        return {}
    for data in TopicRouteData.decode(accepted(answer).body).broker_datas:
        if data.broker_name == name:
            return data.broker_addrs
    return {}


def _unknown(failure: Failure) -> None:
    if not isinstance(failure.value, ConfigError | RemotingError | ValueError):
        log.error("the members of the group: %s", failure.getErrorMessage())

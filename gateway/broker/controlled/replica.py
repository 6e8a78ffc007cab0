"""A broker whose role the controller decides.

It joins its set, sends heartbeats every second, and queries the master every few seconds; notifications
(1008) arrive earlier. Answers of a controller about a past epoch are dropped. A master maintains the in-sync
set (`InSyncKeeper`), and checks before each acknowledgement that it still is the master
(`engine.ha.authority`): it is fenced when it may have a successor. A slave queries its master itself for the
port for slaves, as soon as it knows the master. RocketMQ: `ReplicasManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.agreed_replicas import AgreedReplicas
from mqgateway.engine.ha.authority import Authority
from mqgateway.engine.ha.epochs import Epochs
from mqgateway.engine.ha.identity import FILE_NAME, IdentityFiles
from mqgateway.engine.ha.role import UNKNOWN_ID, RoleKind
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.controlled.controllers import Controllers
from mqgateway.gateway.broker.controlled.in_sync_keeper import InSyncKeeper
from mqgateway.gateway.broker.controlled.joining import Joining
from mqgateway.gateway.broker.controlled.master_reports import (
    ReportedMaster,
    by_election,
    by_notice,
    by_question,
)
from mqgateway.gateway.broker.replication.replication import Replication
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.headers import (
    BrokerHeartbeatRequestHeader,
    ElectMasterRequestHeader,
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
    GetReplicaInfoRequestHeader,
    NotifyBrokerRoleChangedRequestHeader,
)
from mqgateway.gateway.remoting.client import Ask
from mqgateway.gateway.remoting.exchange import RemotingError

log = logging.getLogger(__name__)

HEARTBEAT_MILLIS = 400
"""Longest interval of heartbeats: several are to arrive within the shortest time-out."""
AGAIN_MILLIS = 1000
"""Milliseconds until a failed request is retried."""
HEARTBEAT_SECONDS = 3.0
EXPECTED = (RemotingError, HeaderError, ConfigError, OSError)
"""Errors that are no fault of this program."""


class ControlledReplica:
    """One broker of a replica set. `ask` sends requests to controllers and the master."""

    def __init__(
        self,
        broker: Broker,
        replication: Replication,
        replicas: AgreedReplicas,
        epochs: Epochs,
        ask: Ask,
    ) -> None:
        options, on = broker.options, broker.environment
        self._broker = broker
        self._replication = replication
        self._replicas = replicas
        self.epochs = epochs
        self._ask = ask
        self._role = broker.role
        self.controllers = Controllers(options, ask)
        path = broker.store_options.store_path_broker_identity or on.path(FILE_NAME)
        files = IdentityFiles(on.disk, path, options.broker_cluster_name, options.broker_name)
        self._joining = Joining(options, files, self.controllers, broker.clock, on.address)
        self.authority = Authority(
            options.controller_heart_beat_timeout_mills,
            self.now(),
            is_endless=not options.enable_master_lease,
        )
        self.keeper = InSyncKeeper(broker, replicas, self.controllers, self._refused)
        self.number = UNKNOWN_ID
        self.epoch = 0
        self.master_address = ""
        self._is_registered = self._is_asking = self._is_stopped = False
        self._is_locating = False
        self._must_elect = False
        self._complaint = ""
        self._next_question = self._next_heartbeat = self._next_leader = self._next_location = 0
        replication.server.watch_departures(self.keeper.consider)

    def now(self) -> int:
        """Return the time in ms of a monotonic clock."""
        return elapsed_millis(self._broker.clock)

    def stop(self) -> None:
        """Send no more requests, and ignore answers."""
        self._is_stopped = True

    # Authority

    def is_authorized(self) -> bool:
        """Return True if this broker is master beyond doubt; a master in doubt is fenced."""
        if not self._role.is_master:
            return False
        now = self.now()
        if self.authority.was_away(now):
            log.warning("this broker was paused: connections with slaves are opened again")
            self._replication.server.drop_all()
        if self.authority.holds(now, self._heard()):
            return True
        self._fence("neither the controller nor all in-sync replicas were heard of")
        return False

    def _heard(self) -> Iterator[int | None]:
        """Yield the times of the last data from each of the other in-sync replicas."""
        heard = {feed.replica_id: feed.heard for feed in self._replicas.followers()}
        members = self._replicas.in_sync_set.members
        return (heard.get(number) for number in members if number != self.number)

    def _timeout(self) -> int:
        """Return the heartbeat time-out for the controller.

        A master whose replicas report only now and then needs the longest, or it would be in doubt whenever
        controllers are unreachable.
        """
        options, members = self._broker.options, self._replicas.in_sync_set.members
        prompt = {feed.replica_id for feed in self._replicas.followers() if feed.is_prompt}
        longest = options.controller_heart_beat_timeout_mills
        if self._role.is_master and not members <= prompt | {self.number}:
            return longest
        return min(longest, options.prompt_heart_beat_timeout_mills)

    def _fence(self, reason: str) -> None:
        log.error("this broker stops acknowledging sends: %s", reason)
        self._role.become(RoleKind.FENCED)
        self._next_question = 0

    def _refused(self, is_no_master: bool) -> None:
        """Query the controller again, which has another state than this broker, perhaps another master."""
        self._next_question = 0
        if is_no_master and self._role.is_master:
            self._fence("the controller knows another master")

    # Ticks

    def tick(self) -> None:
        """Do the work that is due; called with every tick."""
        if self._is_stopped:
            return
        now, options = self.now(), self._broker.options
        if self._role.is_master:
            self.is_authorized()
        else:
            self.authority.was_away(now)
        if self._is_registered and now >= self._next_heartbeat:
            self._next_heartbeat = now + min(options.broker_heartbeat_interval, HEARTBEAT_MILLIS)
            self._say_that_we_are_there(now)
        if not self._is_asking and now >= self._next_question:
            self._next_question = now + AGAIN_MILLIS
            self._run(self._take_turn())
        if self._role.is_slave and self.master_address and not self._replication.follows:
            self._locate(now)
        self.keeper.tick(now)

    def _run(self, work: Coroutine[Deferred[Any], Any, None]) -> None:
        self._is_asking = True

        def ended(outcome: object) -> None:
            self._is_asking = False
            problem = ""
            if isinstance(outcome, Failure):
                problem = outcome.getErrorMessage()
                if not isinstance(outcome.value, EXPECTED):
                    log.error("the controller's answer: %s", outcome.getTraceback())
            if problem and problem != self._complaint and not self._is_stopped:
                log.warning("the controller: %s", problem)
            self._complaint = problem

        Deferred.fromCoroutine(work).addBoth(ended)

    async def _take_turn(self) -> None:
        """Join, or query the master and elect one if there is none."""
        options, now = self._broker.options, self.now()
        if now >= self._next_leader:
            self._next_leader = now + options.sync_controller_metadata_period
            await self.controllers.find_leader()
        if not self._is_registered:
            await self._join()
        else:
            await self._ask_for_master()
        if self._must_elect and self._is_registered and not self._is_stopped:
            await self._elect()
        if self._is_registered and not self._must_elect and not self._role.is_fenced:
            self._next_question = self.now() + options.sync_broker_metadata_period

    async def _join(self) -> None:
        identity, reported = await self._joining.join()
        if self._is_stopped:
            return
        self.number = identity.number
        if reported.master == self.number and not self.epoch and not self._broker.store.was_clean:
            # Other replicas may have records of this epoch that this log has lost: it cannot continue the
            # epoch.
            raise RemotingError(
                "this broker was master until it died, which the controller has not noticed: it waits for an "
                "election"
            )
        self._is_registered = True
        self._say_that_we_are_there(self.now())
        self._take(reported)

    async def _ask_for_master(self) -> None:
        header = GetReplicaInfoRequestHeader(broker_name=self._broker.options.broker_name)
        answer = await self.controllers.ask(RequestCode.CONTROLLER_GET_REPLICA_INFO, header)
        if answer.code == ResponseCode.CONTROLLER_BROKER_METADATA_NOT_EXIST:
            self._is_registered = False
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")
        if answer.code != ResponseCode.SUCCESS:
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")
        self._take(by_question(answer))

    async def hand_over(self) -> None:
        """Have another in-sync replica elected master, before this one stops; no-op if there is none.

        Raises `RemotingError` if the controller does not elect it.
        """
        members = self._replicas.in_sync_set.members - {self.number}
        acked = {feed.replica_id: feed.ack_offset for feed in self._replicas.followers()}
        others = [number for number in members if number in acked]
        if self._role.is_master and others:
            await self._elect(max(others, key=lambda number: (acked[number], -number)))

    async def _elect(self, designated: int | None = None) -> None:
        """Have a master elected, the designated replica or this one if possible."""
        options = self._broker.options
        header = ElectMasterRequestHeader(
            cluster_name=options.broker_cluster_name,
            broker_name=options.broker_name,
            broker_id=self.number if designated is None else designated,
            designate_elect=designated is not None,
            invoke_time=self._broker.clock.millis(),
        )
        answer = await self.controllers.ask(RequestCode.CONTROLLER_ELECT_MASTER, header)
        if answer.code in (ResponseCode.SUCCESS, ResponseCode.CONTROLLER_MASTER_STILL_EXIST):
            self._take(by_election(answer))
        else:
            raise RemotingError(f"it answers {answer.code}, {answer.remark}")

    def _say_that_we_are_there(self, now: int) -> None:
        options, store = self._broker.options, self._broker.store
        timeout = self._timeout()
        self.authority.asks(timeout, now)
        header = BrokerHeartbeatRequestHeader(
            cluster_name=options.broker_cluster_name,
            broker_addr=self._broker.environment.address,
            broker_name=options.broker_name,
            broker_id=self.number,
            epoch=self.epochs.last,
            max_offset=store.max_physical_offset,
            confirm_offset=store.confirm_offset,
            heartbeat_timeout_mills=timeout,
            election_priority=options.broker_election_priority,
        )
        for address in self.controllers.addresses:
            command = RemotingCommand.request(RequestCode.BROKER_HEARTBEAT, header)
            self._ask(address, command, HEARTBEAT_SECONDS).addCallbacks(
                self._heard_by, lambda _: None, callbackArgs=(address, now, timeout)
            )

    def _heard_by(self, answer: RemotingCommand, address: str, sent_at: int, timeout: int) -> None:
        if answer.code == ResponseCode.SUCCESS and address == self.controllers.leader:
            self.authority.heard(sent_at, timeout)

    # Answers of the controller

    def noticed(self, header: NotifyBrokerRoleChangedRequestHeader, body: bytes) -> None:
        """1008: apply the notification of a master. Raises `HeaderError`."""
        reported = by_notice(header, body)
        if self._is_registered and reported.epoch > self.epoch and not self._is_stopped:
            self._take(reported)

    def _take(self, reported: ReportedMaster) -> None:
        """Take the role that the controller assigned, unless the answer is stale."""
        self._must_elect = False
        if reported.master is None:
            self._must_elect = not self._role.is_master or reported.epoch > self.epoch
            if self._must_elect and self._role.is_master:
                self._fence("the controller knows no master")
            return
        if reported.epoch < self.epoch:
            return
        if reported.epoch < self._role.state.epoch:
            raise ConfigError(
                f"it is in epoch {reported.epoch}, this broker's log in epoch {self._role.state.epoch}: the "
                "controller has lost its data. Bring it back, or remove the epoch files as well"
            )
        if reported.master == self.number:
            self._lead(reported)
        elif (
            reported.epoch > self.epoch or reported.address != self.master_address or not self._role.is_slave
        ):
            self._follow(reported)

    def _lead(self, reported: ReportedMaster) -> None:
        if reported.epoch > self.epoch:
            self.epoch, self.master_address = reported.epoch, self._broker.environment.address
            self._replicas.begin(self.number, reported.in_sync, reported.in_sync_epoch)
            self._role.become(RoleKind.MASTER, epoch=reported.epoch)
            self._broker.tables.topics.enter_state(reported.epoch)
            return
        if self._replicas.in_sync_set.take(reported.in_sync, reported.in_sync_epoch):
            self._replicas.acknowledged()
        if self._role.is_fenced and self.authority.holds(self.now(), self._heard()):
            self._role.become(RoleKind.MASTER)

    def _follow(self, reported: ReportedMaster) -> None:
        self.epoch, self.master_address = reported.epoch, reported.address
        # The new master decides which further offsets are confirmed.
        self._replicas.agreement.limit = self._broker.store.confirm_offset
        self._role.become(RoleKind.SLAVE, broker_id=self.number, epoch=reported.epoch)
        self._replication.follow_another(reported.address)
        self._broker.tables.topics.enter_state(reported.epoch)
        self._next_location = 0

    # Address of the master

    def on_master(self, main_address: str | None, ha_address: str | None) -> None:
        """Apply a name server's addresses of the master, if they are those of the controller's master."""
        if self._role.is_slave and main_address == self.master_address:
            self._replication.on_master(main_address, ha_address)

    def _locate(self, now: int) -> None:
        """Query the master for its replication address."""
        if self._is_locating or now < self._next_location:
            return
        self._is_locating = True
        self._next_location = now + AGAIN_MILLIS
        address = self.master_address
        command = RemotingCommand.request(RequestCode.EXCHANGE_BROKER_HA_INFO, ExchangeHAInfoRequestHeader())

        def located(answer: RemotingCommand) -> None:
            found = ExchangeHAInfoResponseHeader.decode(answer.ext_fields).master_ha_address
            if found and self._role.is_slave and address == self.master_address:
                self._replication.follow(address, found)

        def ended(_: object) -> None:
            self._is_locating = False

        self._ask(address, command).addCallback(located).addErrback(
            lambda failure: log.info("the master did not return its replication address: %s", failure.value)
        ).addBoth(ended)

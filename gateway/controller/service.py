"""A controller as it runs: its port, its timers, its file or its part of etcd, and its notices to brokers.

Three things happen without a request: brokers that are silent too long are given up, at the moment they are;
every 5 s sets are looked for whose master is gone; and every second the state is told, which writes the file
if it lacks changes, or keeps a lease.
Standard: `ControllerManager`, `DefaultBrokerHeartbeatManager`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import cast

from twisted.internet.defer import Deferred, gatherResults

from mqgateway.engine.clock import Clock
from mqgateway.engine.configuration import CONTROLLER_RULES, Configuration
from mqgateway.engine.controller.controller import Controller, Notice
from mqgateway.engine.controller.local_state import FILE_NAME, LocalState
from mqgateway.engine.controller.state import State
from mqgateway.engine.disk import Disk, File, make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import OptionSet, RemotingOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.access import requests as access_requests
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.changes import audited
from mqgateway.gateway.access.control import control_of_server
from mqgateway.gateway.access.server_needs import ALL_CLUSTERS, OF_CONTROLLER
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.codec.bodies import SyncStateSet
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import NotifyBrokerRoleChangedRequestHeader
from mqgateway.gateway.controller.context import ControllerContext
from mqgateway.gateway.controller.etcd_client import EtcdClient
from mqgateway.gateway.controller.peers import own_peer, peers_of
from mqgateway.gateway.controller.requests import REQUESTS, UNSUPPORTED, refusal
from mqgateway.gateway.controller.shared_place import open_place, state_in
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.dispatch import Dispatcher, Hook, LongRequestFunction, RequestFunction
from mqgateway.gateway.remoting.limits import body_limits
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.tls import ClientTls, ServerTls
from mqgateway.gateway.runtime.loop import ListeningPort, Reactor
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.threads import ThreadWorker

log = logging.getLogger(__name__)

STATE_BEAT = 1.0
"""Seconds between two beats of the state."""
STOPPED = 0.5
"""By how many seconds later than was wanted a timer comes when this process was stopped, or had no time."""
SAVE_INTERVAL = 10.0
"""Seconds between two times that tables of users that lack changes may be written."""
LEAST_WAIT, MOST_WAIT = 0.05, 1.0
"""Seconds between two looks for silent brokers; meanwhile one may be heard of whose time ends sooner."""


class ControllerService:
    """A controller on the port that the peers give it. Nothing happens before `start`, but for its file.

    `settings` are all options of the process as properties (requests 1009 and 1010); made of `options` and
    `remoting` when it is not given. `worker` is a thread unless another is given. `users` are those of
    another server of this process; without them a controller that asks who somebody is keeps its own in
    `controllerStorePath`. Raises `ConfigError` when the settings or the files cannot be used, or another
    process uses them.
    """

    def __init__(
        self,
        options: ControllerOptions,
        *,
        remoting: RemotingOptions,
        reactor: Reactor,
        clock: Clock,
        disk: Disk,
        settings: OptionSet | None = None,
        tls: ServerTls | None = None,
        client_tls: ClientTls | None = None,
        hooks: Sequence[Hook] = (),
        worker: Worker | None = None,
        users: AccessTables | None = None,
    ) -> None:
        self._options = options
        self._remoting = remoting
        self._schedule = Schedule(reactor)
        self.peer = own_peer(options)
        access = AccessSettings.of(options, disk, ALL_CLUSTERS)
        self._client = RemotingClient(reactor, remoting, tls=client_tls, clock=clock, sign=access.sign)
        self._worker = ThreadWorker(reactor) if worker is None else worker  # type: ignore[arg-type]
        self._lock: File | None = None
        self._place: EtcdClient | None = None
        self._state: State
        if options.controller_etcd_endpoints:
            self._place = open_place(options, reactor, disk)
            self._state = state_in(self._place, options, self.peer, clock)
        else:
            self._lock = _lock(disk, options.controller_store_path)
            self._state = self._local_state(disk, clock)
        try:
            self._access = control_of_server(
                access,
                options,
                OF_CONTROLLER,
                disk=disk,
                folder=options.controller_store_path,
                clock=clock,
                worker=self._worker,
                pause=self._schedule.pause,
                shared=users,
            )
        except ConfigError:
            if self._lock is not None:
                self._lock.close()
            raise
        self.controller = Controller(options, self._state, clock, self._send_notice)
        known = OptionSet(options, remoting) if settings is None else settings
        context = ControllerContext(
            self.controller,
            Configuration(known, disk, clock, options.config_store_path, CONTROLLER_RULES),
            options.controller_d_leger_group,
            peers_of(options.controller_d_leger_peers),
            None if self._access is None else self._access.administration,
        )
        served: dict[int, RequestFunction | LongRequestFunction] = {**REQUESTS}
        if self._access is not None:
            served |= access_requests.REQUESTS
            hooks = [*hooks, self._access]
        self.dispatcher = Dispatcher(
            context,
            audited(served, Audit(options.audit_log_format), refusal),
            UNSUPPORTED,
            clock=clock,
            hooks=hooks,
            limits=body_limits(served, remoting, {}),
            refusal=refusal,
        )
        self._server = RemotingServer(reactor, self.dispatcher, remoting, tls=tls)

    def _local_state(self, disk: Disk, clock: Clock) -> LocalState:
        path = os.path.join(self._options.controller_store_path, FILE_NAME)
        try:
            return LocalState(self.peer.leader, disk, path, clock, self._worker)
        except ConfigError:
            assert self._lock is not None
            self._lock.close()
            raise

    @property
    def folder(self) -> str:
        """Where the file of broker sets is; empty when they are in etcd."""
        return "" if self._lock is None else self._options.controller_store_path

    @property
    def entries(self) -> int:
        """How many broker sets there are."""
        return len(self.controller.state.sets)

    def start(self) -> ListeningPort:
        """Listen and start the timers. Raises `twisted.internet.error.CannotListenError`."""
        listening = self._server.listen(self._remoting.bind_address, self.peer.port)
        self.controller.start()
        between = self._options.scan_inactive_master_interval / 1000
        self._schedule.every(between, between, self.controller.elect_where_needed)
        self._schedule.every(STATE_BEAT, STATE_BEAT, self._state.beat)
        if self._access is not None:
            self._schedule.every(SAVE_INTERVAL, SAVE_INTERVAL, self._access.retry)
        self._wait_for_silence()
        log.info("the controller %s listens on port %d", self.peer.peer_id, self.peer.port)
        return listening

    def stop(self) -> Deferred[None]:
        """Stop in good order: no new connections, what was read is answered. Fires when all is closed."""
        self.controller.stop()
        stopped = gatherResults([self._server.stop(), self._client.close()])
        return stopped.addCallback(self._close)

    def _close(self, _: object) -> Deferred[None]:
        self._schedule.stop()
        if isinstance(self._worker, ThreadWorker):
            self._worker.stop()
        closed: Deferred[None] = Deferred()
        self._state.close(lambda: closed.callback(None))
        return closed.addCallback(self._let_go)

    def _let_go(self, _: None) -> Deferred[None] | None:
        """Others may use the file now; of etcd the connections are ended."""
        if self._access is not None:
            self._access.close()
        if self._lock is not None:
            self._lock.close()
        return None if self._place is None else self._place.close()

    def _wait_for_silence(self) -> None:
        """Look again when somebody may be silent too long, or when it is time to."""
        longest = min(self._options.scan_not_active_broker_interval / 1000, MOST_WAIT)
        ends_in = self.controller.silence_ends_in()
        # A broker is silent too long once its time is over: a millisecond after the end of it.
        wait = longest if ends_in is None else min(longest, (ends_in + 1) / 1000)
        wait = max(wait, LEAST_WAIT)
        self._schedule.later(wait, self._drop_silent, self._schedule.seconds() + wait)

    def _drop_silent(self, due: float) -> None:
        try:
            late = self._schedule.seconds() - due
            if late > STOPPED:
                self.controller.was_stopped(round(late * 1000))
            for peer in self.controller.drop_silent():
                cast(Peer, peer).close("its broker was not heard of in time")
        except Exception:
            log.exception("the check for silent brokers failed")
        self._wait_for_silence()

    def _send_notice(self, notice: Notice) -> None:
        after = notice.after
        log.info("%s: the master is now %s, epoch %d", after.name, after.master, after.master_epoch)
        for receiver in notice.receivers:
            self._client.send_oneway(receiver, notice_command(notice))


def notice_command(notice: Notice) -> RemotingCommand:
    """Request 1008. Standard: `ControllerManager.doNotifyBrokerRoleChanged`."""
    after = notice.after
    header = NotifyBrokerRoleChangedRequestHeader(
        master_address=after.master_address,
        master_epoch=after.master_epoch,
        sync_state_set_epoch=after.sync_state_set_epoch,
        master_broker_id=after.master,
    )
    body = SyncStateSet(set(after.sync_state_set), after.sync_state_set_epoch).encode()
    return RemotingCommand.request(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, header, body)


def _lock(disk: Disk, folder: str) -> File:
    """Keep other controllers away from the folder. Raises `ConfigError`."""
    try:
        make_directories(disk, folder)
        return disk.lock(os.path.join(folder, "lock"))
    except BlockingIOError:
        raise ConfigError(f"controllerStorePath: another controller uses {folder}") from None
    except OSError as error:
        raise ConfigError(f"controllerStorePath: {folder} cannot be used: {error}") from None

"""Controller process: port, timers, local file or etcd state, and notices to brokers.

Besides requests: brokers that are silent too long are removed as soon as they are, broker sets without a
master are checked every 5 s, and the state is ticked every second, which writes pending changes to the file
or renews a lease. RocketMQ: `ControllerManager`, `DefaultBrokerHeartbeatManager`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import cast

from twisted.internet.defer import Deferred

from mqgateway.engine.configuration import CONTROLLER_RULES, Configuration
from mqgateway.engine.controller.controller import Controller, MasterChangeNotice
from mqgateway.engine.controller.local_state import FILE_NAME, LocalState
from mqgateway.engine.controller.state import ControllerState
from mqgateway.engine.disk import Disk, File, make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.gateway.access.server_access import ServerAccess
from mqgateway.gateway.access.server_needs import OF_CONTROLLER
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.codec.bodies import SyncStateSet
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import NotifyBrokerRoleChangedRequestHeader
from mqgateway.gateway.controller.context import ControllerContext
from mqgateway.gateway.controller.peers import own_peer, peers_of
from mqgateway.gateway.controller.requests import REQUESTS, UNSUPPORTED, refusal
from mqgateway.gateway.controller.shared_place import open_place, state_in
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.dispatch import Dispatcher, Hook
from mqgateway.gateway.remoting.limits import body_limits
from mqgateway.gateway.remoting.service import RemotingService
from mqgateway.gateway.runtime.service import Runtime

log = logging.getLogger(__name__)

STATE_TICK_SECONDS = 1.0
"""Interval of the state's ticks, in seconds."""
STOPPED = 0.5
"""Delay of a timer, in seconds, above which this process counts as having been suspended or starved."""
SAVE_INTERVAL = 10.0
"""Interval of retries of failed writes of user tables, in seconds."""
LEAST_WAIT, MOST_WAIT = 0.05, 1.0
"""Bounds of the interval of checks for silent brokers, in seconds.

Between two checks, a broker that expires sooner may register.
"""


class ControllerService(RemotingService):
    """Controller on the port from its peer list. Before `start` it only locks and reads its file.

    `settings` are all options of the process as properties (requests 1009 and 1010). `hooks` observe every
    request. `users` are those of another server of this process; without them, a controller with
    authentication keeps its own in `controllerStorePath`. Raises `ConfigError` if the settings or the files
    are unusable, or another process uses the files.
    """

    def __init__(
        self,
        settings: OptionSet,
        runtime: Runtime,
        *,
        hooks: Sequence[Hook] = (),
        users: AccessTables | None = None,
    ) -> None:
        super().__init__(runtime, settings.part(RemotingOptions), settings.part(TlsOptions))
        self._options = options = settings.part(ControllerOptions)
        self.peer = own_peer(options)
        self.folder = "" if options.controller_etcd_endpoints else options.controller_store_path
        """Folder of the file of broker sets; empty if they are in etcd."""
        with self._closed_on_failure():
            self._state = self._open_state()
            self._access = ServerAccess(
                options,
                OF_CONTROLLER,
                disk=runtime.disk,
                folder=options.controller_store_path,
                clock=runtime.clock,
                worker=self._worker,
                pause=self._schedule.pause,
                shared=users,
            )
            self._on_close(self._access.close)
        self._client = self._make_client(self._access.sign)
        self.controller = Controller(options, self._state, runtime.clock, self._send_notice)
        context = ControllerContext(
            self.controller,
            Configuration(settings, runtime.disk, runtime.clock, options.config_store_path, CONTROLLER_RULES),
            options.controller_d_leger_group,
            peers_of(options.controller_d_leger_peers),
            self._access.administration,
        )
        table = self._access.requests(REQUESTS, refusal)
        self.dispatcher = Dispatcher(
            context,
            table,
            UNSUPPORTED,
            clock=runtime.clock,
            hooks=[*hooks, *self._access.hooks],
            limits=body_limits(table, self._remoting, {}),
            refusal=refusal,
        )
        self._server = self._make_server(self.dispatcher)
        self._on_stop(self.controller.stop)

    def _open_state(self) -> ControllerState:
        """Return the broker sets of the locked file, or those in etcd, to which it connects later."""
        options, runtime = self._options, self._runtime
        if options.controller_etcd_endpoints:
            place = open_place(options, runtime.reactor, runtime.disk)
            self._on_close(place.close)
            shared = state_in(place, options, self.peer, runtime.clock)
            self._on_close(lambda: _closed(shared))
            return shared
        self._on_close(_lock(runtime.disk, options.controller_store_path).close)
        path = os.path.join(options.controller_store_path, FILE_NAME)
        local = LocalState(self.peer.leader, runtime.disk, path, runtime.clock, self._worker)
        self._on_close(lambda: _closed(local))
        return local

    @property
    def entries(self) -> int:
        """Number of broker sets."""
        return len(self.controller.state.sets)

    def _begin(self) -> None:
        """Listen and start the timers."""
        self._server.listen(self._remoting.bind_address, self.peer.port)
        self.controller.start()
        between = self._options.scan_inactive_master_interval / 1000
        self._schedule.every(between, between, self.controller.elect_where_needed)
        self._schedule.every(STATE_TICK_SECONDS, STATE_TICK_SECONDS, self._state.tick)
        self._schedule.every(SAVE_INTERVAL, SAVE_INTERVAL, self._access.retry)
        self._wait_for_silence()
        log.info("the controller %s listens on port %d", self.peer.peer_id, self.peer.port)

    def _wait_for_silence(self) -> None:
        """Schedule the next check: when a broker may expire, or after the maximum interval."""
        longest = min(self._options.scan_not_active_broker_interval / 1000, MOST_WAIT)
        ends_in = self.controller.silence_ends_in()
        # A broker expires once its time is over: a millisecond after its end.
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

    def _send_notice(self, notice: MasterChangeNotice) -> None:
        after = notice.after
        log.info("%s: the master is now %s, epoch %d", after.name, after.master, after.master_epoch)
        for receiver in notice.receivers:
            self._client.send_oneway(receiver, notice_command(notice))


def notice_command(notice: MasterChangeNotice) -> RemotingCommand:
    """Return request 1008 of a notice. RocketMQ: `ControllerManager.doNotifyBrokerRoleChanged`."""
    after = notice.after
    header = NotifyBrokerRoleChangedRequestHeader(
        master_address=after.master_address,
        master_epoch=after.master_epoch,
        sync_state_set_epoch=after.sync_state_set_epoch,
        master_broker_id=after.master,
    )
    body = SyncStateSet(set(after.sync_state_set), after.sync_state_set_epoch).encode()
    return RemotingCommand.request(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, header, body)


def _closed(state: ControllerState) -> Deferred[None]:
    """Close a state; the Deferred fires when that is done."""
    closed: Deferred[None] = Deferred()
    state.close(lambda: closed.callback(None))
    return closed


def _lock(disk: Disk, folder: str) -> File:
    """Lock the folder against other controllers. Raises `ConfigError`."""
    try:
        make_directories(disk, folder)
        return disk.lock(os.path.join(folder, "lock"))
    except BlockingIOError:
        raise ConfigError(f"controllerStorePath: another controller uses {folder}") from None
    except OSError as error:
        raise ConfigError(f"controllerStorePath: {folder} cannot be used: {error}") from None

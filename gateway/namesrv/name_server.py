"""Context of the name server's request functions: its parts, without sockets.

`NameServerService` in `service.py` builds it and drives its timers; tests build it on an in-memory disk.
Request functions get it as their first argument.
"""

from __future__ import annotations

import logging
import os.path
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.configuration import NAMESRV_RULES, Configuration
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import NamesrvOptions, OptionSet, Setting
from mqgateway.engine.steps import Steps
from mqgateway.engine.worker import Worker
from mqgateway.gateway.namesrv.kv import KvConfig
from mqgateway.gateway.namesrv.registration import Leaving, MinBrokerIdNotice
from mqgateway.gateway.namesrv.routes import RouteTables

if TYPE_CHECKING:
    from mqgateway.gateway.access.administration import AccessAdministration

log = logging.getLogger(__name__)

STEPS_A_TURN = 16
"""Steps of removing brokers that are run before other work gets a turn."""


class NameServer:
    """Parts of one name server.

    `settings` are all of the process's options as properties. `send_notices` notifies brokers of a changed
    minimum id of their group. `soon` calls a function after the current turn of the event loop.
    """

    def __init__(
        self,
        options: NamesrvOptions,
        *,
        settings: OptionSet,
        clock: Clock,
        disk: Disk,
        send_notices: Callable[[list[MinBrokerIdNotice]], None],
        soon: Callable[[Callable[[], None]], None],
        worker: Worker | None = None,
        access: AccessAdministration | None = None,
    ) -> None:
        self.options = options
        self.configuration = Configuration(
            settings,
            disk,
            clock,
            options.config_store_path or _in_home("namesrv.properties"),
            NAMESRV_RULES,
        )
        self.clock = clock
        self.disk = disk
        self.tables = RouteTables(options)
        self.kv = KvConfig(options, disk, _kv_path(options), clock, worker)
        self.access = access
        """Users and policies; None without access control."""
        self.send_notices = send_notices
        self._soon = soon
        self._leaving: list[Leaving] = []
        self._started = clock.monotonic()

    def now(self) -> int:
        """Return the monotonic time in ms that measures liveness; the wall clock may be set."""
        return elapsed_millis(self.clock)

    def is_ready(self) -> bool:
        """Return True if routes are served: with `needWaitForService`, only after `waitSecondsForService`."""
        options = self.options
        if not options.need_wait_for_service:
            return True
        return self.clock.monotonic() - self._started >= options.wait_seconds_for_service

    def update_settings(self, found: Sequence[Setting]) -> str:
        """See `Configuration.update`."""
        self.tables.encoded.clear()  # some settings affect routes
        return self.configuration.update(found)

    def leave_soon(self, leaving: Leaving) -> bool:
        """Queue the removal of a broker, so that simultaneous removals take one pass over the topics.

        Returns False if as many are queued as brokers may be registered. RocketMQ:
        `BatchUnregistrationService`.
        """
        if len(self._leaving) >= self.options.max_brokers:
            log.warning(
                "broker %s is not removed yet: %d others are removed first", leaving.name, len(self._leaving)
            )
            return False
        self._leaving.append(leaving)
        if len(self._leaving) == 1:
            self._soon(self._drop_leaving)
        return True

    def _drop_leaving(self) -> None:
        leaving, self._leaving = self._leaving, []
        self._continue(self.tables.leave_in_steps(leaving))

    def _continue(self, steps: Steps[list[MinBrokerIdNotice]]) -> None:
        """Run a part of the removal, then yield to the event loop, because there may be very many topics."""
        try:
            for _ in range(STEPS_A_TURN):
                next(steps)
        except StopIteration as end:
            self.send_notices(end.value)
        else:
            self._soon(lambda: self._continue(steps))

    def connection_lost(self, peer: object) -> None:
        """Remove the brokers registered on this connection. RocketMQ: `BrokerHousekeepingService`."""
        for leaving in self.tables.on_connection(peer):
            self.leave_soon(leaving)

    def drop_expired(self) -> list[object]:
        """Remove the brokers whose heartbeat has expired; return their connections, to be closed.

        RocketMQ: `RouteInfoManager.scanNotActiveBroker`.
        """
        peers = []
        for leaving in self.tables.expired(self.now()):
            log.warning("broker %s at %s sent no heartbeat in time", leaving.name, leaving.key.address)
            self.leave_soon(leaving)
            peers.append(leaving.peer)
        return peers


def tables_folder(options: NamesrvOptions) -> str:
    """Return the folder of a name server's tables."""
    return os.path.dirname(_kv_path(options))


def _kv_path(options: NamesrvOptions) -> str:
    return options.kv_config_path or _in_home("kvConfig.json")


def _in_home(name: str) -> str:
    """Return RocketMQ's default path of a name server's file."""
    return os.path.join(os.path.expanduser("~"), "namesrv", name)

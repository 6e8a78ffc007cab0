"""The container as request functions use it: adds, removes, starts and stops its brokers.

`ContainerService` in `service` calls its periodic work. Each broker's process receives its settings and
reports back. `fleet` runs the processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, fail, gatherResults

from mqgateway.engine.clock import Clock
from mqgateway.engine.configuration import CONTAINER_RULES, Configuration
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options import OptionSet, Setting, format_value
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.container.children import NAME_SERVERS, Launch, Message
from mqgateway.gateway.container.fleet import Fleet
from mqgateway.gateway.container.plan import CONNECTION, BrokerIdentity, BrokerPlan, BrokerRejected, plan_of
from mqgateway.gateway.container.supervision import Supervision

LOGGING = "logging"
"""Key of the first message: form, level and folder of the child's log."""


class NotStarted(EngineError):
    """A broker of the container's configuration could not be started."""


class Container:
    """All brokers of one container.

    `settings` are the container's options as properties. `default_name` is the name of brokers without one.
    `logs` is sent to each child unchanged. `when_due_changes` is called when `Supervision.wait` may have
    changed.
    """

    def __init__(
        self,
        options: ContainerOptions,
        settings: OptionSet,
        *,
        clock: Clock,
        disk: Disk,
        launch: Launch,
        default_name: str,
        configuration_path: str = "",
        logs: Message | None = None,
        when_due_changes: Callable[[], None],
        access: AccessAdministration | None = None,
    ) -> None:
        self.options = options
        self.access = access
        """Users and policies; None without authentication."""
        self.configuration = Configuration(settings, disk, clock, configuration_path, CONTAINER_RULES)
        self._settings = settings
        self._disk = disk
        self._default_name = default_name
        self._logs = dict(logs or {})
        self._fleet = Fleet(
            options, clock=clock, launch=launch, first=self._first, when_due_changes=when_due_changes
        )

    @property
    def supervision(self) -> Supervision:
        """The state of all brokers."""
        return self._fleet.supervision

    def add(self, path: str | None) -> Deferred[BrokerPlan]:
        """Start the broker of a file. The Deferred fires when it serves clients, or fails with
        `BrokerRejected`."""
        try:
            plan = plan_of(path, self._disk, self._default_name)
        except BrokerRejected as refusal:
            return fail(refusal)
        return self._fleet.add(plan)

    def add_all(self, paths: Sequence[str]) -> Deferred[Any]:
        """Start the brokers of these files. The Deferred fails with `NotStarted` if one cannot be started."""
        added = [self.add(path).addErrback(_not_started, path) for path in paths]
        return gatherResults(added, consumeErrors=True)

    def remove(self, identity: BrokerIdentity) -> Deferred[bool]:
        """Stop a broker. The Deferred fires when its process has ended: False if there is no such broker."""
        return self._fleet.remove(identity)

    def stop(self) -> Deferred[Any]:
        """Stop all brokers concurrently. The Deferred fires when no process is left."""
        return self._fleet.stop()

    def tick(self) -> None:
        """Start or kill the brokers that are due."""
        self._fleet.tick()

    def settings_changed(self, names: Sequence[str]) -> None:
        """Notify the brokers of changed settings that they share: the name servers."""
        if NAME_SERVERS in names:
            self._fleet.send({NAME_SERVERS: str(self._settings.get(NAME_SERVERS))})

    def _first(self, plan: BrokerPlan) -> Message:
        """Return the first message to a broker's process: its settings, name and logging."""
        settings = [
            Setting(name, format_value(self._settings.get(name)))
            for name in self._settings.names()
            if name in CONNECTION and self._settings.origin(name) != "default"
        ]
        if self.options.namesrv_addr:
            settings.append(Setting(NAME_SERVERS, self.options.namesrv_addr))
        settings += [
            Setting("haListenPort", str(plan.port + 1 if plan.port else 0)),
            Setting("brokerId", str(plan.identity.broker_id)),
            Setting("isInBrokerContainer", "true"),
        ]
        return {
            "settings": [[setting.key, setting.value] for setting in settings],
            "name": plan.identity.canonical_name,
            LOGGING: self._logs,
        }


def _not_started(failure: Any, path: str) -> Any:
    failure.trap(BrokerRejected)
    raise NotStarted(f"the broker of {path} cannot be started: {failure.value}")

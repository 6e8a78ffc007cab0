"""The container as request functions use it: adds, removes, starts and stops its brokers.

`ContainerService` in `service` calls its periodic work. Each broker's process receives its settings and
reports back. `supervision` decides what follows from its end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, DeferredList, fail, gatherResults, succeed

from mqgateway.engine.clock import Clock
from mqgateway.engine.configuration import CONTAINER_RULES, Configuration
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options import OptionSet, Setting, format_value
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.container.children import Child, Launch, Message
from mqgateway.gateway.container.plan import CONNECTION, BrokerIdentity, BrokerPlan, BrokerRejected, plan_of
from mqgateway.gateway.container.supervision import Charge, ChildAction, ChildState, End, Supervision

log = logging.getLogger(__name__)

NAME_SERVERS = "namesrvAddr"
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
        self.supervision = Supervision(options, clock)
        self._settings = settings
        self._disk = disk
        self._launch = launch
        self._default_name = default_name
        self._logs = dict(logs or {})
        self._when_due_changes = when_due_changes
        self._children: dict[BrokerIdentity, Child] = {}
        self._adding: dict[BrokerIdentity, Deferred[BrokerPlan]] = {}
        self._failures: dict[BrokerIdentity, str] = {}
        self._removing: dict[BrokerIdentity, list[Deferred[None]]] = {}

    def add(self, path: str | None) -> Deferred[BrokerPlan]:
        """Start the broker of a file. The Deferred fires when it serves clients, or fails with
        `BrokerRejected`."""
        try:
            charge = self.supervision.add(plan_of(path, self._disk, self._default_name))
        except BrokerRejected as refusal:
            return fail(refusal)
        added: Deferred[BrokerPlan] = Deferred()
        self._adding[charge.plan.identity] = added
        self._start(charge)
        return added

    def add_all(self, paths: Sequence[str]) -> Deferred[Any]:
        """Start the brokers of these files. The Deferred fails with `NotStarted` if one cannot be started."""
        added = [self.add(path).addErrback(_not_started, path) for path in paths]
        return gatherResults(added, consumeErrors=True)

    def remove(self, identity: BrokerIdentity) -> Deferred[bool]:
        """Stop a broker. The Deferred fires when its process has ended: False if there is no such broker."""
        charge = self.supervision.get(identity)
        if charge is None:
            return succeed(False)
        if not self._let_go(charge):
            return succeed(True)
        removed: Deferred[None] = Deferred()
        self._removing.setdefault(identity, []).append(removed)
        return removed.addCallback(lambda _: True)

    def stop(self) -> Deferred[Any]:
        """Stop all brokers concurrently. The Deferred fires when no process is left."""
        self.supervision.stop()
        return DeferredList([self.remove(charge.plan.identity) for charge in self.supervision])

    def tick(self) -> None:
        """Start or kill the brokers that are due."""
        for charge, act in self.supervision.due():
            if act is ChildAction.START:
                self._start(charge)
            elif (child := self._children.get(charge.plan.identity)) is not None:
                log.error("%s does not stop and is killed", charge.plan.identity.canonical_name)
                child.kill()
        self._when_due_changes()

    def settings_changed(self, names: Sequence[str]) -> None:
        """Notify the brokers of changed settings that they share: the name servers."""
        if NAME_SERVERS in names:
            for child in self._children.values():
                child.send({NAME_SERVERS: str(self._settings.get(NAME_SERVERS))})

    def _let_go(self, charge: Charge) -> bool:
        was_stopping = charge.state is ChildState.STOPPING
        has_process = self.supervision.remove(charge)
        if has_process and not was_stopping:
            self._children[charge.plan.identity].stop()
        self._when_due_changes()
        return has_process

    def _start(self, charge: Charge) -> None:
        identity, plan = charge.plan.identity, charge.plan
        try:
            child = self._launch(
                plan.path, self._first(plan), partial(self._reported, charge), partial(self._ended, charge)
            )
        except OSError as error:
            self._ended(charge, f"no process: {error}")
            return
        self._children[identity] = child
        self.supervision.launched(charge, child.pid)
        log.info("%s is started from %s as process %d", identity.canonical_name, plan.path, child.pid)

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

    def _reported(self, charge: Charge, message: Message) -> None:
        identity = charge.plan.identity
        if "failed" in message:
            self._failures[identity] = str(message["failed"])
        elif "up" in message:
            self.supervision.up(charge, str(message["up"]))
            log.info("%s is up at %s", identity.canonical_name, charge.address)
            added = self._adding.pop(identity, None)
            if added is not None:
                added.callback(charge.plan)

    def _ended(self, charge: Charge, cause: str) -> None:
        identity, name = charge.plan.identity, charge.plan.identity.canonical_name
        self._children.pop(identity, None)
        reason = self._failures.pop(identity, None)
        cause = f"{cause}, {reason}" if reason else cause
        end = self.supervision.ended(charge, cause)
        if end is End.CRASHED:
            log.error("%s ended by itself: %s; it is started again in %g s", name, cause, charge.delay)
        elif end is End.FAILED:
            log.error("%s cannot be started: %s", name, cause)
        else:
            log.info("%s has stopped: %s", name, cause)
        added = self._adding.pop(identity, None)
        if added is not None:
            why = "it was removed meanwhile" if end is End.WANTED else reason or cause
            added.errback(BrokerRejected(f"start broker failed, {why}"))
        for removed in self._removing.pop(identity, []):
            removed.callback(None)
        self._when_due_changes()


def _not_started(failure: Any, path: str) -> Any:
    failure.trap(BrokerRejected)
    raise NotStarted(f"the broker of {path} cannot be started: {failure.value}")

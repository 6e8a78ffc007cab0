"""Supervised processes of brokers: started, started again, stopped, and restarted one after the other.

`supervision` decides what follows from the end of a process; this carries it out. The owner calls `tick` when
`Supervision.wait` is over. It decides which brokers there are, and their first message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, DeferredList, fail, succeed

from mqgateway.engine.clock import Clock
from mqgateway.engine.options.container import SupervisionOptions
from mqgateway.gateway.container.children import Child, Launch, Message, cause_of
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected
from mqgateway.gateway.container.supervision import Charge, ChildAction, ChildState, End, Supervision

log = logging.getLogger(__name__)

FirstMessage = Callable[[BrokerPlan], Message]
"""Function that returns the first message to a broker's process: its settings."""

CLEAN_END = cause_of(0)

Pause = Callable[[float], Deferred[None]]
"""Function whose Deferred fires after some seconds."""


class Fleet:
    """The processes of brokers under one parent.

    `when_due_changes` is called when `Supervision.wait` may have changed. `on_message` is called with the
    messages of brokers that are not about their start.
    """

    def __init__(
        self,
        options: SupervisionOptions,
        *,
        clock: Clock,
        launch: Launch,
        first: FirstMessage,
        when_due_changes: Callable[[], None],
        on_message: Callable[[BrokerPlan, Message], None] = lambda plan, message: None,
    ) -> None:
        self.supervision = Supervision(options, clock)
        self._launch = launch
        self._first = first
        self._when_due_changes = when_due_changes
        self._on_message = on_message
        self._children: dict[BrokerIdentity, Child] = {}
        self._adding: dict[BrokerIdentity, Deferred[BrokerPlan]] = {}
        self._failures: dict[BrokerIdentity, str] = {}
        self._removing: dict[BrokerIdentity, list[Deferred[None]]] = {}
        self._restarting: dict[BrokerIdentity, Deferred[None]] = {}
        self.unclean: dict[str, str] = {}
        """Removed brokers whose processes did not end cleanly, by name, with the reason."""

    def add(self, plan: BrokerPlan) -> Deferred[BrokerPlan]:
        """Start a broker. The Deferred fires when it serves clients, or fails with `BrokerRejected`."""
        try:
            charge = self.supervision.add(plan)
        except BrokerRejected as refusal:
            return fail(refusal)
        added: Deferred[BrokerPlan] = Deferred()
        self._adding[plan.identity] = added
        self._start(charge)
        return added

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

    def restart(self, identity: BrokerIdentity) -> Deferred[None]:
        """Stop a broker and start it again. The Deferred fires when it serves clients.

        It fails with `BrokerRejected` if the broker is not up, ends again before it is, or is removed.
        """
        charge = self.supervision.get(identity)
        if charge is None or not self.supervision.restart(charge):
            return fail(BrokerRejected(f"{identity.canonical_name} is not up"))
        restarted = self._restarting[identity] = Deferred()
        self._children[identity].stop()
        self._when_due_changes()
        return restarted

    async def restart_each(self, seconds: float, pause: Pause) -> None:
        """Restart all brokers one after the other; the next one once all have been up for `seconds`.

        `pause` waits. Raises `BrokerRejected` if a broker is not up; the brokers after it are not restarted
        then.
        """
        for charge in self.supervision:
            while wait := self.supervision.until_settled(seconds):
                await pause(wait)
            await self.restart(charge.plan.identity)

    def stop(self) -> Deferred[Any]:
        """Stop all brokers concurrently. The Deferred fires when no process is left."""
        self.supervision.stop()
        return DeferredList([self.remove(charge.plan.identity) for charge in self.supervision])

    def hurry(self, seconds: float) -> None:
        """Request a stop of all brokers again, which ends their drain; they are killed after `seconds`."""
        self.supervision.hurry(seconds)
        for child in self._children.values():
            child.stop()
        self._when_due_changes()

    def tick(self) -> None:
        """Start or kill the brokers that are due."""
        for charge, act in self.supervision.due():
            if act is ChildAction.START:
                self._start(charge)
            elif (child := self._children.get(charge.plan.identity)) is not None:
                self._kill(charge, child)
        self._when_due_changes()

    def _kill(self, charge: Charge, child: Child) -> None:
        identity = charge.plan.identity
        if charge.state is ChildState.STARTING:
            at = f" ({charge.progress})" if charge.progress else ""
            seconds = self.supervision.start_seconds
            self._failures[identity] = reason = f"its start made no progress for {seconds:g} s{at}"
            log.error(
                "%s is killed: %s; see its own lines in the log, and %s",
                *(identity.canonical_name, reason, charge.plan.path),
            )
        else:
            log.error("%s does not stop and is killed", identity.canonical_name)
        child.kill()

    def send(self, message: Message) -> None:
        """Send a message to all brokers that have a process."""
        for child in self._children.values():
            child.send(message)

    def send_to(self, identity: BrokerIdentity, message: Message) -> None:
        """Send a message to one broker, if it has a process."""
        if (child := self._children.get(identity)) is not None:
            child.send(message)

    def _let_go(self, charge: Charge) -> bool:
        was_stopping = charge.state in (ChildState.STOPPING, ChildState.RESTARTING)
        has_process = self.supervision.remove(charge)
        if has_process and not was_stopping:
            self._children[charge.plan.identity].stop()
        if not has_process:
            self._end_restart(charge, "it was removed")
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
        self._when_due_changes()
        log.info("%s is started from %s as process %d", identity.canonical_name, plan.path, child.pid)

    def _reported(self, charge: Charge, message: Message) -> None:
        identity = charge.plan.identity
        if "failed" in message:
            self._failures[identity] = str(message["failed"])
        elif "progress" in message:
            self.supervision.progressed(charge, str(message["progress"]))
            self._when_due_changes()
        elif "up" in message:
            self._up(charge, str(message["up"]))
        else:
            self._on_message(charge.plan, message)

    def _up(self, charge: Charge, address: str) -> None:
        identity = charge.plan.identity
        self.supervision.up(charge, address)
        self._when_due_changes()
        log.info("%s is up at %s", identity.canonical_name, charge.address)
        added, restarted = self._adding.pop(identity, None), self._restarting.pop(identity, None)
        if added is not None:
            added.callback(charge.plan)
        if restarted is not None:
            restarted.callback(None)

    def _ended(self, charge: Charge, cause: str) -> None:
        identity, name = charge.plan.identity, charge.plan.identity.canonical_name
        self._children.pop(identity, None)
        reason = self._failures.pop(identity, None)
        cause = f"{cause}, {reason}" if reason else cause
        end = self.supervision.ended(charge, cause)
        if end is End.WANTED and cause != CLEAN_END:
            self.unclean[identity.name] = cause
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
        if end is not End.RESTARTED:
            self._end_restart(charge, cause)
        self._when_due_changes()

    def _end_restart(self, charge: Charge, cause: str) -> None:
        restarted = self._restarting.pop(charge.plan.identity, None)
        if restarted is not None:
            name = charge.plan.identity.canonical_name
            restarted.errback(BrokerRejected(f"{name} is not up after its restart: {cause}"))

"""Removal of the last broker of `mqgateway serve --brokers` while the others serve.

The broker's process redirects producers and reports what consumers have not read (`broker.removal`). Once
nothing is left, or if the caller accepts to leave it, the process is stopped and its folder marked as that of
a removed broker (`numbering`). The caller is request 903 at the parent's name server: each request is
answered with the state, and the first one begins. The answer is described in `client.broker_removal`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import EngineError
from mqgateway.gateway.cli.numbering import NumberedBroker, mark_removed
from mqgateway.gateway.client.broker_removal import ACTION, RemovalAction, RemovalState, removal_text
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import RemoveBrokerRequestHeader
from mqgateway.gateway.container.children import REMOVING, Message
from mqgateway.gateway.container.fleet import Fleet
from mqgateway.gateway.container.plan import BrokerIdentity
from mqgateway.gateway.container.supervision import ChildState
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

log = logging.getLogger(__name__)


class RemovalRefused(EngineError):
    """The broker cannot be removed now."""


class Removal:
    """The removal of one of `brokers`, by name, which loses it in the end; one at a time.

    `busy` returns why none can be removed now.
    """

    def __init__(
        self,
        fleet: Fleet,
        brokers: dict[str, NumberedBroker],
        disk: Disk,
        clock: Clock,
        busy: Callable[[], str],
    ) -> None:
        self._fleet = fleet
        self._busy = busy
        self._brokers = brokers
        self._disk = disk
        self._clock = clock
        self._broker: NumberedBroker | None = None
        self._cluster = ""
        self._state = RemovalState.CANCELLED
        self._is_forced = False
        self._report: Message | None = None

    @property
    def others(self) -> list[str]:
        """Names of the brokers that stay, for the process of the one that is removed."""
        removed = self._broker
        return [] if removed is None else [name for name in self._brokers if name != removed.name]

    def is_of(self, name: str) -> bool:
        """Return True if that broker drains to be removed."""
        return self._broker is not None and (self._broker.name, self._state) == (name, RemovalState.DRAINING)

    @property
    def running(self) -> str:
        """Why nothing else can be changed now, "" if nothing is being removed."""
        is_running = self._state in (RemovalState.DRAINING, RemovalState.STOPPING)
        return f"{self._broker.name} is being removed" if self._broker is not None and is_running else ""

    def request(self, identity: BrokerIdentity, action: RemovalAction) -> dict[str, Any]:
        """Begin, hasten or cancel the removal of a broker. Return its state. Raises `RemovalRefused`."""
        if self._broker is not None and self._broker.name == identity.name:
            if action is RemovalAction.CANCEL and self._state is RemovalState.DRAINING:
                self._cancel(RemovalState.CANCELLED)
                return self._answer()
            is_gone = self._state is RemovalState.REMOVED and identity.name not in self._brokers
            if self.running or is_gone:
                self._is_forced = self._is_forced or action is RemovalAction.FORCE
                return self._answer()
            if self._state is RemovalState.REFUSED and action is not RemovalAction.CANCEL:
                # A refusal is returned once: the next request begins again.
                answer, self._broker = self._answer(), None
                return answer
        if action is RemovalAction.CANCEL:
            raise RemovalRefused(f"{identity.name} is not being removed")
        broker = self._checked(identity)
        self._broker, self._state, self._report = broker, RemovalState.DRAINING, None
        self._cluster, self._is_forced = identity.cluster, action is RemovalAction.FORCE
        log.info(
            "%s is to be removed: it takes no messages any more, and consumers read what it has", broker.name
        )
        self._send()
        return self._answer()

    def reported(self, name: str, report: Message) -> None:
        """Take a report of a broker that drains to be removed."""
        if not self.is_of(name):
            return
        self._report = report
        if report["obstacles"]:
            log.error("%s is not removed: %s", name, "; ".join(report["obstacles"]))
            self._cancel(RemovalState.REFUSED)
        elif report["isDone"] or self._is_forced:
            self._stop()

    def _checked(self, identity: BrokerIdentity) -> NumberedBroker:
        name, last = identity.name, list(self._brokers.values())[-1]
        charge = self._fleet.supervision.get(identity)
        if charge is None:
            there = ", ".join(one.plan.identity.canonical_name for one in self._fleet.supervision)
            raise RemovalRefused(f"there is no broker {identity.canonical_name} here; there are {there}")
        if len(self._brokers) == 1:
            raise RemovalRefused(f"{name} is the only broker; stop the command instead")
        if name != last.name:
            raise RemovalRefused(
                f"{name} cannot be removed before {last.name}: numbers give ports and folders, so only the "
                "last broker can be removed"
            )
        if self.running:
            raise RemovalRefused(f"{self.running}; wait until it is, or cancel that")
        if why := self._busy():
            raise RemovalRefused(f"{why}; repeat the request afterwards")
        if charge.state is not ChildState.UP or self._fleet.supervision.is_stopping:
            raise RemovalRefused(f"{name} is {charge.state}; repeat the request when it is up")
        return last

    def _send(self) -> None:
        assert self._broker is not None
        is_on = self._state is RemovalState.DRAINING
        self._fleet.send_to(self._identity, {REMOVING: self.others if is_on else []})

    @property
    def _identity(self) -> BrokerIdentity:
        assert self._broker is not None
        return BrokerIdentity(self._cluster, self._broker.name, 0)

    def _cancel(self, state: RemovalState) -> None:
        self._state = state
        self._send()

    def _stop(self) -> None:
        assert self._broker is not None
        self._state = RemovalState.STOPPING
        self._fleet.remove(self._identity).addCallback(lambda _: self._ended())

    def _ended(self) -> None:
        broker, report = self._broker, self._report
        assert broker is not None and report is not None
        if self._fleet.supervision.is_stopping:
            return  # the whole command ends, and its next start serves the broker again
        self._state = RemovalState.REMOVED
        if cause := self._fleet.unclean.pop(broker.name, ""):
            log.error("%s did not stop cleanly: %s", broker.name, cause)
        del self._brokers[broker.name]
        try:
            mark_removed(broker.folder, self._disk, self._clock.millis(), int(report["messages"]))
        except OSError as error:
            log.error("%s cannot be marked as removed (%s); move it away", broker.folder, error)
        log.info(
            "%s was removed with %d messages left; its store is kept in %s. The next start with the same "
            "--brokers does not start it",
            *(broker.name, report["messages"], broker.folder),
        )

    def _answer(self) -> dict[str, Any]:
        broker, report = self._broker, self._report
        assert broker is not None
        answer = {"state": self._state.value, "cluster": self._cluster, "broker": broker.name}
        answer["folder"] = broker.folder
        return answer if report is None else {**answer, "report": dict(report)}


def remove_broker(removal: Removal, call: Call) -> Reply:
    """903: remove the last broker. With an action the answer has the state, without one it is RocketMQ's.

    RocketMQ's request succeeds once the broker is removed; before that it fails with the state in words.
    """
    header = call.header
    assert isinstance(header, RemoveBrokerRequestHeader)
    identity = BrokerIdentity(header.broker_cluster_name, header.broker_name, header.broker_id)
    text = call.command.ext_fields.get(ACTION)
    try:
        action = RemovalAction(text) if text is not None else RemovalAction.DRAIN
    except ValueError:
        actions = ", ".join(RemovalAction)
        why = f"{ACTION}={text} is not one of {actions}"
        raise RequestError(ResponseCode.INVALID_PARAMETER, why) from None
    try:
        answer = removal.request(identity, action)
    except RemovalRefused as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
    if text is None and answer["state"] != RemovalState.REMOVED:
        raise RequestError(ResponseCode.SYSTEM_BUSY, f"{removal_text(answer)}; repeat the request")
    return Reply(body=json.dumps(answer).encode())

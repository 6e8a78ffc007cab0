"""Addition of a broker to `mqgateway serve --brokers` while the others serve.

The broker gets the next number, from which its ports and its folder follow. One of the brokers that are up
writes topics, groups, users and policies into the folder, so clients use the broker's queues as soon as it is
registered. Then its process is started. The caller is request 902 at the parent's name server: each request
is answered with the state, and the first one begins. The answer is described in `client.broker_addition`.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import EngineError
from mqgateway.engine.worker import Worker
from mqgateway.gateway.cli.numbering import (
    BROKERS_MAX,
    LOG_FOLDER,
    NumberedBroker,
    left_in,
    mark_removed,
    serve_again,
)
from mqgateway.gateway.client.broker_addition import AdditionAction, AdditionState
from mqgateway.gateway.client.broker_removal import ACTION
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import AddBrokerRequestHeader
from mqgateway.gateway.container import requests
from mqgateway.gateway.container.children import COPYING, GRPC_PORTS, Message
from mqgateway.gateway.container.fleet import Fleet
from mqgateway.gateway.container.plan import BrokerPlan, BrokerRejected
from mqgateway.gateway.container.supervision import Charge, ChildState
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
"""Interval at which the process that copies tables is checked."""


@dataclass(frozen=True)
class Host:
    """Functions of the parent that an addition needs.

    `renumber` returns the brokers of a number, `check` raises `EngineError` or `OSError` if the last of them
    cannot start, which it decides on another thread. `busy` returns why nothing can be added now. `first`
    returns the first message to a broker.
    """

    renumber: Callable[[int], list[NumberedBroker]]
    check: Callable[[list[NumberedBroker]], None]
    busy: Callable[[], str]
    plan: Callable[[NumberedBroker], BrokerPlan]
    first: Callable[[NumberedBroker], Message]
    pause: Callable[[float], Awaitable[None]]


class Addition:
    """The addition of a broker to `brokers`, by name, one at a time."""

    def __init__(
        self,
        fleet: Fleet,
        brokers: dict[str, NumberedBroker],
        host: Host,
        disk: Disk,
        clock: Clock,
        worker: Worker,
    ) -> None:
        self._fleet = fleet
        self._brokers = brokers
        self._host = host
        self._disk = disk
        self._clock = clock
        self._worker = worker
        self._broker: NumberedBroker | None = None
        self._state = AdditionState.UP
        self._why = ""
        self._copied: str | None = None
        self._waiting: list[Deferred[None]] = []

    @property
    def running(self) -> str:
        """Why nothing else can be changed now, "" if nothing is being added."""
        broker = self._broker
        return f"{broker.name} is being added" if broker is not None and self._is_running else ""

    @property
    def _is_running(self) -> bool:
        return self._state in (AdditionState.COPYING, AdditionState.STARTING)

    def request(self, name: str, action: AdditionAction) -> dict[str, Any]:
        """Begin the addition of the next broker, or return its state. Raises `BrokerRejected`."""
        broker = self._broker
        if broker is not None and broker.name == name and self._is_running:
            return self._answer(broker)
        if broker is not None and broker.name == name and self._state is AdditionState.FAILED:
            answer = self._answer(broker)
            self._broker = None  # the failure is returned once: the next request begins again
            return answer
        if name in self._brokers:
            return self._state_of(self._brokers[name])
        brokers = self._checked(name, action)
        self._broker, self._state, self._why = brokers[-1], AdditionState.COPYING, ""
        log.info("%s is added, with its store in %s", name, brokers[-1].folder)
        Deferred.fromCoroutine(self._add(brokers)).addBoth(self._ended)
        return self._answer(brokers[-1])

    def add(self, path: str | None) -> Deferred[BrokerPlan]:
        """Add the next broker, whose name is the path. The Deferred fires when it serves clients, or fails
        with `BrokerRejected`."""
        name = path or ""
        if name in self._brokers:
            return fail(BrokerRejected(f"{name} runs already"))
        if self._state is AdditionState.FAILED:
            self._broker = None  # this request begins again
        try:
            self.request(name, AdditionAction.START)
        except BrokerRejected as refusal:
            return fail(refusal)
        added: Deferred[None] = Deferred()
        self._waiting.append(added)
        return added.addCallback(lambda _: self._host.plan(self._brokers[name]))

    def copied(self, message: Message) -> None:
        """Take the report of the broker that copied its tables."""
        if self._broker is not None and message["name"] == self._broker.name:
            self._copied = str(message["error"])

    def _checked(self, name: str, action: AdditionAction) -> list[NumberedBroker]:
        """Return all brokers, the one to add last. Raises `BrokerRejected`."""
        if why := self.running or self._host.busy():
            raise BrokerRejected(f"{why}; repeat the request afterwards")
        count = len(self._brokers) + 1
        if count > BROKERS_MAX:
            raise BrokerRejected(f"there are {BROKERS_MAX} brokers, which is the most that one command runs")
        brokers = self._host.renumber(count)
        added = brokers[-1]
        if name != added.name:
            raise BrokerRejected(
                f"{name} cannot be added: numbers give ports and folders, so the next broker is {added.name}"
            )
        try:
            left = left_in(added.folder, self._disk)
        except OSError as error:
            raise BrokerRejected(f"{added.folder} cannot be read: {error.strerror or error}") from None
        if left != 0 and action is not AdditionAction.SERVE_LEFT:
            number = "perhaps messages" if left is None else f"{left} messages"
            raise BrokerRejected(
                f"{name} was removed with {number} left in {added.folder}. To serve them again, use "
                f"mqgateway broker add {name} --serve-left; to begin with an empty store, move that folder"
            )
        return brokers

    async def _add(self, brokers: list[NumberedBroker]) -> None:
        """Add the last of the brokers. Raises `EngineError`, `OSError` or `BrokerRejected`."""
        added = brokers[-1]
        checked: Deferred[Exception | None] = Deferred()
        self._worker.run(lambda: self._host.check(brokers), checked.callback)
        if (error := await checked) is not None:
            raise error
        await self._copy(added)
        self._state = AdditionState.STARTING
        left = left_in(added.folder, self._disk)
        serve_again([added], self._disk)
        ports = added.settings[GRPC_PORTS]
        self._brokers.update({one.name: one for one in brokers})
        try:
            await self._fleet.add(self._host.plan(added))
        except BrokerRejected:
            self._take_back(added, left)
            raise
        self._fleet.send({GRPC_PORTS: ports})

    async def _copy(self, added: NumberedBroker) -> None:
        """Have a broker that is up write the tables of the added one. Raises `BrokerRejected`."""
        source = self._source()
        pid, began = source.pid, self._clock.monotonic()
        name = source.plan.identity.name
        self._copied = None
        self._fleet.send_to(source.plan.identity, {COPYING: self._host.first(added)})
        seconds = self._fleet.supervision.start_seconds
        while self._copied is None:
            if source.state is not ChildState.UP or source.pid != pid:
                raise BrokerRejected(f"{name} ended while it copied its tables; repeat the request")
            if self._clock.monotonic() - began > seconds:
                raise BrokerRejected(f"{name} has not copied its tables in {seconds:g} s")
            await self._host.pause(LOOK_SECONDS)
        if self._copied:
            raise BrokerRejected(f"{name} cannot copy its tables: {self._copied}")

    def _source(self) -> Charge:
        for charge in self._fleet.supervision:
            if charge.state is ChildState.UP:
                return charge
        raise BrokerRejected("no broker is up that has tables to copy; repeat the request later")

    def _take_back(self, added: NumberedBroker, left: int | None) -> None:
        """Mark the folder of a broker that did not start, so that the next start of the command omits it.

        It never served: what is in it was left by a removal before.
        """
        del self._brokers[added.name]
        if self._fleet.supervision.is_stopping:
            return
        if self._disk.exists(os.path.join(added.folder, LOG_FOLDER)):
            try:
                mark_removed(added.folder, self._disk, self._clock.millis(), left)
            except OSError as error:
                log.error("%s cannot be marked as removed (%s); move it away", added.folder, error)

    def _ended(self, result: object) -> None:
        broker = self._broker
        assert broker is not None
        waiting, self._waiting = self._waiting, []
        if isinstance(result, Failure):
            self._state, self._why = AdditionState.FAILED, "; ".join(result.getErrorMessage().splitlines())
            is_expected = isinstance(result.value, (BrokerRejected, EngineError, OSError))
            details = "" if is_expected else f"\n{result.getTraceback()}"
            log.error("%s is not added: %s%s", broker.name, self._why, details)
            for one in waiting:
                one.errback(BrokerRejected(self._why))
            return
        self._state = AdditionState.UP
        log.info("%s was added; the next start with the same --brokers starts it too", broker.name)
        for one in waiting:
            one.callback(None)

    def _answer(self, broker: NumberedBroker) -> dict[str, Any]:
        answer = self._state_of(broker)
        answer["state"] = self._state.value
        return {**answer, "why": self._why} if self._why else answer

    def _state_of(self, broker: NumberedBroker) -> dict[str, Any]:
        """Return the answer for a broker by its process."""
        identity = self._host.plan(broker).identity
        charge = self._fleet.supervision.get(identity)
        is_up = charge is not None and charge.state is ChildState.UP
        state = AdditionState.UP if is_up else AdditionState.STARTING
        answer = {"state": state.value, "cluster": identity.cluster, "broker": broker.name}
        answer |= {"folder": broker.folder, "address": "" if charge is None else charge.address}
        return answer if charge is None or not charge.progress else {**answer, "progress": charge.progress}


def add_broker(addition: Addition, call: Call) -> Reply | Deferred[Reply]:
    """902: add the next broker. With an action the answer has the state at once.

    Without one it is RocketMQ's request, as a container serves it, with the broker's name as the path.
    """
    header = call.header
    assert isinstance(header, AddBrokerRequestHeader)
    text = call.command.ext_fields.get(ACTION)
    if text is None:
        return requests.add_broker(addition, call)
    try:
        action = AdditionAction(text)
    except ValueError:
        why = f"{ACTION}={text} is not one of {', '.join(AdditionAction)}"
        raise RequestError(ResponseCode.INVALID_PARAMETER, why) from None
    try:
        answer = addition.request(header.config_path or "", action)
    except BrokerRejected as refusal:
        raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
    return Reply(body=json.dumps(answer).encode())

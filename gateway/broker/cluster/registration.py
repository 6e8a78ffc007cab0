"""Registration with the name servers: in full periodically, and at once when topics change.

Each name server has a `Registrar`, which announces changes. Changes are numbered: a caller that waits until
name servers have a change waits for its number, and never for a server that is down. A new role is announced
at once. A broker that is fenced unregisters, and registers again in its next role.

RocketMQ: `BrokerController.registerBrokerAll`, `registerIncrementBrokerData`, `BrokerOuterAPI`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import NamedTuple

from twisted.internet.defer import Deferred, DeferredList, maybeDeferred, succeed

from mqgateway.engine.ha.role import ReplicationRole, RoleKind, RoleState
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.mappings import Mappings
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.gateway.broker.cluster.announcement import Announcement, Reachable
from mqgateway.gateway.broker.cluster.registrar import Registrar, RequestClient
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import RegisterBrokerResponseHeader
from mqgateway.gateway.runtime.loop import Clockwork, Timer
from mqgateway.gateway.runtime.name_servers import split_addresses

SHORTEST_PERIOD_MILLIS = 10_000
LONGEST_PERIOD_MILLIS = 60_000
GATHER_SECONDS = 0.01
"""Topic changes within this time are announced together, unless a caller waits."""


class RegistrationWait(NamedTuple):
    """Wait until name servers have a change and all before it, or until a deadline in seconds of the loop."""

    change: int
    deadline: float
    heard: Deferred[None]


class BrokerRegistration:
    """This broker's entry with all name servers of `namesrvAddr`, kept up to date from `start` to `stop`."""

    def __init__(
        self,
        options: BrokerOptions,
        topics: TopicTable,
        mappings: Mappings,
        caller: RequestClient,
        clockwork: Clockwork,
        *,
        role: ReplicationRole,
        reachable: Reachable,
    ) -> None:
        self._options = options
        self._caller = caller
        self._topics = topics
        self._clockwork = clockwork
        self._role = role
        self._registrars: dict[str, Registrar] = {}
        self._period_timer: Timer | None = None
        self._gathering: Timer | None = None
        self._is_urgent = False  # whether changes are announced in the next turn of the loop
        self._changes = 0  # the number of the last change
        self._waiting: deque[RegistrationWait] = deque()
        self._expiring: Timer | None = None
        self._is_running = False
        self._master_watchers: list[Callable[[str | None, str | None], None]] = []
        self.announcement = Announcement(options, topics, mappings, role, reachable)
        role.on_change(self._role_changed)

    def watch_master(self, callback: Callable[[str | None, str | None], None]) -> None:
        """Call back with both addresses of the group's master each time a name server returns them."""
        self._master_watchers.append(callback)

    def _role_changed(self, before: RoleState, after: RoleState) -> None:
        if not self._is_running:
            return
        if after.kind is RoleKind.FENCED:
            for registrar in self._registrars.values():
                registrar.leave()
            self._release()
        elif before.kind is RoleKind.FENCED or before.broker_id != after.broker_id:
            self.soon()

    def start(self) -> Deferred[None]:
        """Register everywhere, now and periodically; fires when all have answered or failed."""
        self._is_running = True
        self._follow_name_servers()
        registrars = () if self._role.is_fenced else self._registrars.values()
        first = [registrar.begin() for registrar in registrars]
        self._period_timer = self._clockwork.callLater(self._period(), self._tick)
        return DeferredList(first, consumeErrors=True).addCallback(lambda _: None)

    def stop(self) -> Deferred[None]:
        """Unregister from every name server that can be reached; never fails."""
        self._is_running = False
        for timer in (self._period_timer, self._gathering, self._expiring):
            if timer is not None and timer.active():
                timer.cancel()
        self._release()
        farewells = [registrar.stop() for registrar in self._registrars.values()]
        return DeferredList(farewells, consumeErrors=True).addCallback(lambda _: None)

    def soon(self, topic: str | None = None) -> None:
        """Announce a changed topic, or with None everything, together with other changes of this moment."""
        if not self._registers:
            return
        self._changes += 1
        for registrar in self._registrars.values():
            registrar.note(topic, self._changes)
        if self._gathering is None:
            self._gathering = self._clockwork.callLater(GATHER_SECONDS, self._report_change)

    def heard(self, within: float | None = None) -> Deferred[None]:
        """Return a Deferred that fires once each reachable name server has the current changes; never fails.

        With `within` it fires after so many seconds at the latest. Changes are announced in the next turn of
        the loop, and those made during a registration by the next one: many waiting callers cost few
        registrations.
        """
        if self._heard_everywhere >= self._changes:
            return succeed(None)
        if self._gathering is not None and not self._is_urgent:
            self._is_urgent = True
            self._gathering.reset(0)
        heard: Deferred[None] = Deferred()
        deadline = inf if within is None else self._clockwork.seconds() + within
        self._waiting.append(RegistrationWait(self._changes, deadline, heard))
        if within is not None and self._expiring is None:
            self._expiring = self._clockwork.callLater(within, self._expire)
        return heard

    def withdraw(self, topic: str) -> Deferred[None]:
        """Remove a topic that this broker has deleted from the reachable name servers; never fails.

        RocketMQ's tools do that themselves. Brokers of the cluster that still have the topic announce it
        again with their next registration.
        """
        if not self._registers:
            return succeed(None)
        timeout = self._options.register_broker_timeout_mills / 1000
        command = self.announcement.withdrawal
        asked = [
            maybeDeferred(self._caller.request, address, command(topic), timeout)
            for address, registrar in self._registrars.items()
            if registrar.is_there
        ]
        return DeferredList(asked, consumeErrors=True).addCallback(lambda _: None)

    @property
    def registered(self) -> dict[str, bool]:
        """Configured name servers by address: True if the server accepted the last announcement."""
        return {address: registrar.is_there for address, registrar in self._registrars.items()}

    @property
    def _registers(self) -> bool:
        return self._is_running and not self._role.is_fenced

    @property
    def _heard_everywhere(self) -> int:
        """The last change that each reachable name server has received."""
        if not self._registers:
            return self._changes
        there = (registrar.heard for registrar in self._registrars.values() if registrar.is_there)
        return min(there, default=self._changes)

    def _release(self) -> None:
        """Resolve the waits whose change all reachable name servers have."""
        heard = self._heard_everywhere
        while self._waiting and self._waiting[0].change <= heard:
            self._waiting.popleft().heard.callback(None)

    def _expire(self) -> None:
        """Resolve the waits whose deadline has passed."""
        now = self._clockwork.seconds()
        late = [one for one in self._waiting if one.deadline <= now]
        self._waiting = deque(one for one in self._waiting if one.deadline > now)
        next_deadline = min((one.deadline for one in self._waiting), default=inf)
        self._expiring = None
        if next_deadline < inf:
            self._expiring = self._clockwork.callLater(next_deadline - now, self._expire)
        for one in late:
            one.heard.callback(None)

    def _take_answer(self, answer: RemotingCommand) -> None:
        """Apply the master's addresses and the ordered topics of a name server's answer.

        RocketMQ: `handleRegisterBrokerResult`, `TopicConfigManager.updateOrderTopicConfig`.
        """
        header = RegisterBrokerResponseHeader.decode(answer.ext_fields)
        for callback in self._master_watchers:
            callback(header.master_addr, header.ha_server_addr)
        if not answer.body:
            return
        named = [self._topics.get(name) for name in KVTable.decode(answer.body).table]
        changed = [replace(config, order=True) for config in named if config is not None and not config.order]
        if changed:
            self._topics.put(*changed)

    def _tick(self) -> None:
        self._period_timer = self._clockwork.callLater(self._period(), self._tick)
        self._follow_name_servers()
        self._release()
        if self._role.is_fenced:
            return
        for registrar in self._registrars.values():
            registrar.check()

    def _period(self) -> float:
        wished = self._options.register_name_server_period
        return max(SHORTEST_PERIOD_MILLIS, min(wished, LONGEST_PERIOD_MILLIS)) / 1000

    def _report_change(self) -> None:
        self._gathering, self._is_urgent = None, False
        for registrar in () if self._role.is_fenced else self._registrars.values():
            registrar.report()

    def _follow_name_servers(self) -> None:
        """Follow `namesrvAddr`, which may be changed while the broker runs."""
        known = self._registrars
        addresses = split_addresses(self._options.namesrv_addr)
        self._registrars = {address: known.get(address) or self._registrar(address) for address in addresses}
        for address in known.keys() - self._registrars.keys():
            known[address].forget()

    def _registrar(self, address: str) -> Registrar:
        return Registrar(
            address,
            self.announcement,
            self._options,
            self._caller,
            self._clockwork,
            change=self._changes,
            on_answer=self._take_answer,
            on_end=self._release,
        )

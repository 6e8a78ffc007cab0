"""What the API's functions see: the broker, and what the console itself keeps."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mqgateway.gateway.broker.operations import Principal, Use
from mqgateway.gateway.broker.stats import (
    BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC,
    BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC,
)
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.web.rings import Rings
from mqgateway.gateway.web.route import ApiError

if TYPE_CHECKING:
    from mqgateway.engine.clock import Clock
    from mqgateway.gateway.broker.broker import Broker
    from mqgateway.gateway.broker.operations import Operations, Permit
    from mqgateway.gateway.namesrv.name_server import NameServer
    from mqgateway.gateway.remoting.server import RemotingServer
    from mqgateway.gateway.web.call import Call
    from mqgateway.gateway.web.entrance import Entrance

log = logging.getLogger("mqgateway.audit")

TURN_SECONDS = 0.003
"""How long a function of the API holds the loop in one go."""
AUDITED_MAX = 1000
RESETS_MAX = 100
SERIES = ("in", "out", "logBytes", "consumers", "producers", "held")


@dataclass(frozen=True)
class Reset:
    """Offsets that were changed, so that it can be undone. Times in ms."""

    id: int
    time: int
    user: str
    group: str
    topic: str
    before: dict[int, int]
    after: dict[int, int]


class Counts(NamedTuple):
    """Where the counts stood at a time in s: messages in and out, bytes of the log."""

    seconds: float
    put: int
    got: int
    log_bytes: int


class Console:
    """One console of a broker. `server` has the broker's connections; `name_server` is that of the same
    process, if there is one."""

    def __init__(
        self,
        broker: Broker,
        operations: Operations,
        server: RemotingServer,
        entrance: Entrance,
        schedule: Schedule,
        clock: Clock,
        name_server: NameServer | None = None,
    ) -> None:
        self.broker = broker
        self.operations = operations
        self.server = server
        self.entrance = entrance
        self.schedule = schedule
        self.clock = clock
        self.name_server = name_server
        self.rings = Rings(SERIES)
        self.audit: deque[dict[str, Any]] = deque(maxlen=AUDITED_MAX)
        self.resets: OrderedDict[int, Reset] = OrderedDict()
        self._next_reset = 1
        self._counted = self.counts()
        self.started = self.now()

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be changed."""
        return self.broker.options.console_read_only

    def now(self) -> int:
        """The wall time in ms."""
        return self.clock.millis()

    def turns(self) -> Callable[[], Awaitable[None]]:
        """What long work awaits now and then: it gives way when its turn was long enough."""
        began = self.clock.monotonic()

        async def breathe() -> None:
            nonlocal began
            if self.clock.monotonic() - began >= TURN_SECONDS:
                await self.schedule.pause(0)
                began = self.clock.monotonic()

        return breathe

    def check_writable(self) -> None:
        """Refuse a change that would not last: by a broker that is no master. Raises `ApiError`."""
        broker = self.broker
        if broker.store.gate is not None or not broker.role.is_master:
            raise ApiError(409, f"this broker is a {broker.role.state.kind.value} now: ask the master")

    def permit(self, call: Call, use: Use) -> Permit:
        """Return a permit for an authenticated caller. Raises `ApiError`, `OperationError`."""
        if use in (Use.SEND, Use.ADMINISTER):
            self.check_writable()
        return self.operations.gate.admit(Principal(call.connection, None), use)

    def note(self, call: Call, action: str, shown: dict[str, Any], refusal: str) -> None:
        """Tell the audit of a write, whether it was carried out or refused."""
        entry: dict[str, Any] = {
            "time": call.now,
            "user": call.caller.user,
            "address": call.caller.address,
            "action": action,
            **shown,
            "refusal": refusal,
        }
        if call.before is not None or call.after is not None:
            entry |= {"before": call.before, "after": call.after}
        self.audit.append(entry)
        log.info("%s", json.dumps({"event": "console", **entry}, default=str))

    def keep_reset(
        self, call: Call, group: str, topic: str, before: dict[int, int], after: dict[int, int]
    ) -> int:
        """Keep offsets that were changed; gives by what number they are undone."""
        reset = Reset(self._next_reset, call.now, call.caller.user, group, topic, before, after)
        self._next_reset += 1
        self.resets[reset.id] = reset
        if len(self.resets) > RESETS_MAX:
            self.resets.popitem(last=False)
        return reset.id

    # Figures.

    def sample(self) -> None:
        """Note a row of the charts."""
        self.rings.add(self.now() / 1000, self.figures(self._counted))
        self._counted = self.counts()

    def counts(self) -> Counts:
        """Where the counts stand."""
        cluster = self.broker.options.broker_cluster_name
        put, got = (
            self.broker.stats.item(name, cluster)
            for name in (BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC, BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC)
        )
        assert put is not None and got is not None
        return Counts(self.clock.monotonic(), put.value, got.value, self.broker.store.max_physical_offset)

    def figures(self, before: Counts) -> dict[str, float]:
        """Rates a second since the counts stood there, and numbers as they are."""
        now, broker = self.counts(), self.broker
        seconds = max(now.seconds - before.seconds, 0.001)
        pairs = zip(SERIES[:3], before[1:], now[1:], strict=True)
        rates = {name: round(max(0, new - old) / seconds, 2) for name, old, new in pairs}
        return rates | {
            "consumers": sum(len(group.clients) for group in list(broker.clients.consumer_groups.values())),
            "producers": sum(map(len, list(broker.clients.producer_groups.values()))),
            "held": len(broker.consume.held_pulls) + len(broker.pop.parked),
        }

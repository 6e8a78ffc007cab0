"""State of the console, and the operations of its broker, for the functions of the API."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mqgateway.gateway.broker.operations import Principal, Use
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.web.histories import Histories
from mqgateway.gateway.web.movements import Movements
from mqgateway.gateway.web.rings import Rings
from mqgateway.gateway.web.route import ApiError
from mqgateway.gateway.web.table_cache import TableCache

if TYPE_CHECKING:
    from mqgateway.engine.clock import Clock
    from mqgateway.gateway.broker.operations import BrokerFigures, Operations, Permit
    from mqgateway.gateway.namesrv.name_server import NameServer
    from mqgateway.gateway.remoting.server import RemotingServer
    from mqgateway.gateway.web.call import WebCall
    from mqgateway.gateway.web.entrance import Entrance

log = logging.getLogger("mqgateway.audit")

TURN_SECONDS = 0.003
"""Time for which a function of the API may block the event loop."""
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


class ConsoleFigures(NamedTuple):
    """Figures of the broker at a time of the monotonic clock, in s."""

    seconds: float
    figures: BrokerFigures


class Console:
    """The console of a broker. `server` has the broker's connections; `name_server` is that of the same
    process, if there is one. `lags` and `topics` are the histories of groups and topics; `movements` has the
    offsets of groups at other brokers."""

    def __init__(
        self,
        operations: Operations,
        server: RemotingServer,
        entrance: Entrance,
        schedule: Schedule,
        clock: Clock,
        name_server: NameServer | None = None,
    ) -> None:
        self.operations = operations
        self.server = server
        self.entrance = entrance
        self.schedule = schedule
        self.clock = clock
        self.name_server = name_server
        self.rings = Rings(SERIES)
        self.lags = Histories("lag", ("consumed",))
        self.topics = Histories("messages", ("in", "bytes"))
        self.tables = TableCache(clock.monotonic)
        self.movements = Movements()
        self.audit: deque[dict[str, Any]] = deque(maxlen=AUDITED_MAX)
        self.resets: OrderedDict[int, Reset] = OrderedDict()
        self._next_reset = 1
        self._counted = self.counts()
        self.started = self.now()

    @property
    def is_read_only(self) -> bool:
        """True if nothing can be changed."""
        return self.operations.options.console_read_only

    def now(self) -> int:
        """The wall time in ms."""
        return self.clock.millis()

    def turns(self) -> Callable[[], Awaitable[None]]:
        """Return a function for long work to await now and then: it yields to the event loop if due."""
        began = self.clock.monotonic()

        async def breathe() -> None:
            nonlocal began
            if self.clock.monotonic() - began >= TURN_SECONDS:
                await self.schedule.pause(0)
                began = self.clock.monotonic()

        return breathe

    def check_writable(self) -> None:
        """Refuse a change that would not last: by a broker that is no master. Raises `ApiError`."""
        administration = self.operations.administration
        if not administration.is_writable_master:
            raise ApiError(409, f"this broker is a {administration.role.kind.value} now: ask the master")

    def permit(self, call: WebCall, use: Use) -> Permit:
        """Return a permit for an authenticated caller. Raises `ApiError`, `OperationError`."""
        if use in (Use.SEND, Use.ADMINISTER):
            self.check_writable()
        return self.operations.gate.admit(Principal(call.connection, None), use)

    def note(self, call: WebCall, action: str, shown: dict[str, Any], refusal: str) -> None:
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

    def keep_reset(self, call: WebCall, group: str, topic: str, before: dict[int, int]) -> int:
        """Keep offsets that were changed, by queue; gives by what number they are undone."""
        reset = Reset(self._next_reset, call.now, call.caller.user, group, topic, before)
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

    def counts(self) -> ConsoleFigures:
        """Return the figures of now."""
        return ConsoleFigures(self.clock.monotonic(), self.operations.administration.figures())

    def figures(self, before: ConsoleFigures) -> dict[str, float]:
        """Return rates a second since earlier counts, and the numbers that are none."""
        counts = self.counts()
        seconds, old, new = max(counts.seconds - before.seconds, 0.001), before.figures, counts.figures

        def rate(earlier: int, now: int) -> float:
            return round(max(0, now - earlier) / seconds, 2)

        return {
            "in": rate(old.messages_in, new.messages_in),
            "out": rate(old.messages_out, new.messages_out),
            "logBytes": rate(old.log_end, new.log_end),
            "consumers": new.consumers,
            "producers": new.producers,
            "held": new.waiting,
        }

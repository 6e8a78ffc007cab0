"""Connections of throttled clients: they are not read until their throttle time is over (KIP-219).

Kafka: `ThrottledChannel`, `ConnectionQuotas`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.quotas.enforcement import QuotaEnforcement
from mqgateway.gateway.runtime.schedule import Schedule, ScheduledCall

MARGIN_SECONDS = 0.1
"""Time by which a refused connection is held longer than until it is closed."""


class HeldConnection(Protocol):
    """A connection that can be held."""

    @property
    def ip(self) -> str:
        """The address of the client without its port."""
        ...

    def hold(self) -> None:
        """Carry out and read no requests until `release`."""
        ...

    def release(self) -> None:
        """Continue with what was read, then with reading."""
        ...

    def close(self, reason: str) -> None:
        """Close the connection."""
        ...

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Call `callback(connection)` once when the connection is lost."""
        ...


class _Pause:
    """The throttle time of a connection: its end, on the schedule's clock, and the call at its end."""

    __slots__ = ("call", "until")

    def __init__(self, until: float, call: ScheduledCall) -> None:
        self.until = until
        self.call = call


class Throttling:
    """The connections of one server, and the quotas of their clients."""

    def __init__(self, quotas: QuotaEnforcement, schedule: Schedule) -> None:
        self._quotas = quotas
        self._schedule = schedule
        self._pauses: dict[HeldConnection, _Pause] = {}  # of all that were throttled, until they are lost

    @property
    def is_on(self) -> bool:
        """True if users or client ids have quotas. Otherwise there is nothing to settle."""
        return self._quotas.is_on

    def settle(self, call: KafkaCall, size: int, answer: Message | None, busy: float) -> None:
        """Throttle the client of a request that exceeds a quota; see `QuotaEnforcement.settle`."""
        millis = self._quotas.settle(call, size, answer, busy)
        if millis and call.connection.is_open:
            self._throttle(cast(HeldConnection, call.connection), millis / 1000)

    def opened(self, connection: HeldConnection) -> None:
        """Count a connection. One above the rate of its address is held, and then closed (KIP-612)."""
        if not self._quotas.limits_connections:
            return
        seconds = self._quotas.connected(connection.ip) / 1000
        if seconds:
            self._throttle(connection, seconds + MARGIN_SECONDS)
            self._schedule.later(seconds, connection.close, "")

    def _throttle(self, connection: HeldConnection, seconds: float) -> None:
        """Hold a connection for some seconds. A longer time that runs stays in force."""
        until = self._schedule.seconds() + seconds
        pause = self._pauses.get(connection)
        if pause is None:
            connection.on_lost(self._forget)
        elif until <= pause.until:
            return
        else:
            pause.call.cancel()
        self._pauses[connection] = _Pause(until, self._schedule.later(seconds, connection.release))
        connection.hold()

    def _forget(self, connection: HeldConnection) -> None:
        pause = self._pauses.pop(connection, None)
        if pause is not None:
            pause.call.cancel()

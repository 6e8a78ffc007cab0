"""Enforcement of quotas: requests and connections are counted, and their clients throttled.

An answer leaves at once, and says for how long its client is throttled (KIP-219). Kafka: `KafkaApis`,
`RequestHandlerHelper`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Protocol, cast

from mqgateway.engine.meters import QuotaFigures
from mqgateway.engine.tables.client_quotas import ClientQuotas
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.apis import FETCH, PRODUCE
from mqgateway.gateway.kafka.codec.messages.share_fetch_request import ShareFetchRequest
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.quotas.keys import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from mqgateway.gateway.kafka.quotas.limits import QuotaLimit, QuotaLimits
from mqgateway.gateway.kafka.quotas.rates import WINDOW_MILLIS, WINDOWS
from mqgateway.gateway.kafka.quotas.usage import SHORT_THROTTLE_MAX, Usage

ANONYMOUS: Final = "ANONYMOUS"
"""The user of a connection that was not authenticated."""
_READS: Final = (FETCH, ShareFetchRequest.KEY)
_WHOLE_WINDOWS: Final = (WINDOWS - 1) * WINDOW_MILLIS / 1000


class QuotaSource(Protocol):
    """The quotas of a broker."""

    @property
    def version(self) -> int:
        """A number that changes with the quotas."""
        ...

    def all(self) -> Collection[ClientQuotas]:
        """Return the quotas of all entities."""
        ...


class MutationsThrottled(Exception):
    """A mutation that a client may not make yet."""


class QuotaEnforcement:
    """The quotas of the clients of one broker. `now` returns the steady time, ms.

    `is_on` and `limits_connections` are False without quotas that concern requests or connections: then
    nothing of it needs to be called.
    """

    def __init__(self, source: QuotaSource, now: Callable[[], int]) -> None:
        self._source = source
        self._now = now
        self._usage = Usage()
        self._limits = QuotaLimits()
        self._version: int | None = None
        self.is_on = False
        self.limits_connections = False
        self.refresh()

    def refresh(self) -> None:
        """Take over the quotas of the broker, if they have changed."""
        version = self._source.version
        if version != self._version:
            self._version = version
            self._limits = limits = QuotaLimits(self._source.all())
            self.is_on, self.limits_connections = limits.has_clients, limits.has_addresses

    def figures(self) -> QuotaFigures:
        """Return the counts since the start."""
        return self._usage.figures(len(self._source.all()))

    def fetch_limit(self, call: KafkaCall, most: int) -> int:
        """Return the bytes that a client gets with one answer, at most `most`: more is always throttled."""
        limit = self._limit(call, CONSUMER_BYTE_RATE)
        return most if limit is None else max(1, int(min(most, limit.bound * _WHOLE_WINDOWS)))

    def mutations(self, call: KafkaCall, strict_since: int) -> Mutations:
        """Return the quota of a request that creates or deletes partitions.

        From a version on requests beyond the quota are refused; older ones are carried out, and throttled.
        """
        limit = self._limit(call, CONTROLLER_MUTATION_RATE) if self.is_on else None
        return Mutations(self._usage, limit, self._now, is_strict=call.version >= strict_since)

    def connected(self, address: str) -> int:
        """Count a connection of an address, and return after how many ms it is refused; 0 if it is not."""
        bound = self._limits.of_address(address)
        if bound is None:
            return 0
        return self._usage.connect(CONNECTION_CREATION_RATE, address, bound, self._now())

    def settle(self, call: KafkaCall, size: int, answer: Message | None, busy: float) -> int:
        """Count a request, write the throttle time of its client into the answer, and return it; ms.

        `size` are the bytes of the request, `busy` the seconds that it took of the event loop.
        """
        key = call.header.key
        millis: int = getattr(answer, "throttle_time_ms", 0)
        if key == PRODUCE:
            millis = max(millis, self._record(call, PRODUCER_BYTE_RATE, lambda: size))
        elif key in _READS:
            millis = max(millis, self._record(call, CONSUMER_BYTE_RATE, lambda: _records_size(answer)))
        if answer is not None:  # one that does not wait for an answer uses no request time, as in Kafka
            millis = max(millis, self._requested(call, busy))
        if millis and hasattr(answer, "throttle_time_ms"):
            cast(Any, answer).throttle_time_ms = millis
        return millis

    def _requested(self, call: KafkaCall, busy: float) -> int:
        limit = self._limit(call, REQUEST_PERCENTAGE)
        if limit is None:
            return 0
        percent = max(0.0, busy) * 100
        return self._usage.record(REQUEST_PERCENTAGE, limit, percent, self._now(), most=SHORT_THROTTLE_MAX)

    def _record(self, call: KafkaCall, key: str, value: Callable[[], float]) -> int:
        limit = self._limit(call, key)
        return 0 if limit is None else self._usage.record(key, limit, value(), self._now())

    def _limit(self, call: KafkaCall, key: str) -> QuotaLimit | None:
        return self._limits.of_client(key, call.user or ANONYMOUS, call.client_id)


class Mutations:
    """Partitions that a request creates or deletes. `throttle_time` is that of its client, ms."""

    def __init__(
        self, usage: Usage, limit: QuotaLimit | None, now: Callable[[], int], *, is_strict: bool
    ) -> None:
        self._usage = usage
        self._limit = limit
        self._now = now
        self._is_strict = is_strict
        self.throttle_time = 0

    def use(self, partitions: int) -> None:
        """Count partitions. Raises `MutationsThrottled` if they exceed the quota."""
        if self._limit is None:
            return
        millis = self._usage.mutate(
            CONTROLLER_MUTATION_RATE, self._limit, partitions, self._now(), is_strict=self._is_strict
        )
        self.throttle_time = max(self.throttle_time, millis)
        if millis and self._is_strict:
            raise MutationsThrottled


def _records_size(answer: Any) -> int:
    """Return the bytes of the records of an answer with records, which may be in chunks."""
    return sum(
        sum(map(len, records)) if isinstance(records, list) else len(records or b"")
        for topic in answer.responses
        for records in (partition.records for partition in topic.partitions)
    )

"""The rates of clients that have quotas, and for how long a client that exceeds one is throttled.

Kafka: `ClientQuotaManager`, `ControllerMutationQuotaManager`, `ConnectionQuotas`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from mqgateway.engine.meters import QuotaFigures
from mqgateway.gateway.kafka.quotas.limits import QuotaLimit
from mqgateway.gateway.kafka.quotas.rates import WINDOW_MILLIS, SampledRate, TokenBucket

SERIES_MAX: Final = 10_000
"""Rates that are kept, and as many token buckets; the one that was used longest ago is forgotten."""
THROTTLE_MAX: Final = 3_600_000
"""Maximum of a throttle time, ms."""
SHORT_THROTTLE_MAX: Final = WINDOW_MILLIS
"""Maximum for request times and connections, as in Kafka, ms."""

T = TypeVar("T")


class Usage:
    """The rates of one broker. Times are steady, in ms."""

    def __init__(self) -> None:
        self._rates: _Recent[SampledRate] = _Recent()
        self._buckets: _Recent[TokenBucket] = _Recent()
        self._throttled: dict[str, int] = {}
        self._throttle_millis: dict[str, int] = {}

    def record(self, key: str, limit: QuotaLimit, value: float, now: int, *, most: int = THROTTLE_MAX) -> int:
        """Count what a client used, and return for how long it is throttled, at most `most`."""
        rate = self._rates.get((key, limit.scope), SampledRate)
        rate.record(value, now)
        return self._noted(key, min(rate.excess_millis(limit.bound, now), most))

    def connect(self, key: str, address: str, bound: float, now: int) -> int:
        """Count a connection, and return after how long it is refused; 0 if it is accepted."""
        rate = self._rates.get((key, address), SampledRate)
        rate.record(1, now)
        millis = min(rate.excess_millis(bound, now), SHORT_THROTTLE_MAX)
        if millis:
            rate.record(-1, now)  # refused ones do not count
        return self._noted(key, millis)

    def mutate(self, key: str, limit: QuotaLimit, count: float, now: int, *, is_strict: bool) -> int:
        """Use tokens of a client, and return for how long it has none.

        With `is_strict` nothing is used if there are none, else as many as are needed.
        """
        bucket = self._buckets.get((key, limit.scope), lambda: TokenBucket(limit.bound, now))
        millis = bucket.excess_millis(limit.bound, now)
        if not is_strict or not millis:
            bucket.use(count, limit.bound, now)
        if not is_strict:
            millis = bucket.excess_millis(limit.bound, now)
        return self._noted(key, min(millis, THROTTLE_MAX))

    def _noted(self, key: str, millis: int) -> int:
        if millis:
            self._throttled[key] = self._throttled.get(key, 0) + 1
            self._throttle_millis[key] = self._throttle_millis.get(key, 0) + millis
        return millis

    def figures(self, entities: int) -> QuotaFigures:
        """Return the counts since the start; `entities` have quotas."""
        return QuotaFigures(entities, dict(self._throttled), dict(self._throttle_millis))


class _Recent(Generic[T]):
    """Values by key; the one that was used longest ago makes room for another."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = make()
            if len(self._values) > SERIES_MAX:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        return value

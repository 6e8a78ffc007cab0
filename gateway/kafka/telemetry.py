"""Metrics that clients push as client-metrics resources ask for (KIP-714); no sockets, no timers.

A client asks which metrics are wanted of it, and then pushes them again and again. The broker counts what is
pushed, and does not keep it. Kafka: `ClientMetricsManager`, `ClientMetricsInstance`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from zlib import crc32

from mqgateway.engine.meters import TelemetryFigures
from mqgateway.engine.tables.client_metrics import CLIENT_METRICS_CONFIGS, INTERVAL, MATCH, METRICS
from mqgateway.gateway.kafka.client_metrics import ATTRIBUTE_MAX, conditions_of, words_of
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.patterns import NamePattern

INSTANCES_MAX: Final = 16_384
"""Clients that are known; the one that was silent for longest is forgotten for another."""
EXPIRY_MILLIS: Final = 60_000
PUSH_BYTES_MAX: Final = 1_048_576
COMPRESSIONS: Final = (4, 3, 1, 2)
"""Codes of zstd, lz4, gzip and snappy, as clients should prefer them; 0 is none."""
ALL_METRICS: Final = "*"
_DEFAULT_INTERVAL: Final = int(CLIENT_METRICS_CONFIGS[INTERVAL].default)
_NEVER: Final = -(1 << 62)
_RESERVED: Final = frozenset((NO_UUID, (1).to_bytes(16, "big")))
"""Ids that no client has."""

Attributes = Mapping[str, str]
"""Attributes of a client that conditions are about, by name; those it did not send are empty."""


class WantedMetrics(NamedTuple):
    """A client-metrics resource: who it is about, what is asked for, and how often, ms."""

    conditions: Mapping[str, NamePattern]
    metrics: frozenset[str]
    interval: int

    def concerns(self, attributes: Attributes) -> bool:
        """Return True if a client meets all conditions."""
        return all(
            0 < len(attributes.get(name, "")) <= ATTRIBUTE_MAX and pattern.matches(attributes[name])
            for name, pattern in self.conditions.items()
        )


class Instance:
    """A client: the metrics that are wanted of it, and its last requests. Times in ms, steady."""

    __slots__ = ("expires", "id", "interval", "is_ending", "last_get", "last_push", "metrics", "version")

    def __init__(self, instance_id: bytes, metrics: list[str], interval: int, version: int) -> None:
        self.id = instance_id
        self.metrics = metrics
        self.interval = interval
        self.version = version
        self.last_get = self.last_push = _NEVER
        self.expires = 0
        self.is_ending = False

    @property
    def subscription_id(self) -> int:
        """A number that differs for other metrics, another interval or another client; 32 bits, signed."""
        wanted = crc32(f"{self.metrics}{self.interval}".encode()) ^ crc32(self.id)
        return wanted - (1 << 32) if wanted >> 31 else wanted

    def may_get(self, now: int) -> bool:
        """Return True if the client may ask again, and note that it does."""
        if now - max(self.last_get, self.last_push) < self.interval:
            return False
        self.last_get = now
        return True

    def may_push(self, now: int) -> bool:
        """Return True if the client may push again, and note that it does.

        The first push comes earlier than the interval, as clients spread their times.
        """
        if self.last_get <= self.last_push and now - self.last_push < self.interval:
            return False
        self.last_push = now
        return True


class Telemetry:
    """The clients of one broker. `resources` returns the settings of all client-metrics resources, and
    `version` a number that changes with them. Times are steady, in ms.
    """

    def __init__(self, resources: Callable[[], list[Mapping[str, str]]], version: Callable[[], int]) -> None:
        self._resources = resources
        self._version = version
        self._subscriptions: list[WantedMetrics] = []
        self._known = -1
        self._instances: OrderedDict[bytes, Instance] = OrderedDict()
        self._pushes = self._bytes = 0
        self._refused: dict[str, int] = {}

    def figures(self) -> TelemetryFigures:
        """Return the number of clients, and the counts since the start."""
        return TelemetryFigures(len(self._instances), self._pushes, self._bytes, dict(self._refused))

    def get(self, instance_id: bytes, attributes: Attributes, now: int) -> Instance | ErrorCode:
        """Return a client with what is wanted of it, or the error of a request that comes too early."""
        instance = self._instance(instance_id, attributes, now)
        if not instance.may_get(now):
            return self._refuse(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        return instance

    def push(
        self,
        instance_id: bytes,
        attributes: Attributes,
        now: int,
        *,
        subscription_id: int,
        compression: int,
        size: int,
        is_last: bool,
    ) -> ErrorCode:
        """Count the metrics of a client, and return why they are refused. `is_last`: the client ends."""
        if instance_id in _RESERVED:
            return self._refuse(ErrorCode.INVALID_REQUEST)
        instance = self._instance(instance_id, attributes, now)
        was_ending, instance.is_ending = instance.is_ending, is_last
        code = ErrorCode.NONE
        if was_ending:
            code = ErrorCode.INVALID_REQUEST
        elif not instance.may_push(now) and not is_last:
            code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        elif subscription_id != instance.subscription_id:
            code = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        elif compression != 0 and compression not in COMPRESSIONS:
            code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        elif size > PUSH_BYTES_MAX:
            code = ErrorCode.TELEMETRY_TOO_LARGE
        if code:
            return self._refuse(code)
        self._pushes += 1
        self._bytes += size
        return code

    def _refuse(self, code: ErrorCode) -> ErrorCode:
        self._refused[code.name] = self._refused.get(code.name, 0) + 1
        return code

    def expire(self, now: int) -> None:
        """Forget clients that were silent for too long; called about once a minute."""
        for instance_id in [key for key, one in self._instances.items() if one.expires <= now]:
            del self._instances[instance_id]

    def _instance(self, instance_id: bytes, attributes: Attributes, now: int) -> Instance:
        """Return a client. What is wanted of it is found again if resources have changed."""
        instance = self._instances.get(instance_id)
        if instance is None or instance.version != self._version():
            instance = self._instances[instance_id] = self._made(instance_id, attributes)
        instance.expires = now + max(EXPIRY_MILLIS, 3 * instance.interval)
        self._instances.move_to_end(instance_id)
        if len(self._instances) > INSTANCES_MAX:
            self._instances.popitem(last=False)
        return instance

    def _made(self, instance_id: bytes, attributes: Attributes) -> Instance:
        version = self._version()
        if version != self._known:
            self._subscriptions = [_subscription(configs) for configs in self._resources()]
            self._known = version
        chosen = [one for one in self._subscriptions if one.concerns(attributes)]
        metrics = sorted(frozenset().union(*(one.metrics for one in chosen)))
        interval = min((one.interval for one in chosen), default=_DEFAULT_INTERVAL)
        wanted = [ALL_METRICS] if ALL_METRICS in metrics else metrics
        return Instance(instance_id, wanted, min(interval, _DEFAULT_INTERVAL), version)


def _subscription(configs: Mapping[str, str]) -> WantedMetrics:
    return WantedMetrics(
        conditions_of(configs.get(MATCH, "")),
        frozenset(words_of(configs.get(METRICS, ""))),
        int(configs.get(INTERVAL, _DEFAULT_INTERVAL)),
    )

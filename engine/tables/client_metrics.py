"""Client-metrics resources: the metrics that Kafka clients are asked for, and which clients (KIP-714).

Kafka: `ClientMetricsConfigs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from mqgateway.engine import json_members
from mqgateway.engine.tables.config_table import StoredTable
from mqgateway.engine.tables.kafka_configs import INT, INT_MAX, LIST, KafkaConfig

METRICS: Final = "metrics"
INTERVAL: Final = "interval.ms"
MATCH: Final = "match"

CLIENT_METRICS_CONFIGS: Final = {
    config.name: config
    for config in (
        KafkaConfig(INTERVAL, INT, "300000", "Time between two pushes of a client.", -INT_MAX, INT_MAX),
        KafkaConfig(MATCH, LIST, "", "Conditions that a client must meet, each `attribute=expression`."),
        KafkaConfig(METRICS, LIST, "", "Prefixes of the names of metrics; `*` for all metrics."),
    )
}
"""The settings of a resource, by name."""

RESOURCES_MAX: Final = 100
"""Maximum number of resources: a client is compared with all of them."""


@dataclass(frozen=True, slots=True)
class ClientMetrics:
    """A resource, and its settings that are not the default."""

    name: str
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """See `Config`."""
        return self.name

    def to_json(self) -> dict[str, Any]:
        """See `Config`."""
        return {"name": self.name, "configs": dict(self.configs)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """See `Config`."""
        configs = json_members.read(value, "configs", dict[str, Any]())
        name = json_members.read(value, "name", "")
        return cls(name, {key: json_members.read(configs, key, "") for key in configs})


class ClientMetricsTable(StoredTable[ClientMetrics]):
    """The client-metrics resources of a broker, by name."""

    entry = ClientMetrics
    member = "clientMetricsTable"

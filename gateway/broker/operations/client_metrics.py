"""Client-metrics resources of Kafka. They show no message, so reading them takes no permit."""

from __future__ import annotations

from collections.abc import Mapping

from mqgateway.engine.tables.client_metrics import RESOURCES_MAX, ClientMetrics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use


class ClientMetricsOperations:
    """Client-metrics resources of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._table = broker.tables.client_metrics
        self._gate = gate

    @property
    def version(self) -> int:
        """A number that changes with the resources."""
        return self._table.data_version.counter

    def names(self) -> list[str]:
        """Return the names of all resources, in their order."""
        return sorted(self._table.names())

    def configs(self, name: str) -> Mapping[str, str]:
        """Return the settings of a resource that are not the default; none for an unknown one."""
        resource = self._table.get(name)
        return {} if resource is None else resource.configs

    def put(self, permit: Permit, name: str, configs: Mapping[str, str]) -> None:
        """Create or replace a resource; without settings it is deleted. Raises `OperationError`."""
        self._gate.enter(permit, Use.CONFIGURE)
        if not configs:
            self._table.delete(name)
        elif name not in self._table and len(self._table) >= RESOURCES_MAX:
            raise OperationError(
                Reason.INVALID_PARAMETER, f"There are already {RESOURCES_MAX} client-metrics resources."
            )
        else:
            self._table.put(ClientMetrics(name, dict(configs)))

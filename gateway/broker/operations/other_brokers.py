"""Questions of administration to the other brokers of the cluster, whatever server they run.

Requests are read-only, and signed as the broker's own. Callers name addresses that a name server lists.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use


class OtherBrokerOperations:
    """Other brokers, by address.

    Outcomes fail with `RequestError`, and with `BodyError` or `ConfigError` for an answer that is not valid.
    """

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def runtime_info(self, permit: Permit, address: str) -> Deferred[dict[str, str]]:
        """Return the figures of a broker by name."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.runtime_info(address)

    def settings(self, permit: Permit, address: str) -> Deferred[dict[str, str]]:
        """Return the settings of a broker by name; brokers hide their secrets."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.cluster.broker_directory.settings(address)

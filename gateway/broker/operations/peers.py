"""Questions of administration to the other brokers of the cluster, whatever server they run.

Requests are read-only, and signed as the broker's own. Only addresses that a name server lists are asked.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.options import load_properties
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand


class PeerOperations:
    """Other brokers, by address. Outcomes fail with `RequestError`, and for an answer that cannot be read with
    `HeaderError` or `ConfigError`."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def runtime_info(self, permit: Permit, address: str) -> Deferred[dict[str, str]]:
        """Return the figures of a broker by name."""
        asked = self._ask(permit, address, RequestCode.GET_BROKER_RUNTIME_INFO)
        return asked.addCallback(lambda answer: KVTable.decode(answer.body).table)

    def settings(self, permit: Permit, address: str) -> Deferred[dict[str, str]]:
        """Return the settings of a broker by name; brokers hide their secrets."""
        asked = self._ask(permit, address, RequestCode.GET_BROKER_CONFIG)
        return asked.addCallback(
            lambda answer: {one.key: one.value for one in load_properties(answer.body, address)}
        )

    def _ask(self, permit: Permit, address: str, code: RequestCode) -> Deferred[RemotingCommand]:
        self._gate.enter(permit, Use.QUERY)
        directory = self._broker.cluster.broker_directory
        return directory.ask_address(address, RemotingCommand.request(code))

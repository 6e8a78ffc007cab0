"""This broker as Kafka clients see it: the id of its node and of its cluster, and its address."""

from __future__ import annotations

from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.advertised import CLIENT, advertised_address
from mqgateway.gateway.kafka.call import Address, KafkaCall
from mqgateway.gateway.kafka.ids import named_id, text_of_id
from mqgateway.gateway.remoting.addresses import format_address


class Node:
    """The node of this broker. `advertised` is the host that the broker gives to clients.

    `host` is the interface on which it listens, empty for all of them. With `requires_tls` plain connections
    are refused; otherwise the port serves both. With `has_sasl` clients authenticate themselves.
    """

    def __init__(
        self,
        operations: Operations,
        advertised: str,
        port: int,
        *,
        host: str = "",
        requires_tls: bool = False,
        has_sasl: bool = False,
    ) -> None:
        self._options = operations.options
        self._replicas = operations.replicas
        self._advertised = Address(advertised, port)
        self._listening = Address(host, port)
        transport = "SSL" if requires_tls else "PLAINTEXT"
        self.protocol = f"SASL_{transport}" if has_sasl else transport
        """The security protocol of the listener, which is also its name."""

    @property
    def id(self) -> int:
        """The id of the node: the setting, or one by its number in the group; -1 while it has none."""
        configured = self._options.kafka_node_id
        return self._replicas.own_id if configured < 0 else configured

    @property
    def rack(self) -> str | None:
        """The rack; None for none."""
        return self._options.kafka_rack or None

    @property
    def cluster_id(self) -> str:
        """The id of the cluster: the same for all brokers of a RocketMQ cluster."""
        return text_of_id(named_id(f"cluster {self._options.broker_cluster_name}"))

    @property
    def listener(self) -> str:
        """The listener as Kafka writes it: `PLAINTEXT://0.0.0.0:9092`."""
        return f"{self.protocol}://{format_address(*self._listening)}"

    def advertised_listener(self, call: KafkaCall) -> str:
        """Return the listener with the address that the client of a call is given."""
        return f"{self.protocol}://{format_address(*self.address(call))}"

    def address(self, call: KafkaCall) -> Address:
        """Return the address at which the client of a call is to reach this broker."""
        if self._options.kafka_advertised_address == CLIENT:
            return call.local
        return Address(*advertised_address(self._options, *self._advertised))

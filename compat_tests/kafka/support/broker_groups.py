"""Broker groups of this server that form one Kafka cluster: a name server, and a master for each group."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from compat_tests.kafka.support.wire import Connection
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, Part, our_broker, our_namesrv

NODES_A_GROUP = 1000
KNOWN_SECONDS = 120


class BrokerGroups:
    """Groups with these names, started once they know each other. `addresses` are Kafka's, by group."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._names = names
        self._stack = ExitStack()
        self._namesrv = free_ports()
        self._folder = folder
        self._parts: dict[str, Part] = {}
        self.addresses: dict[str, str] = {}
        self.nodes = {name: 1 + index * NODES_A_GROUP for index, name in enumerate(names)}

    def __enter__(self) -> BrokerGroups:
        with ExitStack() as stack:
            part = our_namesrv(self._folder / "namesrv", self._namesrv)
            stack.callback(part.stop)
            part.start()
            for name in self._names:
                part = self._parts[name] = self._part(name)
                stack.callback(part.stop)
                part.start()
            for name in self._names:
                self.wait_for_nodes(name, self._names)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def _part(self, name: str) -> Part:
        kafka = free_ports()
        self.addresses[name] = f"{HOST}:{kafka}"
        settings = {
            "brokerName": name,
            "kafkaClusterGroups": ",".join(self._names),
            "kafkaPort": str(kafka),
        }
        port = free_ports((-2, 0, 1))
        return our_broker(self._folder / name, port, f"{HOST}:{self._namesrv}", settings)

    @property
    def bootstrap(self) -> str:
        """The addresses of all groups."""
        return ",".join(self.addresses.values())

    def stop(self, name: str) -> None:
        """Stop the master of a group."""
        self._parts[name].stop()

    def start(self, name: str) -> None:
        """Start the master of a group again, on its folder and its ports."""
        self._parts[name].start()

    def wait_for_nodes(self, at: str, names: Sequence[str]) -> None:
        """Wait until a group shows the masters of these groups, and no other node."""
        wanted = [self.nodes[name] for name in names]
        wait_until(partial(_shows, self.addresses[at], wanted), KNOWN_SECONDS, f"{at} shows {wanted}")


def _shows(address: str, nodes: list[int]) -> bool:
    """Return True if a broker answers and shows these nodes."""
    try:
        with Connection(address) as connection:
            brokers = connection.ask("Metadata", 8, topics=[])["brokers"]
    except OSError:
        return False
    assert isinstance(brokers, list)
    return [one["node_id"] for one in brokers] == nodes

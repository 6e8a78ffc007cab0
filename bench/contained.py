"""A container with several brokers, each a process, as one server to put a load on."""

from pathlib import Path

import psutil

from bench.prepared import topic_names, write_topics
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import Server, contained_broker, our_container, our_namesrv

QUEUES = 4
"""Of the one topic, on each broker."""


class Contained(Server):
    """Our name server, and a container of ours with so many brokers; each has the topic from its start."""

    def __init__(self, work: Path, brokers: int) -> None:
        super().__init__("ours", work)
        names = [f"broker-{number}" for number in range(brokers)]
        self._registering = set(names)
        configs = [self._broker(name) for name in names]
        port = int(self.namesrv_address.rpartition(":")[2])
        self._parts = [
            our_namesrv(self.folder / "namesrv", port),
            our_container(self.folder / "container", free_ports((-2, 0)), self.namesrv_address, configs),
        ]

    @property
    def pids(self) -> list[int]:
        """Those of the brokers' processes too."""
        brokers = psutil.Process(self._parts[-1].pid).children(recursive=True)
        return [*super().pids, *(process.pid for process in brokers)]

    def _broker(self, name: str) -> Path:
        folder = self.folder / name
        write_topics(folder / "store", topic_names(1), QUEUES)
        port = free_ports((-2, 0, 1))
        return contained_broker("ours", folder, port, {"brokerName": name})

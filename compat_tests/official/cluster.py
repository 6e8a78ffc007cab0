"""The servers under the official tests: a name server and three brokers of one kind."""

from __future__ import annotations

from pathlib import Path

from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, Part, apache_broker, apache_namesrv, our_broker, our_namesrv

NAME = "OfficialCluster"
BROKERS = ("official-a", "official-b", "official-c")

SETTINGS = {
    "brokerClusterName": NAME,
    "enablePropertyFilter": "true",
    "enableCalcFilterBitMap": "true",
    "recallMessageEnable": "true",
    "loadBalancePollNameServerInterval": "500",
    "maxIndexNum": "1000",
    "maxHashSlotNum": "4000",
    "maxTransferCountOnMessageInMemory": "1024",
    "maxTransferCountOnMessageInDisk": "1024",
    "transactionCheckInterval": "5000",
}
"""The broker settings of the tests' own base class, with a shorter interval of transaction checks."""

APACHE_SETTINGS = {
    "appendAckAsync": "true",
    "appendCkAsync": "true",
    "enableConsumeQueueExt": "true",
    "mappedFileSizeCommitLog": "104857600",
    "popConsumerKVServiceInit": "true",
}


class Cluster:
    """The servers; they listen on the loopback address and store everything below one folder."""

    def __init__(self, kind: str, folder: Path) -> None:
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self.broker_addresses: list[str] = []
        start_namesrv = apache_namesrv if kind == "apache" else our_namesrv
        make = apache_broker if kind == "apache" else our_broker
        self._parts: list[Part] = [start_namesrv(folder / "namesrv", port)]
        for name in BROKERS:
            port = free_ports((-2, 0, 1))
            self.broker_addresses.append(f"{HOST}:{port}")
            settings = {**SETTINGS, **(APACHE_SETTINGS if kind == "apache" else {}), "brokerName": name}
            self._parts.append(make(folder / name, port, self.namesrv_address, settings))

    def start(self) -> None:
        """Start all servers. If one does not come up, stop the others and raise its error."""
        try:
            for part in self._parts:
                part.start()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Kill all servers: the stores are not needed any more."""
        for part in self._parts:
            part.kill9()

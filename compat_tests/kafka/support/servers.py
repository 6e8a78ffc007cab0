"""The two servers that every scenario meets: Apache Kafka, and ours.

Both listen on the loopback address, on ports of their own, keep their data below the folder of the run, and
end by process id.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from compat_tests.kafka.support.builds import class_path
from compat_tests.kafka.support.wire import Connection
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.servers import HOST, Part, Settings, our_serve

START_SECONDS = 60
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
PARTITIONS = 4
"""Partitions of topics that are created without a number of them."""

SERVER_JVM = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = "-Dorg.slf4j.simpleLogger.defaultLogLevel"

APACHE_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "num.partitions": str(PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # A member that was killed is missed after six seconds, the least that a client may ask for.
    "group.min.session.timeout.ms": "6000",
}
"""Settings of Apache's server: one node, and topics of its own with as few partitions as possible."""

OUR_SETTINGS = {"kafkaNumPartitions": str(PARTITIONS)}
"""Settings of this server."""


class KafkaServer:
    """A server of one kind, `apache` or `ours`; `jvm` are the options of Apache's."""

    _numbers = itertools.count(1)

    def __init__(
        self, kind: str, work: Path, settings: Settings | None = None, *, jvm: Sequence[str] = SERVER_JVM
    ) -> None:
        self.kind = kind
        self._jvm = jvm
        self.folder = work / f"kafka-{kind}-{next(self._numbers)}"
        self.folder.mkdir(parents=True)
        self.port = free_ports((0, 1))
        self.namesrv_address = ""
        """Address of the name server for RocketMQ's clients; empty for Apache's server."""
        self._part = self._apache(settings or {}) if kind == "apache" else self._ours(settings or {})

    @property
    def address(self) -> str:
        """Host and port of the listener for clients."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id; the server must have been started."""
        return self._part.pid

    def start(self) -> KafkaServer:
        """Start the process and wait until it answers; returns itself."""
        self._part.start()
        wait_until(self._answers, START_SECONDS, f"{self.kind} answers on {self.address}")
        return self

    def restart(self) -> None:
        """End the process cleanly and start it again on the same ports and data."""
        self._part.stop()
        self.start()

    def kill9(self) -> None:
        """Kill the process; `start` brings it back with its data."""
        self._part.kill9()

    def __enter__(self) -> KafkaServer:
        return self.start()

    def __exit__(self, *failure: object) -> None:
        self.kill9()

    def _answers(self) -> bool:
        try:
            with Connection(self.address) as connection:
                return bool(connection.api_versions())
        except OSError:
            return False

    def _apache(self, settings: Settings) -> Part:
        controller = f"{HOST}:{self.port + 1}"
        chosen = {
            **APACHE_SETTINGS,
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "log.dirs": str(self.folder / "data"),
            **settings,
        }
        config = self.folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
        java = ["java", *self._jvm, "-cp", class_path("server")]
        form = [*java, f"{LOGGING}=error", "kafka.tools.StorageTool", "format"]
        subprocess.run(
            [*form, "-t", CLUSTER_ID, "-c", str(config)], check=True, capture_output=True, timeout=120
        )
        command = [*java, f"{LOGGING}=info", "kafka.Kafka", str(config)]
        return Part(command, self.folder / "server.log", "Kafka Server started", [self.address], {})

    def _ours(self, settings: Settings) -> Part:
        namesrv_port, broker_port = free_ports(), free_ports((-2, 0, 1))
        self.namesrv_address = f"{HOST}:{namesrv_port}"
        chosen = {**OUR_SETTINGS, "kafkaPort": str(self.port), **settings}
        return our_serve(self.folder, namesrv_port, broker_port, chosen)


class Servers:
    """Servers that scenarios share, one of each kind; `make` returns the server of a kind, not started.

    `wait` is called with the address of a server that was started.
    """

    def __init__(
        self, make: Callable[[str], KafkaServer], wait: Callable[[str], object] = lambda address: None
    ) -> None:
        self._make = make
        self._wait = wait
        self._servers: dict[str, KafkaServer] = {}

    def get(self, kind: str) -> KafkaServer:
        """Return the server of a kind; it is started if it does not run."""
        if kind not in self._servers:
            self._servers[kind] = self._make(kind).start()
            self._wait(self._servers[kind].address)
        return self._servers[kind]

    def close(self) -> None:
        """End all servers."""
        while self._servers:
            self._servers.popitem()[1].kill9()

"""The two servers of every scenario, Apache's and ours, with the same interface.

A :class:`Server` is a name server and a broker. It has ports, a home and a store of its own below a temporary
folder, listens on the loopback address, and is ended by process id. Mixed clusters consist of
:class:`Part` objects directly.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from compat_tests.support.artifacts import CURRENT, OPENS, cache_folder, class_path
from compat_tests.support.processes import accepts, free_ports, start_logged, stop, wait_until
from compat_tests.support.raw import RawConnection
from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.codes import RequestCode

HOST = "127.0.0.1"
BROKER_NAME = "broker-a"
CLUSTER_NAME = "DefaultCluster"
START_SECONDS = 60
STOP_SECONDS = 20
ARCHIVE_SECONDS = 120
"""Grace of a stop that writes an archive of classes."""

ROOT = Path(__file__).parents[2]

Settings = Mapping[str, str]
"""Broker settings by RocketMQ's property names."""

BASE_SETTINGS = {
    "brokerName": BROKER_NAME,
    "brokerClusterName": CLUSTER_NAME,
    "autoCreateTopicEnable": "true",
}

APACHE_SETTINGS = {"brokerIP1": HOST, "bindAddress": HOST}

APACHE_TEST_SETTINGS = {
    "mappedFileSizeCommitLog": "67108864",
    "waitTimeMillsInSendQueue": "5000",
    # Apache's broker 5.5.0 keeps a core busy forever once a transaction has ended and the interval has
    # passed: here it never passes, and every end is written at once.
    "transactionOpBatchInterval": "3600000",
    "transactionOpMsgMaxSize": "1",
    # After each start it keeps a core busy until this time has passed once; by default that takes 10 seconds.
    "transactionMetricFlushInterval": "500",
    # Each flush copies its timer wheel of 37 MB byte by byte; by default that is every second.
    "timerFlushIntervalMs": "60000",
    # The minimum: a broker that a busy name server has dropped is back in 10 seconds, not in 30.
    "registerNameServerPeriod": "10000",
}
"""Settings of Apache's broker alone in tests: small files, long waits on two busy cores, no idle work."""

SERIAL_GC = ("-XX:+UseSerialGC",)
QUICK_JVM = (
    *SERIAL_GC,
    # Compile once: a third of a start's CPU time is recompilation.
    "-XX:TieredStopAtLevel=1",
    # Keep the connection after a late response: a name server removes a broker whose connection ends.
    "-Dcom.rocketmq.remoting.client.closeSocketIfTimeout=false",
)
TEST_JVM = ("-Xms512m", "-Xmx1g", *QUICK_JVM)
PRODUCTION_JVM = ("-Xms1g", "-Xmx2g", "-XX:+UseG1GC")
"""For two cores and a few gibibytes, with the collector of Apache's own start script."""


_making_class_data = threading.Lock()


class Part:
    """One server process: start, readiness and end."""

    def __init__(
        self, command: list[str], log: Path, up_text: str, addresses: list[str], env: Settings
    ) -> None:
        self._command = command
        self._log = log
        self._up_text = up_text
        self._addresses = addresses
        self._env = env
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; the part must have been started."""
        assert self._popen is not None
        return self._popen.pid

    def start(self) -> None:
        """Start the process; wait until it has logged that it is up and accepts connections."""
        began = self._log.stat().st_size if self._log.exists() else 0
        env = {**os.environ, **self._env}
        self._popen = start_logged(self._command, self._log, env=env, cwd=self._log.parent)
        try:
            wait_until(lambda: self._is_up(began), START_SECONDS, f"{self._command[0]} is up")
        except (TimeoutError, RuntimeError) as failure:
            self.stop()
            tail = self._log.read_text(errors="replace")[began:][-3000:]
            raise RuntimeError(f"{failure}; its output ends:\n{tail}") from failure

    def stop(self, grace: float = STOP_SECONDS) -> None:
        """Stop the process cleanly, after ``grace`` seconds kill it; do nothing if it has ended."""
        if self._popen is not None:
            stop(self._popen, grace)
            self._popen = None

    def kill9(self) -> None:
        """Kill the process with SIGKILL; do nothing if it has ended."""
        if self._popen is not None:
            self._popen.send_signal(signal.SIGKILL)
            self._popen.wait(30)
            self._popen = None

    def _is_up(self, began: int) -> bool:
        assert self._popen is not None
        if self._popen.poll() is not None:
            raise RuntimeError(f"{self._command[0]} ended with exit code {self._popen.returncode}")
        with self._log.open("rb") as log:
            log.seek(began)
            said = log.read().decode(errors="replace")
        return self._up_text in said and all(accepts(address) for address in self._addresses)


def apache_namesrv(folder: Path, port: int, *, production: bool = False) -> Part:
    """Apache's name server."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "namesrv.conf"
    config.write_text(f"listenPort={port}\nbindAddress={HOST}\n")
    jvm = ("-Xms128m", "-Xmx256m", *(SERIAL_GC if production else (*QUICK_JVM, *class_data())))
    command = _apache_command(folder, jvm, "org.apache.rocketmq.namesrv.NamesrvStartup")
    command += ["-c", str(config)]
    return Part(command, folder / "namesrv.log", "boot success", [f"{HOST}:{port}"], _apache_env(folder))


def apache_broker(
    folder: Path,
    port: int,
    namesrv: str,
    settings: Settings,
    *,
    production: bool = False,
    version: str = CURRENT,
) -> Part:
    """Return Apache's broker; it also takes the ports ``port - 2`` (fast) and ``port + 1`` (replication).

    With `production` it has the heap and the file sizes of production.
    """
    if production:
        return _apache_broker(folder, port, namesrv, settings, PRODUCTION_JVM, version)
    jvm = (*TEST_JVM, *class_data()) if version == CURRENT else TEST_JVM
    return _apache_broker(folder, port, namesrv, {**APACHE_TEST_SETTINGS, **settings}, jvm, version)


def _apache_broker(
    folder: Path, port: int, namesrv: str, settings: Settings, jvm: Sequence[str], version: str
) -> Part:
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "store"
    paths = {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    chosen = {**BASE_SETTINGS, **APACHE_SETTINGS, "listenPort": str(port), **paths, **settings}
    logback = folder / "conf" / "logback_broker.xml"
    logback.parent.mkdir(exist_ok=True)
    logback.write_text("<configuration/>")  # version 4 does not start without it
    config = folder / "broker.conf"
    config.write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
    command = _apache_command(folder, jvm, "org.apache.rocketmq.broker.BrokerStartup", version)
    command += ["-c", str(config), "-n", namesrv]
    return Part(command, folder / "broker.log", "boot success", [f"{HOST}:{port}"], _apache_env(folder))


def class_data() -> tuple[str, ...]:
    """Return the option with which Apache's current servers start from a class data archive (CDS).

    A broker writes the archive when it ends; it is started for this once for each Java.
    """
    archive = cache_folder() / "archives" / f"server-{CURRENT}-{_java()}.jsa"
    with _making_class_data:
        if not archive.exists():
            archive.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="making-", dir=archive.parent) as folder:
                _write_class_data(Path(folder), archive)
    return (f"-XX:SharedArchiveFile={archive}",)


def _write_class_data(folder: Path, archive: Path) -> None:
    aside = folder / archive.name
    jvm = (*TEST_JVM, f"-XX:ArchiveClassesAtExit={aside}")
    port, unused = free_ports((-2, 0, 1)), f"{HOST}:{free_ports()}"
    broker = _apache_broker(folder, port, unused, APACHE_TEST_SETTINGS, jvm, CURRENT)
    broker.start()
    broker.stop(ARCHIVE_SECONDS)
    aside.rename(archive)


@cache
def _java() -> str:
    """Return a digest of the Java version: an archive is valid for one version."""
    said = subprocess.run(["java", "-version"], capture_output=True, check=True, timeout=60).stderr
    return hashlib.sha256(said).hexdigest()[:12]


def apache_container(folder: Path, port: int, namesrv: str, brokers: Sequence[Path]) -> Part:
    """Return Apache's broker container with these brokers; it also takes the port ``port - 2``."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "container.conf"
    listed = f"brokerConfigPaths={':'.join(map(str, brokers))}\n" if brokers else ""
    config.write_text(f"listenPort={port}\nbindAddress={HOST}\n{listed}")
    main = "org.apache.rocketmq.container.BrokerContainerStartup"
    command = _apache_command(folder, TEST_JVM, main, jars="container")
    command += ["-c", str(config), "-n", namesrv]
    return Part(command, folder / "container.log", "boot success", [f"{HOST}:{port}"], _apache_env(folder))


def our_container(folder: Path, port: int, namesrv: str, brokers: Sequence[Path]) -> Part:
    """Our broker container with these brokers."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-c",
        "from mqgateway.gateway.cli.main import main; main()",
        "container",
        "--bind",
        HOST,
    ]
    command += ["--port", str(port), "-n", namesrv]
    command += ["-b", ":".join(map(str, brokers))] if brokers else []
    return Part(command, folder / "container.log", "ready", [f"{HOST}:{port}"], _our_env())


def contained_broker(kind: str, folder: Path, port: int, settings: Settings) -> Path:
    """Write the configuration of a broker in a container, with a store of its own; return the file."""
    store = folder / "store"
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {**BASE_SETTINGS, "brokerIP1": HOST, "listenPort": str(port)}
    chosen |= {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    chosen |= APACHE_TEST_SETTINGS if kind == "apache" else {}
    config = folder / "broker.conf"
    config.write_text("".join(f"{name}={value}\n" for name, value in {**chosen, **settings}.items()))
    return config


def _apache_command(
    folder: Path, jvm: Sequence[str], main: str, version: str = CURRENT, jars: str = "server"
) -> list[str]:
    options = [*jvm, *OPENS, f"-Duser.home={folder}"]
    return ["java", *options, "-cp", class_path(jars, version), main]


def _apache_env(folder: Path) -> dict[str, str]:
    return {"ROCKETMQ_HOME": str(folder)}


def our_serve(folder: Path, namesrv_port: int, broker_port: int, settings: Settings) -> Part:
    """Our name server and broker in one process."""
    command = _our_command("serve", folder, {**BASE_SETTINGS, **settings})
    command += ["--namesrv-port", str(namesrv_port), "--broker-port", str(broker_port), "--advertise", HOST]
    addresses = [f"{HOST}:{namesrv_port}", f"{HOST}:{broker_port}"]
    return Part(command, folder / "serve.log", "ready", addresses, _our_env())


def our_brokers(folder: Path, namesrv_port: int, broker_port: int, count: int, settings: Settings) -> Part:
    """Our name server and several brokers by one command; their ports are 10 apart."""
    command = _our_command("serve", folder, {**BASE_SETTINGS, **settings})
    command += ["--brokers", str(count), "--advertise", HOST]
    command += ["--namesrv-port", str(namesrv_port), "--broker-port", str(broker_port)]
    command += ["--grpc-port", "0", "--kafka-port", "0", "--console-port", "0"]
    addresses = [f"{HOST}:{port}" for port in range(broker_port, broker_port + 10 * count, 10)]
    return Part(command, folder / "serve.log", "ready", [f"{HOST}:{namesrv_port}", *addresses], _our_env())


def our_namesrv(folder: Path, port: int) -> Part:
    """Our name server alone."""
    command = [*_our_command("namesrv", folder, {}), "--port", str(port)]
    return Part(command, folder / "namesrv.log", "ready", [f"{HOST}:{port}"], _our_env())


def our_broker(folder: Path, port: int, namesrv: str, settings: Settings) -> Part:
    """Our broker alone, registered with the given name server."""
    command = _our_command("broker", folder, {**BASE_SETTINGS, **settings})
    command += ["--port", str(port), "--namesrv", namesrv, "--advertise", HOST]
    return Part(command, folder / "broker.log", "ready", [f"{HOST}:{port}"], _our_env())


def _our_command(what: str, folder: Path, settings: Settings) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from mqgateway.gateway.cli.main import main; main()", what]
    command += ["--data-dir", str(folder), "--bind", HOST]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    return command


def _our_env() -> dict[str, str]:
    # Bytecode is cached, as in every default installation.
    return {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}


class MixedCluster:
    """A name server of one kind, and a broker of each kind registered with it."""

    def __init__(self, namesrv_kind: str, work: Path) -> None:
        folder = work / f"mixed-{namesrv_kind}"
        port = free_ports()
        self.namesrv_address = f"{HOST}:{port}"
        self.broker_names = {kind: f"broker-{kind}" for kind in ("apache", "ours")}
        start_namesrv = apache_namesrv if namesrv_kind == "apache" else our_namesrv
        self._parts = [start_namesrv(folder / "namesrv", port)]
        for kind, make in (("apache", apache_broker), ("ours", our_broker)):
            settings = {"brokerName": self.broker_names[kind]}
            port = free_ports((-2, 0, 1))
            self._parts.append(make(folder / kind, port, self.namesrv_address, settings))

    def __enter__(self) -> MixedCluster:
        for part in self._parts:
            part.start()
        return self

    def __exit__(self, *failure: object) -> None:
        for part in self._parts:
            part.kill9()


def wait_until_registered(namesrv: str, brokers: set[str]) -> None:
    """Wait until a name server knows the brokers of these names."""
    wait_until(
        lambda: brokers <= registered(namesrv), START_SECONDS, f"{', '.join(sorted(brokers))} registered"
    )


def registered(namesrv: str) -> set[str]:
    """Return the brokers that a name server knows; empty if it does not respond."""
    try:
        with RawConnection(namesrv) as connection:
            answer = connection.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
    except OSError:
        return set()
    return set(loads(answer.body)["brokerAddrTable"]) if answer is not None else set()


class Server:
    """A name server and a broker of one kind, ``apache`` or ``ours``."""

    _numbers = itertools.count(1)

    def __init__(
        self, kind: str, work: Path, settings: Settings | None = None, *, production: bool = False
    ) -> None:
        self.kind = kind
        self.folder = work / f"{kind}-{next(self._numbers)}"
        namesrv_port = free_ports()
        broker_port = free_ports((-2, 0, 1))
        self.namesrv_address = f"{HOST}:{namesrv_port}"
        self.broker_address = f"{HOST}:{broker_port}"
        self.broker_name = (settings or {}).get("brokerName", BROKER_NAME)
        self._registering = {self.broker_name}
        if kind == "apache":
            self.store_dir = self.folder / "store"
            self._parts = [
                apache_namesrv(self.folder, namesrv_port, production=production),
                apache_broker(
                    self.folder, broker_port, self.namesrv_address, settings or {}, production=production
                ),
            ]
        else:
            self.store_dir = self.folder / "store"
            self._parts = [our_serve(self.folder, namesrv_port, broker_port, settings or {})]

    @property
    def pids(self) -> list[int]:
        """The process ids of all parts, which must have been started."""
        return [part.pid for part in self._parts]

    def start(self) -> Server:
        """Start all parts; return this server."""
        started: list[Part] = []
        try:
            for part in self._parts:
                part.start()
                started.append(part)
            self.wait_until_registered()
        except BaseException:
            for part in started:
                part.stop()
            raise
        return self

    def wait_until_registered(self) -> None:
        """Wait until the name server knows the broker.

        Apache's broker may register ten seconds after it logged that it is up, and again after a timeout.
        """
        wait_until_registered(self.namesrv_address, self._registering)

    def stop(self) -> None:
        """Stop all parts cleanly, the broker first."""
        for part in reversed(self._parts):
            part.stop()

    def restart(self) -> None:
        """Stop all parts cleanly and start them again on the same ports and store."""
        self.stop()
        self.start()

    def kill9(self) -> None:
        """Kill the process of the broker; ``restart`` starts everything again."""
        self._parts[-1].kill9()

    def discard(self) -> None:
        """Kill all parts: the store is not needed any more."""
        for part in self._parts:
            part.kill9()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *failure: object) -> None:
        self.discard()

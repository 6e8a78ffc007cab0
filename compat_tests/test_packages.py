"""Installed packages with the stock Java client: wheels, the image, the Debian package.

All of it is built here, as root, on a Debian with debootstrap, a C compiler, a Docker engine, docker-compose
and systemd-nspawn; the builds take most of the time. `PACKAGES_DIST` names an existing output folder of
`scripts/wheels --with-dependencies` to use instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
import yaml

from compat_tests.support.artifacts import CURRENT, OPENS, jars
from compat_tests.support.containers import DockerRuntime, Engine
from compat_tests.support.driver import ClientError, message
from compat_tests.support.packages import Bare, Booted, output_of
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import accepts, free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, ROOT, TEST_JVM
from mqgateway.gateway.codec.codes import RequestCode

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(7200)]

IMAGE = "mqgateway:test"
IMAGE_BYTES = 150_000_000
APACHE_IMAGE = "apache/rocketmq:5.5.0"
APACHE_FROM_JARS = "mqgateway-test-apache"
HOME = "/home/rocketmq/rocketmq-5.5.0"
COMPOSE = {
    "compose.yaml": {"broker": 10911},
    "compose-mixed.yaml": {"broker": 10911, "apache": 10921},
}
"""Ports of the brokers of each file."""


@pytest.fixture(scope="module")
def dist(work: Path) -> Path:
    """Build wheels of the product and its dependencies, or return the given folder."""
    if given := os.environ.get("PACKAGES_DIST"):
        return Path(given)
    folder = work / "dist"
    print(output_of([sys.executable, "scripts/wheels.py", "--with-dependencies", folder]))
    return folder


@pytest.fixture(scope="module")
def engine(work: Path, peers: Peers) -> Iterator[Engine]:
    """Return a Docker engine: that of containerized clients if in use, as two cannot share their data."""
    if isinstance(peers.runtime, DockerRuntime):
        yield peers.runtime._engine
        return
    engine = Engine(work)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image(dist: Path, engine: Engine) -> str:
    """Build the image with the users' script."""
    arguments = " ".join(engine.command()[1:])
    print(output_of(["scripts/image", IMAGE, dist], DOCKER_ARGUMENTS=arguments))
    return IMAGE


@pytest.fixture(scope="module")
def apache_image(engine: Engine, image: str, work: Path) -> str:
    """Return Apache's image; if it cannot be pulled, one made of its jars and a script of the same name."""
    if engine.has_image(APACHE_IMAGE):
        return APACHE_IMAGE
    try:
        engine.run("pull", "-q", APACHE_IMAGE)
    except RuntimeError:
        return made_of_jars(engine, work / "apache-image")
    return APACHE_IMAGE


def made_of_jars(engine: Engine, context: Path) -> str:
    """Build an image that starts Apache's broker by the command of its own image."""
    shutil.copytree(jars("server"), context / "lib")
    (context / "bin").mkdir()
    start = ["java", *TEST_JVM, *OPENS, "-cp", f"'{HOME}/lib/*'", "org.apache.rocketmq.broker.BrokerStartup"]
    (context / "bin" / "mqbroker").write_text(f'exec {" ".join(start)} "$@"\n')
    base = "mqgateway-base" if engine.has_image("mqgateway-base") else "debian:bookworm-slim"
    install = "apt-get install -y -q --no-install-recommends openjdk-17-jre-headless"
    lines = [f"FROM {base}", f"RUN apt-get update -q && {install}", f"COPY . {HOME}"]
    lines += [f"ENV ROCKETMQ_HOME={HOME}", f"WORKDIR {HOME}/bin"]
    (context / "Dockerfile").write_text("\n".join(lines))
    engine.run("build", "--network", "host", "-q", "--tag", APACHE_FROM_JARS, str(context), timeout=1800)
    return APACHE_FROM_JARS


class Package(NamedTuple):
    """The Debian package, and how many seconds its build from wheels took."""

    path: Path
    seconds: float


@pytest.fixture(scope="module")
def package(dist: Path) -> Package:
    """Build the Debian package with the users' script."""
    began = time.monotonic()
    output_of(["scripts/deb", dist])
    (path,) = dist.glob("*.deb")
    return Package(path, time.monotonic() - began)


def do_the_main_job(peers: Peers, namesrv: str, brokers: int = 1) -> float:
    """Create a topic, send to all brokers and receive; return how many seconds it took."""
    began = time.monotonic()
    peer = Peer(namesrv, peers.driver(CURRENT), CURRENT)
    topic = peer.topic("packages", brokers=brokers)
    with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
        with peer.producer() as producer:
            sent = producer.send([message(topic, str(number)) for number in range(32)])
        got = consumer.collect(32)
    peer.close()
    assert sorted(int(one.body) for one in got) == list(range(32))
    assert len({one.queue.broker_name for one in sent}) == brokers
    return time.monotonic() - began


def serving(*more: str) -> tuple[str, list[str]]:
    """Return the address of the name server, and the arguments of `mqgateway serve`."""
    namesrv, broker = free_ports(), free_ports((-2, 0, 1))
    flags = [
        "--bind",
        HOST,
        "--advertise",
        HOST,
        "--namesrv-port",
        str(namesrv),
        "--broker-port",
        str(broker),
    ]
    flags += ["--grpc-port", "0", "--console-port", "0", *more]
    return f"{HOST}:{namesrv}", ["serve", *flags]


def test_pip_in_a_bare_debian(
    peers: Peers, dist: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Install from a folder of wheels, without an index; modules that fit this Python are compiled."""
    bare = Bare(tmp_path / "root")
    python = bare.install("python3-venv")
    shutil.copytree(dist, bare.root / "dist")
    began = time.monotonic()
    bare.run("python3", "-m", "venv", "/venv")
    bare.run("/venv/bin/pip", "install", "-q", "--no-index", "--find-links", "/dist", "mqgateway")
    installed = time.monotonic() - began
    where = "import mqgateway.engine.store.commit_log as it; print(it.__file__)"
    assert bare.run("/venv/bin/python", "-c", where).strip().endswith(".so")
    namesrv, arguments = serving("--data-dir", "/data")
    with bare.running(tmp_path / "log", "/venv/bin/mqgateway", *arguments) as first:
        job = do_the_main_job(peers, namesrv)
    with bare.running(tmp_path / "log2", "/venv/bin/mqgateway", *arguments) as second:
        pass
    with capsys.disabled():
        print(
            f"\npip: Python {python:.0f} s, install {installed:.0f} s, starts {first:.1f} and {second:.1f} s,"
        )
        print(f"main job {job:.1f} s")


def test_the_image_as_apaches(
    peers: Peers, engine: Engine, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Name server and broker by their scripts, as user 3000; healthy, and stopped by `mqshutdown`."""
    (described,) = json.loads(engine.run("image", "inspect", image))
    assert described["Size"] < IMAGE_BYTES and described["Config"]["User"] == "3000:3000"
    namesrv, broker = free_ports(), free_ports((-2, 0, 1))
    run = ["run", "--detach", "--network", "host"]
    settings = ["--set", f"listenPort={broker}", "--set", f"brokerIP1={HOST}", "--set", "grpcServerPort=0"]
    conf = "/opt/rocketmq-5.5.0/conf/broker.conf"
    names = [f"mqgateway-test-{namesrv}", f"mqgateway-test-{broker}"]
    began = time.monotonic()
    try:
        words = ["sh", "mqnamesrv", "--bind", HOST, "--port", str(namesrv)]
        engine.run(*run, "--name", names[0], image, *words)
        words = ["sh", "mqbroker", "-c", conf, "-n", f"{HOST}:{namesrv}", "--bind", HOST, *settings]
        engine.run(*run, "--name", names[1], image, *words)
        wait_until(lambda: "boot success" in engine.run("logs", names[1]), 60, "the broker is up")
        up = time.monotonic() - began
        for name in names:
            engine.run("exec", name, "./healthcheck")
        job = do_the_main_job(peers, f"{HOST}:{namesrv}")
        table = engine.run("exec", names[1], "sh", "mqadmin", "clusterList", "-n", f"{HOST}:{namesrv}")
        assert "broker-a" in table
        assert engine.run("exec", names[1], "id", "-u").strip() == "3000"
        bom = json.loads(engine.run("exec", names[1], "cat", "/opt/mqgateway/share/sbom.cdx.json"))
        assert {"mqgateway", "twisted"} <= {one["name"].lower() for one in bom["components"]}
        said = engine.run("exec", names[1], "sh", "mqshutdown", "broker")
        assert re.search(r"The mqbroker\(\d+\) is running\.\.\.\nSend shutdown request to mqbroker", said)
        wait_until(lambda: not is_running(engine, names[1]), 30, "the broker has stopped")
        assert engine.run("inspect", "--format", "{{.State.ExitCode}}", names[1]).strip() == "0"
    finally:
        engine.run("rm", "--force", "--volumes", *names)
    with capsys.disabled():
        size = described["Size"] / 1e6
        print(f"\nimage: {size:.1f} MB unpacked, both up after {up:.1f} s, main job {job:.1f} s")


def is_running(engine: Engine, name: str) -> bool:
    """Return True if a container runs."""
    return engine.run("inspect", "--format", "{{.State.Running}}", name).strip() == "true"


@pytest.mark.parametrize("name", COMPOSE)
def test_compose(
    name: str,
    peers: Peers,
    engine: Engine,
    image: str,
    apache_image: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The services of a file, on this machine's network, as an engine started here has no other."""
    brokers = COMPOSE[name]
    ports = [9876, 8081, *(port + offset for port in brokers.values() for offset in (-2, 0, 1))]
    assert not [port for port in ports if accepts(f"{HOST}:{port}")], "something else uses these ports"
    folder = ROOT / "packaging" / "image"
    output_of(["docker-compose", "-f", folder / name, "config", "-q"])
    found: dict[str, Any] = yaml.safe_load((folder / name).read_text())
    del found["networks"]
    for service in found["services"].values():
        for field in ("ports", "networks"):
            del service[field]
        service |= {"network_mode": "host", "extra_hosts": [f"rmqnamesrv:{HOST}"]}
        if service["image"].startswith("${MQGATEWAY_IMAGE"):
            service["command"] += f" --bind {HOST}"
    if "apache" in brokers:
        settings = tmp_path / "apache.conf"
        settings.write_text((folder / "conf" / "mixed-apache.conf").read_text() + f"bindAddress={HOST}\n")
        (volume,) = found["services"]["apache"]["volumes"]
        found["services"]["apache"]["volumes"] = [volume.replace("./conf/mixed-apache.conf", str(settings))]
    file = tmp_path / "compose.yaml"
    file.write_text(yaml.safe_dump({"version": "3.8", **found}))
    variables = {"MQGATEWAY_IMAGE": image, "APACHE_IMAGE": apache_image, "DOCKER_HOST": host_of(engine)}
    compose = ["docker-compose", "-p", f"mqgateway-test-{os.getpid()}", "-f", str(file)]
    began = time.monotonic()
    try:
        output_of([*compose, "up", "-d"], 300, **variables)
        wait_until(
            lambda: all(accepts(f"{HOST}:{port}") for port in brokers.values()), 120, "the brokers are up"
        )
        up = time.monotonic() - began
        job = do_the_main_job(peers, f"{HOST}:9876", len(brokers))
    except BaseException:
        print(output_of([*compose, "logs", "--tail=50"], 60, **variables))
        raise
    finally:
        output_of([*compose, "down", "-v"], 300, **variables)
    with capsys.disabled():
        print(f"\n{name}: up after {up:.1f} s, main job {job:.1f} s")


def host_of(engine: Engine) -> str:
    """Return the engine's address, from its options or the environment."""
    words = engine.command()
    return words[words.index("-H") + 1] if "-H" in words else os.environ.get("DOCKER_HOST", "")


def test_the_debian_package(
    peers: Peers, package: Package, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Install in a bare Debian: user, commands, units; the store survives the removal."""
    bare = Bare(tmp_path / "root")
    installed = bare.install(bare.add(package.path))
    assert bare.run("id", "rocketmq") and bare.run("mqgateway", "--version")
    namesrv, arguments = serving("--data-dir", "/var/lib/mqgateway/serve", "-c", "/etc/mqgateway/broker.conf")
    bare.run("install", "-d", "-o", "rocketmq", "/var/lib/mqgateway")
    as_user = ("setpriv", "--reuid=rocketmq", "--regid=rocketmq", "--clear-groups")
    with bare.running(tmp_path / "log", *as_user, "mqgateway", *arguments) as up:
        job = do_the_main_job(peers, namesrv)
    units = sorted(path.name for path in (bare.root / "lib" / "systemd" / "system").glob("mqgateway*"))
    assert len(units) == 4
    bare.install("systemd")
    verified = ("systemd-analyze", "verify", "--man=no", *(f"/lib/systemd/system/{name}" for name in units))
    bare.run(*(word.replace("@.", "@a.") for word in verified))
    bare.run("apt-get", "purge", "-y", "-q", "mqgateway")
    assert not (bare.root / "opt" / "mqgateway").exists()
    assert (bare.root / "var" / "lib" / "mqgateway" / "serve").exists()
    with capsys.disabled():
        size = package.path.stat().st_size / 1e6
        print(f"\ndeb: {size:.1f} MB, built in {package.seconds:.0f} s, installed with Python")
        print(f"in {installed:.0f} s, up after {up:.1f} s, main job {job:.1f} s")


class Sending:
    """A stock producer that sends continuously without retries; `brokers` records where its messages went."""

    def __init__(self, peer: Peer, topic: str) -> None:
        self._peer = peer
        self._topic = topic
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.brokers: list[str] = []
        self.failures: list[ClientError] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._is_over.set()
        self._thread.join(60)

    def _send(self) -> None:
        with self._peer.producer(retries=0) as producer:
            while not self._is_over.wait(0.05):
                try:
                    (sent,) = producer.send([message(self._topic, "on")])
                    self.brokers.append(sent.queue.broker_name)
                except ClientError as failure:
                    self.failures.append(failure)


class Services:
    """The units of the Debian package in a container that systemd boots: a name server, two brokers."""

    def __init__(self, bare: Bare, host: Booted) -> None:
        self.host = host
        self._settings = bare.root / "etc" / "mqgateway"
        self.namesrv = f"{HOST}:{free_ports()}"
        self.brokers = {name: f"{HOST}:{free_ports((-2, 0, 1))}" for name in ("broker", "second")}
        self.write("namesrv", listenPort=port_of(self.namesrv))
        self.write("controller", controllerDLegerPeers=f"n0-{HOST}:{free_ports()}")
        for name, address in self.brokers.items():
            ports = {"listenPort": port_of(address), "grpcServerPort": "0", "consolePort": "0"}
            self.write(name, brokerName=name, namesrvAddr=self.namesrv, brokerIP1=HOST, **ports)

    def write(self, name: str, **settings: str) -> None:
        """Append settings to the file of a service; the last line of a setting counts."""
        with (self._settings / f"{name}.conf").open("a") as file:
            file.writelines(f"{key}={value}\n" for key, value in {"bindAddress": HOST, **settings}.items())

    def systemctl(self, verb: str, *units: str) -> float:
        """Run systemctl; return how many seconds it took."""
        began = time.monotonic()
        self.host.run("systemctl", verb, *units)
        return time.monotonic() - began

    def setting(self, name: str, key: str) -> str:
        """Return the value of a setting that a broker reports."""
        with RawConnection(self.brokers[name]) as connection:
            answer = connection.ask(RequestCode.GET_BROKER_CONFIG)
        assert answer is not None
        return dict(line.split("=", 1) for line in answer.body.decode().splitlines() if "=" in line)[key]


def port_of(address: str) -> str:
    """Return the port of an address."""
    return address.rpartition(":")[2]


def test_the_services(
    peers: Peers, package: Package, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """systemd starts the units, detects readiness, reloads settings and kills a hanging broker.

    A broker with producers that can move elsewhere is drained before it stops.
    """
    bare = Bare(tmp_path / "root")
    bare.install("systemd", bare.add(package.path))
    first = "mqgateway-broker@broker"
    with Booted(bare, tmp_path / "boot.log") as host:
        services = Services(bare, host)
        units = ("mqgateway-namesrv", "mqgateway-controller", first, "mqgateway-broker@second")
        up = services.systemctl("start", *units)
        assert [host.property(unit, "ActiveState") for unit in units] == ["active"] * 4
        job = do_the_main_job(peers, services.namesrv, brokers=2)

        services.write("broker", maxMessageSize="5000000")
        services.systemctl("reload", first)
        wait_until(lambda: services.setting("broker", "maxMessageSize") == "5000000", 20, "it was read")

        stood = time.monotonic()
        services.systemctl("kill", "--signal=STOP", "--kill-whom=main", first)
        wait_until(lambda: host.property(first, "NRestarts") == "1", 90, "the watchdog has seen it")
        wait_until(lambda: host.property(first, "ActiveState") == "active", 60, "it runs again")
        stood = time.monotonic() - stood
        assert "Watchdog timeout" in host.run("journalctl", "--unit", first)

        peer = Peer(services.namesrv, peers.driver(CURRENT), CURRENT)
        with Sending(peer, peer.topic("drained", brokers=2)) as sending:
            wait_until(lambda: len(set(sending.brokers)) == 2, 60, "both are sent to")
            drained = services.systemctl("stop", first)
            before = len(sending.brokers)
            wait_until(lambda: len(sending.brokers) > before + 50, 60, "the other goes on")
        peer.close()
        assert not sending.failures and host.property(first, "Result") == "success"
        assert "no producer sends any more" in host.run("journalctl", "--unit", first)

        services.systemctl("stop", *units)
        services.systemctl("start", "mqgateway")
        do_the_main_job(peers, services.namesrv)
        services.systemctl("stop", "mqgateway")
        assert host.property("mqgateway", "Result") == "success"
    with capsys.disabled():
        print(
            f"\nservices: four up after {up:.1f} s, main job {job:.1f} s, a loop that stood still ran again"
        )
        print(f"after {stood:.1f} s, a broker was drained in {drained:.1f} s, {len(sending.brokers)} sends")

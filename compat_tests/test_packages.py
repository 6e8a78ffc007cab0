"""What is installed runs the main job with the stock Java client: wheels, the image, the Debian package.

All of it is built here, as root, on a Debian with debootstrap, a C compiler and a Docker engine, which takes
most of the time. `PACKAGES_DIST` names a folder of `scripts/wheels --with-dependencies` that is used instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.containers import Engine
from compat_tests.support.driver import message
from compat_tests.support.packages import Bare, told
from compat_tests.support.peers import Peer, Peers
from compat_tests.support.processes import accepts, free_ports, wait_until
from compat_tests.support.servers import HOST, ROOT

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(7200)]

IMAGE = "mqgateway:test"
IMAGE_BYTES = 150_000_000
QUICK_START = ("compose.yaml", "compose-mixed.yaml")


@pytest.fixture(scope="module")
def dist(work: Path) -> Path:
    """Wheels of everything."""
    if given := os.environ.get("PACKAGES_DIST"):
        return Path(given)
    folder = work / "dist"
    print(told([sys.executable, "scripts/wheels.py", "--with-dependencies", folder]))
    return folder


@pytest.fixture(scope="module")
def engine(work: Path) -> Iterator[Engine]:
    """A Docker engine."""
    engine = Engine(work)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def image(dist: Path, engine: Engine) -> str:
    """The image, built as users build it."""
    arguments = " ".join(engine.command()[1:])
    print(told(["scripts/image", IMAGE, dist], DOCKER_ARGUMENTS=arguments))
    return IMAGE


def do_the_main_job(peers: Peers, namesrv: str, brokers: int = 1) -> float:
    """Make a topic, send and receive; gives how many seconds it took."""
    began = time.monotonic()
    peer = Peer(namesrv, peers.driver(CURRENT), CURRENT)
    topic = peer.topic("packages", brokers=brokers)
    with peer.push(peer.name("readers"), {topic: "*"}) as consumer:
        with peer.producer() as producer:
            producer.send([message(topic, str(number)) for number in range(32)])
        got = consumer.collect(32)
    peer.close()
    assert sorted(int(one.body) for one in got) == list(range(32))
    return time.monotonic() - began


def serving(*more: str) -> tuple[str, list[str]]:
    """Where the name server will be, and the arguments of `mqgateway serve`."""
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
    """From a folder of wheels, without an index; what fits this Python is compiled."""
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
    """Whether a container runs."""
    return engine.run("inspect", "--format", "{{.State.Running}}", name).strip() == "true"


def test_compose(
    peers: Peers, engine: Engine, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quick start's services, on this machine's network, as an engine started here has no other."""
    for port in (9876, 10909, 10911, 10912):
        if accepts(f"{HOST}:{port}"):
            pytest.fail(f"something else uses port {port}")
    for name in QUICK_START:
        told(["docker-compose", "-f", ROOT / "packaging" / "image" / name, "config", "-q"])
    found: dict[str, Any] = yaml.safe_load((ROOT / "packaging" / "image" / QUICK_START[0]).read_text())
    del found["networks"]
    for service in found["services"].values():
        for field in ("ports", "networks"):
            del service[field]
        service |= {"network_mode": "host", "extra_hosts": [f"rmqnamesrv:{HOST}"]}
        service["command"] += f" --bind {HOST}"
    file = tmp_path / "compose.yaml"
    file.write_text(yaml.safe_dump({"version": "3.8", **found}))
    variables = {"MQGATEWAY_IMAGE": image, "DOCKER_HOST": host_of(engine)}
    compose = ["docker-compose", "-p", f"mqgateway-test-{os.getpid()}", "-f", str(file)]
    began = time.monotonic()
    try:
        told([*compose, "up", "-d"], 300, **variables)
        wait_until(lambda: accepts(f"{HOST}:10911"), 60, "the broker is up")
        up = time.monotonic() - began
        job = do_the_main_job(peers, f"{HOST}:9876")
    finally:
        told([*compose, "down", "-v"], 300, **variables)
    with capsys.disabled():
        print(f"\ncompose: up after {up:.1f} s, main job {job:.1f} s")


def host_of(engine: Engine) -> str:
    """The engine's address, as variables tell it."""
    words = engine.command()
    return words[words.index("-H") + 1] if "-H" in words else os.environ.get("DOCKER_HOST", "")


def test_the_debian_package(
    peers: Peers, dist: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Installed in a bare Debian: its user, its commands, its units; the store outlives it."""
    began = time.monotonic()
    told(["scripts/deb", dist])
    built = time.monotonic() - began
    (package,) = dist.glob("*.deb")
    bare = Bare(tmp_path / "root")
    shutil.copy(package, bare.root / "tmp" / "mqgateway.deb")
    installed = bare.install("/tmp/mqgateway.deb")
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
        size = package.stat().st_size / 1e6
        print(f"\ndeb: {size:.1f} MB, built in {built:.0f} s, installed with Python in {installed:.0f} s,")
        print(f"up after {up:.1f} s, main job {job:.1f} s")

"""The whole server as a process, on a small file system of its own that is full or read-only."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.support.processes import free_ports
from mqgateway.gateway.client import (
    Admin,
    ClientError,
    Message,
    MessageQueue,
    Producer,
    PullConsumer,
    SendFailed,
    admin_broker,
)

PROJECT = Path(__file__).parents[3]
SIZE = 12 << 20
SETTINGS = {
    "mappedFileSizeCommitLog": 1 << 20,
    "mappedFileSizeConsumeQueue": 6000,
    "maxHashSlotNum": 10_000,
    "maxIndexNum": 40_000,
    "diskFreeSpaceMin": 0,
    "flushConsumerOffsetInterval": 500,
}
TOPIC = "drained"


def until(met: Callable[[], object], what: str, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Server:
    """Name server and broker with their store in a folder."""

    def __init__(self, store: Path, logs: Path) -> None:
        self.store = store
        self.log = logs / "server.log"
        self.ports = free_ports(), free_ports((-2, 0, 1))
        self.namesrv = f"127.0.0.1:{self.ports[0]}"
        self._child: subprocess.Popen[bytes] | None = None
        self.banner: dict[str, object] = {}

    def start(self) -> None:
        arguments = ["serve", "--data-dir", str(self.store), "--bind", "127.0.0.1", "--output", "json"]
        arguments += ["--namesrv-port", str(self.ports[0]), "--broker-port", str(self.ports[1])]
        arguments += ["--advertise", "127.0.0.1"]
        for name, value in SETTINGS.items():
            arguments += ["--set", f"{name}={value}"]
        command = [sys.executable, "-c", "from mqgateway.gateway.cli.main import main; main()", *arguments]
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, cwd=PROJECT)
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line, self.log.read_text()[-3000:]
        self.banner = json.loads(line)

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self._child is not None:
            self._child.send_signal(number)
            self._child.wait(30)
            assert self._child.stdout is not None
            self._child.stdout.close()
            self._child = None

    @property
    def warnings(self) -> str:
        return str(self.banner["warnings"])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[Server]:
    server = Server(folder / "store", tmp_path)
    server.start()
    try:
        yield server
    finally:
        server.stop(signal.SIGKILL)


def send(server: Server, *bodies: str) -> list[str]:
    """Send bodies until a send fails; return those the server accepted."""
    taken = []
    settings = {"retry_times_when_send_failed": 0}
    with Producer("bad-disks", server.namesrv, **settings) as producer:
        for body in bodies:
            try:
                producer.send(Message(TOPIC, body, keys="k"))
            except ClientError:
                break
            taken.append(body)
    return taken


def refusal(server: Server) -> SendFailed:
    with (
        Producer("bad-disks", server.namesrv, retry_times_when_send_failed=0) as producer,
        pytest.raises(SendFailed) as refused,
    ):
        producer.send(Message(TOPIC, "refused"))
    return refused.value


def drain(server: Server) -> list[str]:
    found: list[str] = []
    with PullConsumer("drainers", server.namesrv) as consumer:
        for queue in consumer.queues(TOPIC):
            offset = consumer.min_offset(queue)
            while offset < consumer.max_offset(queue):
                result = consumer.pull(queue, offset)
                found += [message.body.decode() for message in result.messages]
                offset = result.next_offset
    return sorted(found)


def a_queue(server: Server) -> MessageQueue:
    with PullConsumer("drainers", server.namesrv) as consumer:
        return consumer.queues(TOPIC)[0]


def commit(server: Server, queue: MessageQueue, offset: int) -> None:
    with PullConsumer("drainers", server.namesrv) as consumer:
        consumer.commit(queue, offset)


def committed(server: Server, queue: MessageQueue) -> int:
    with PullConsumer("drainers", server.namesrv) as consumer:
        return consumer.committed(queue)


def figures(server: Server) -> dict[str, str]:
    with Admin(server.namesrv) as admin:
        return admin.ask(admin_broker.figures(), f"127.0.0.1:{server.ports[1]}")


def lines_with(server: Server, text: str) -> int:
    return server.log.read_text().count(text)


def fill(folder: Path) -> Path:
    """Fill the file system and return the file that takes the space."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_full_disk(server: Server, folder: Path, number: int) -> None:
    """On a full disk the server restarts after a stop or a kill and is drained.

    It accepts sends again once there is space.
    """
    bodies = send(server, *(f"{i:04}" for i in range(200)))
    assert len(bodies) == 200
    queue = a_queue(server)
    server.stop(number)
    filler = fill(folder)
    server.start()
    if number == signal.SIGTERM:
        assert "No space left on device" in server.warnings and "/store/" in server.warnings
    assert drain(server) == bodies
    commit(server, queue, 7)
    refused = refusal(server)
    assert refused.code == 14 and str(folder) in str(refused)
    time.sleep(1.2)
    assert committed(server, queue) == 7
    assert lines_with(server, "consumerOffset.json could not be written") == 1
    filler.unlink()
    until(lambda: send(server, "after"), "writes are taken again")
    assert drain(server) == [*bodies, "after"]
    until(lambda: not figures(server).get("writesRefused"), "the figures know of it")
    until(lambda: lines_with(server, "consumerOffset.json is written again"), "offsets are saved")
    if number == signal.SIGTERM:
        server.stop(signal.SIGKILL)
        server.start()
        assert "No space left" not in server.warnings
        assert drain(server) == [*bodies, "after"]
        assert committed(server, queue) == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_disk_that_is_read_only(server: Server, folder: Path, number: int) -> None:
    """On a read-only mount the server is drained; it accepts sends after a remount, without a restart."""
    bodies = send(server, *(f"{i:04}" for i in range(200)))
    queue = a_queue(server)
    server.stop(number)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    server.start()
    assert "Read-only file system" in server.warnings
    assert "Read-only file system" in figures(server)["writesRefused"]
    assert drain(server) == bodies
    commit(server, queue, 7)
    refused = refusal(server)
    assert refused.code == 14
    assert "Read-only file system" in str(refused) and str(folder) in str(refused)
    time.sleep(1.2)
    assert lines_with(server, "consumerOffset.json could not be written") == 1
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    until(lambda: send(server, "after"), "writes are taken again")
    until(lambda: lines_with(server, "consumerOffset.json is written again"), "offsets are saved")
    assert drain(server) == [*bodies, "after"]
    if number == signal.SIGKILL:
        server.stop(signal.SIGKILL)
        server.start()
        assert drain(server) == [*bodies, "after"]
        assert committed(server, queue) == 7


def test_store_files_are_private_and_a_warning_names_wider_permissions(server: Server, folder: Path) -> None:
    send(server, "secret")
    server.stop()
    paths = [folder / "store", *(folder / "store").rglob("*")]
    assert len(paths) > 10
    wide = {str(path): oct(path.stat().st_mode) for path in paths if path.stat().st_mode & 0o077}
    assert not wide
    assert {oct(path.stat().st_mode & 0o777) for path in paths if path.is_file()} == {"0o600"}
    for path in (folder / "store", *(folder / "store").rglob("*")):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    server.start()
    assert lines_with(server, "may be read by other users") == 1
    assert drain(server) == ["secret"]

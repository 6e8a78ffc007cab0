"""The whole server as a process whose wall clock is set while it runs: periodic and due work continues.

A small library, which is compiled here, overrides the system's clock.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client.blocking import Admin, PullConsumer, PushConsumer, TransactionProducer
from mqgateway.gateway.client.listening import Consumed
from mqgateway.gateway.client.message import Message, ReceivedMessage, TransactionState
from mqgateway.gateway.client.options import ConsumeFrom

PROJECT = Path(__file__).parents[3]
SETTINGS = {
    "flushConsumerOffsetInterval": 1000,
    "flushCommitLogLeastPages": 0,
    "registerNameServerPeriod": 10_000,
    "registerBrokerTimeoutMills": 1000,
    "transactionCheckInterval": 1000,
    "transactionTimeOut": 3000,
}
AHEAD, BACK = 3_600_000, -120_000
"""Offsets (ms) of the clock from the system's: an hour ahead, then two minutes behind."""


class Server:
    """The server process and its clock."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.folder = folder
        self._process = process
        self._clock = folder / "clock"
        self.lines: list[str] = []
        self.is_ready = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def set_clock(self, millis: int) -> None:
        """Set the offset (ms) of the server's wall clock from the system's."""
        with self._clock.open("r+b") as file:
            file.write(struct.pack("=q", millis))

    def address(self, name: str) -> str:
        """Return the address of a service as it was printed."""
        return next(found[1] for line in self.lines if (found := re.match(rf"{name} +(\S+:\d+)", line)))

    def flushed_until(self) -> int:
        """The store timestamp (ms) of the last message that is on the disk, as the checkpoint says."""
        data = (self.folder / "store/checkpoint").read_bytes()
        return int.from_bytes(data[:8], "big")

    def offsets(self) -> str:
        """The file of consumer offsets."""
        path = self.folder / "store/config/consumerOffset.json"
        return path.read_text() if path.exists() else ""

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            if line.startswith("ready in"):
                self.is_ready.set()


class Registrations:
    """A name server that only counts registrations."""

    def __init__(self) -> None:
        self.count = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                threading.Thread(target=self._read, args=self._socket.accept()[:1], daemon=True).start()
        except OSError:
            return  # closed

    def _read(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1 << 20):
                self.count += data.count(b'"code":103')

    def close(self) -> None:
        self._socket.close()


@contextmanager
def running(folder: Path, registrations: Registrations) -> Iterator[Server]:
    library = folder / "set_clock.so"
    source = Path(__file__).with_name("set_clock.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    (folder / "clock").write_bytes(bytes(8))
    command = [sys.executable, "-m", "mqgateway.gateway.cli.main", "serve", "--data-dir", str(folder)]
    command += [
        "--namesrv-port",
        "0",
        "--broker-port",
        "0",
        "--bind",
        "127.0.0.1",
        "--advertise",
        "127.0.0.1",
    ]
    for name, value in (SETTINGS | {"namesrvAddr": registrations.address}).items():
        command += ["--set", f"{name}={value}"]
    environment = os.environ | {
        "LD_PRELOAD": str(library),
        "SET_CLOCK_FILE": str(folder / "clock"),
        "PYTHONUNBUFFERED": "1",
    }
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=PROJECT, env=environment, text=True, **output) as process:  # type: ignore[call-overload]
        try:
            server = Server(process, folder)
            assert server.is_ready.wait(20), server.lines
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


class Listener:
    """Records the arrival time of each message; transactions stay open until the broker checks back."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    def __call__(self, messages: list[ReceivedMessage], _: object) -> Consumed:
        for message in messages:
            self.times.setdefault(message.body.decode(), time.monotonic())
        return Consumed.SUCCESS

    def execute(self, message: Message, argument: object) -> TransactionState:
        return TransactionState.UNKNOWN

    def check(self, message: ReceivedMessage) -> TransactionState:
        return TransactionState.COMMIT


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Scene:
    """Requests to the server around each change of its clock."""

    def __init__(self, server: Server, producer: TransactionProducer, pulls: PullConsumer) -> None:
        self.server = server
        self.producer = producer
        self.pulls = pulls
        self.heard = Listener()
        self.sent: dict[str, tuple[float, float]] = {}

    def send(self, name: str, seconds: float, **how: int) -> int:
        """Send a message due in `seconds`; return its approximate store timestamp (ms)."""
        self.sent[name] = time.monotonic(), seconds
        self.producer.send(Message("T", name, **how))  # type: ignore[arg-type]
        return int(time.time() * 1000)

    def set_clock(self, millis: int, number: int) -> None:
        server, heard = self.server, self.heard
        self.send(f"before {number} at once", 0)
        self.send(f"before {number} level 1", 1, delay_level=1)
        self.send(f"before {number} level 2", 5, delay_level=2)
        self.send(f"before {number} timer", 4, delay_millis=4000)
        self.sent[f"open {number}"] = time.monotonic(), 3  # transactionTimeOut
        self.producer.send_in_transaction(Message("T", f"open {number}"))
        server.set_clock(millis)
        now = self.send(f"after {number} at once", 0) + millis
        self.send(f"after {number} level 1", 1, delay_level=1)
        self.send(f"after {number} timer", 3, delay_millis=3000)
        queue = self.pulls.queues("T")[0]
        self.pulls.commit(queue, 1000 + number)
        wait_for(
            lambda: f"{queue.queue_id}:{1000 + number}" in "".join(server.offsets().split()), 3, "offsets"
        )
        wait_for(lambda: abs(server.flushed_until() - now) < 10_000, 3, "nothing is synced")
        wait_for(lambda: set(heard.times) >= set(self.sent), 10, f"{set(self.sent) - set(heard.times)} wait")
        for name, (began, seconds) in self.sent.items():
            took = heard.times[name] - began
            assert seconds - 0.05 <= took <= seconds + 4, f"{name} came after {took:.1f} s"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a library stands before the system's clock")
def test_server_keeps_working_when_its_clock_is_set(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no C compiler")
    registrations = Registrations()
    with running(tmp_path, registrations) as server:
        name_server = server.address("name server")
        with Admin(name_server) as admin:
            admin.create_topic(TopicConfig("T", 1, 1))
        heard = Listener()
        producer = TransactionProducer("P", heard, name_server)
        begin = ConsumeFrom.FIRST_OFFSET
        consumer = PushConsumer("G", heard, name_server, consume_from_where=begin)
        consumer.subscribe("T")
        with producer, consumer, PullConsumer("H", name_server) as pulls:
            scene = Scene(server, producer, pulls)
            scene.heard = heard
            wait_for(lambda: registrations.count > 0, 5, "it does not register")
            for number, millis in enumerate((AHEAD, BACK), 1):
                before = registrations.count
                scene.set_clock(millis, number)
                wait_for(lambda before=before: registrations.count > before, 12, "it does not register again")
        listed = [line for line in server.lines if "no heartbeat" in line.lower()]
        assert not listed
    registrations.close()

"""The processes of a storm, the small disk of their stores, their clock, and the faults of each."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from compat_tests.support.processes import accepts, free_ports, start_logged, wait_until

HOST = "127.0.0.1"
PROJECT = Path(__file__).parents[2]
START_SECONDS = 60
NANOS = 1_000_000_000

SETTINGS = {
    "brokerClusterName": "storm",
    "brokerName": "storm-a",
    "autoCreateTopicEnable": "true",
    "mappedFileSizeCommitLog": str(4 << 20),
    "mappedFileSizeConsumeQueue": "60000",
    "maxHashSlotNum": "50000",
    "maxIndexNum": "200000",
    "diskFreeSpaceMin": "0",
    "cleanFileForciblyEnable": "false",
    "haCopyWholeLog": "true",
    "transactionTimeOut": "2000",
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "10000",
    "brokerNotActiveTimeoutMillis": "10000",
}
"""Small files, so that they roll; frequent transaction checks; writes until the disk is full."""


class Ground:
    """The folder of the stores; `is_small` is True if it could be mounted as a file system of its own."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder / "disk"
        self.folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(self.folder)]
        self.is_small = subprocess.run(command, capture_output=True, check=False).returncode == 0
        self._filler = self.folder / "filler"

    def fill(self) -> None:
        """Fill the disk."""
        with self._filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))

    def free(self) -> None:
        """Free the disk space again."""
        self._filler.unlink(missing_ok=True)

    def save(self, to: Path) -> None:
        """Copy the stores to a folder, for analysis."""
        subprocess.run(["cp", "-a", "--sparse=always", str(self.folder), str(to)], check=False)

    def close(self) -> None:
        """Unmount."""
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False)


class ServerClock:
    """The wall clock that the servers read. `moves` are (monotonic time, offset in seconds), oldest first."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._file.write_bytes(bytes(8))
        self.moves: list[tuple[float, float]] = [(0.0, 0.0)]
        library = folder / "clock.so"
        source = Path(__file__).with_name("clock.c")
        build = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        self.can_move = subprocess.run(build, check=False).returncode == 0
        self.environment = (
            {"LD_PRELOAD": str(library), "STORM_CLOCK": str(self._file)} if self.can_move else {}
        )

    def move(self, seconds: float) -> None:
        """Set the clock to an offset from the true clock."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("=q", int(seconds * NANOS)))
        self.moves.append((time.monotonic(), seconds))

    @property
    def offset(self) -> float:
        """Lead of the servers' clock in seconds."""
        return self.moves[-1][1]


class Node:
    """One server process that can be ended and started again."""

    def __init__(
        self, name: str, command: list[str], folder: Path, addresses: list[str], environment: dict[str, str]
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = [
            sys.executable,
            "-c",
            "from mqgateway.gateway.cli.main import main; main()",
            *command,
        ]
        self._addresses = addresses
        self._environment = environment
        self._popen: subprocess.Popen[bytes] | None = None
        self.kills: list[float] = []
        self.starts: list[float] = []
        self.counts: Counter[str] = Counter()

    def launch(self) -> None:
        """Start the process, without waiting."""
        self.starts.append(time.monotonic())
        self._popen = start_logged(
            self._command,
            self.log,
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT), **self._environment},
        )

    def wait_until_up(self) -> None:
        """Wait until all addresses accept connections. Raises `RuntimeError` if the process ended."""

        def is_up() -> bool:
            assert self._popen is not None
            if self._popen.poll() is not None:
                tail = self.log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{self.name} ended with {self._popen.returncode}:\n{tail}")
            return all(accepts(address) for address in self._addresses)

        wait_until(is_up, START_SECONDS, f"{self.name} is up")

    def signal(self, number: int) -> None:
        """Send a signal."""
        if self._popen is not None:
            self._popen.send_signal(number)

    def kill(self, phase: str) -> None:
        """Kill the process with SIGKILL."""
        if self._popen is not None:
            if self._popen.poll() is None:
                self.counts[f"killed in {phase}"] += 1
            self._popen.kill()
            self._popen.wait(30)
            self._popen = None
            self.kills.append(time.monotonic())

    def stop(self, grace: float = 60) -> None:
        """Stop the process cleanly, by SIGTERM."""
        if self._popen is not None:
            self._popen.send_signal(signal.SIGTERM)
            self._popen.wait(grace)
            self.counts["stopped"] += 1
            self._popen = None


def group(folder: Path, ground: Ground, clock: ServerClock) -> tuple[str, list[Node]]:
    """Return a name server's address, and a master (with that name server) and its slave, not started."""
    port, namesrv = free_ports((-2, 0, 1, 8, 10, 11)), free_ports()
    address = f"{HOST}:{namesrv}"

    def settings(more: Iterable[tuple[str, str]]) -> list[str]:
        return [
            word
            for name, value in {**SETTINGS, **dict(more)}.items()
            for word in ("--set", f"{name}={value}")
        ]

    common = ["--bind", HOST, "--advertise", HOST, "--log-level", "info"]
    master = ["serve", "--data-dir", str(ground.folder / "master"), *common]
    master += ["--namesrv-port", str(namesrv), "--broker-port", str(port)]
    master += settings([("brokerRole", "ASYNC_MASTER")])
    slave = ["broker", "--data-dir", str(ground.folder / "slave"), *common]
    slave += ["-n", address, "--port", str(port + 10)]
    slave += settings([("brokerRole", "SLAVE"), ("brokerId", "1")])
    return address, [
        Node("master", master, folder, [address, f"{HOST}:{port}"], clock.environment),
        Node("slave", slave, folder, [f"{HOST}:{port + 10}"], clock.environment),
    ]

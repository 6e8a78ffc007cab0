"""JVMs that run official tests, one after another, each lane against a cluster of its own."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from pathlib import Path

from compat_tests.official.classes import PACKAGE
from compat_tests.official.cluster import BROKERS, NAME, Cluster
from compat_tests.official.results import FAILED, WHOLE_CLASS, Outcome, Outcomes
from compat_tests.support.artifacts import CURRENT, OPENS, program
from compat_tests.support.processes import Process
from compat_tests.support.runtime import Runtime

MAIN = "compat.official.Runner"


def prepare() -> str:
    """Return the class path of the tests; fetch and compile what is missing."""
    return program("official", "official", CURRENT)


METHOD_SECONDS = 150
"""Longest silence of a JVM: a test waits two minutes for a consumer that misses a message."""

JVM = ("-XX:+UseSerialGC", "-Xmx512m", "-XX:TieredStopAtLevel=1", *OPENS)


class TestJvm:
    """A JVM with the official tests in it."""

    def __init__(self, runtime: Runtime, cluster: Cluster, folder: Path) -> None:
        properties = {
            "official.namesrv": cluster.namesrv_address,
            "official.cluster": NAME,
            "official.brokers": ",".join(BROKERS),
            "official.addresses": ",".join(cluster.broker_addresses),
            "RMQ_PROXY_HOME": str(folder),
            "user.home": str(folder),
            "java.io.tmpdir": str(folder),
        }
        options = [f"-D{name}={value}" for name, value in properties.items()]
        self._process: Process = runtime.java([*JVM, *options, "-cp", prepare(), MAIN])
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, name: str, wanted: list[str], unwanted: list[str]) -> tuple[Outcomes, bool]:
        """Run methods of a class; return their outcomes, and True if the JVM reached the end."""
        stdin = self._process.popen.stdin
        assert stdin is not None
        stdin.write(f"{PACKAGE}{name}\t{','.join(wanted)}\t{','.join(unwanted)}\n".encode())
        stdin.flush()
        outcomes: Outcomes = {}
        running = ""
        while True:
            try:
                line = self._lines.get(timeout=METHOD_SECONDS)
                said = "the JVM ended"
            except queue.Empty:
                line, said = None, f"nothing came of it in {METHOD_SECONDS} s"
            if line is None:
                if running:
                    outcomes[running] = Outcome(FAILED, METHOD_SECONDS, said)
                return outcomes, False
            what, *parts = line.split("\t")
            if what == "begin":
                running = parts[0]
            elif what == "end":
                outcomes[parts[0]] = Outcome(parts[1], float(parts[2]), parts[3])
                running = ""
            elif what == "done":
                return outcomes, True

    def close(self) -> None:
        """Kill the JVM; on a machine that was suspended, the end may come after the wait."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.kill()
        self._reader.join(10)

    def _read(self) -> None:
        stdout = self._process.popen.stdout
        assert stdout is not None
        for line in stdout:
            self._lines.put(line.decode(errors="replace").rstrip("\n"))
        self._lines.put(None)


class Lane:
    """A cluster and the JVM that currently runs tests against it."""

    _starting = threading.Lock()

    def __init__(self, kind: str, runtime: Runtime, folder: Path) -> None:
        self._runtime = runtime
        self._folder = folder
        self._cluster = Cluster(kind, folder)
        self._jvm: TestJvm | None = None

    def start(self) -> None:
        """Start the servers."""
        config = self._folder / "conf" / "rmq-proxy.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("{}")
        with self._starting:  # a dozen servers that start at the same time answer slowly
            self._cluster.start()

    def run(self, name: str, wanted: list[str]) -> Outcomes:
        """Run a class, or only the `wanted` methods, to the end. Replace a JVM that hangs."""
        outcomes: Outcomes = {}
        while True:
            if self._jvm is None:
                self._jvm = TestJvm(self._runtime, self._cluster, self._folder)
            left = [method for method in wanted if method not in outcomes]
            more, ended = self._jvm.run(name, left, sorted(outcomes))
            if outcomes and set(more) == {WHOLE_CLASS}:
                return outcomes  # the JVM that was replaced hung in the last method: there was none to run
            outcomes |= more
            if not ended:
                self.rest()
            if ended or not more or (wanted and set(wanted) <= set(outcomes)):
                return outcomes or {WHOLE_CLASS: Outcome(FAILED, 0, "the JVM ended before the first test")}

    def rest(self) -> None:
        """End the JVM; the next class gets a new JVM."""
        if self._jvm is not None:
            self._jvm.close()
            self._jvm = None

    def close(self) -> None:
        """End the JVM and the servers."""
        self.rest()
        self._cluster.discard()

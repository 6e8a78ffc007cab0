"""Programs of Kafka's ecosystem: their jar sets, our programs compiled against them, and their processes.

`frameworks/NAME.pom.xml` is a jar set with its versions, `frameworks/NAME` holds programs of ours.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from compat_tests.kafka.support.builds import digest
from compat_tests.support.artifacts import cache_folder, copied_jars, made, run
from compat_tests.support.processes import Process, wait_until
from compat_tests.support.runtime import LocalRuntime

FRAMEWORKS = Path(__file__).parents[1] / "frameworks"
JVM = ("-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = "-Dorg.slf4j.simpleLogger.defaultLogLevel"
END_SECONDS = 60.0


def jars(name: str) -> Path:
    """Return the folder of a jar set."""
    pom = FRAMEWORKS / f"{name}.pom.xml"
    version = digest([pom])
    return copied_jars(pom, version, cache_folder() / "jars" / f"kafka-{name}-{version}")


def class_path(name: str) -> str:
    """Return the class path of a jar set."""
    return f"{jars(name)}/*"


def java_program(name: str, release: int = 11) -> str:
    """Return the class path of the programs beside a jar set, compiled against it for a release of Java."""
    sources = sorted((FRAMEWORKS / name).rglob("*.java"))
    needed = class_path(name)
    command = ["javac", "-nowarn", "--release", str(release), "-encoding", "UTF-8", "-cp", needed]
    target = cache_folder() / "classes" / f"kafka-{name}-{digest([FRAMEWORKS / f'{name}.pom.xml', *sources])}"
    return f"{made(target, lambda aside: run([*command, '-d', str(aside), *map(str, sources)]))}:{needed}"


class Framework:
    """A Java program that prints lines. It runs on this machine, as it shares files with its scenario."""

    def __init__(
        self,
        work: Path,
        path: str,
        main: str,
        arguments: Sequence[str],
        env: Mapping[str, str] | None = None,
    ) -> None:
        java = [*JVM, f"{LOGGING}=warn", "-cp", path, main, *arguments]
        self._process: Process = LocalRuntime(work).java(java, env)
        self.popen = self._process.popen
        self.lines: list[str] = []
        """Lines printed so far."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, met: Callable[[list[str]], object], seconds: float, what: str) -> None:
        """Wait until a condition of the printed lines holds; the failure shows the last of them."""
        try:
            wait_until(lambda: met(list(self.lines)) or self._check_runs(), seconds, what)
        except TimeoutError as failure:
            raise TimeoutError(f"{failure}; printed: {self.lines[-10:]}") from failure

    def ends(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end of the process; return True if it came."""
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._reader.join(END_SECONDS)

    def end(self) -> int:
        """End the program's standard input, and return its exit code."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        self.popen.wait(END_SECONDS)
        self._reader.join(END_SECONDS)
        return self.popen.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.kill()

    def _check_runs(self) -> bool:
        if self.popen.poll() is not None:
            raise RuntimeError(f"ended with {self.popen.returncode}: {self.lines[-10:]}")
        return False

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.append(line.decode().rstrip())

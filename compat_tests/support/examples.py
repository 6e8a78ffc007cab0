"""The official example programs, unchanged, each a process of its own."""

from __future__ import annotations

import os
import re
import threading

from compat_tests.support.artifacts import SMALL_JVM, class_path
from compat_tests.support.processes import wait_until
from compat_tests.support.runtime import Runtime

PACKAGE = "org.apache.rocketmq.example"


class Example:
    """One example program and its output; leaving it ends the program."""

    def __init__(self, runtime: Runtime, name: str, namesrv: str) -> None:
        arguments = [*SMALL_JVM, "-cp", class_path("example"), f"{PACKAGE}.{name}"]
        self.name = name
        self._process = runtime.java(arguments, {"NAMESRV_ADDR": namesrv})
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    def until(self, pattern: str, count: int, seconds: float = 200) -> None:
        """Wait until a pattern has matched `count` different texts."""
        found: set[str] = set()

        def enough() -> bool:
            found.update(re.findall(pattern, self._said()))
            return len(found) >= count

        try:
            wait_until(enough, seconds, f"{self.name}: {count} times {pattern}", 0.2)
        except TimeoutError as failure:
            last = self._said()[-2000:]
            raise TimeoutError(f"{failure}; it came {len(found)} times; output ends: {last}") from None

    def says(self, pattern: str, seconds: float) -> bool:
        """Return True if a pattern matches the output within a time."""
        try:
            self.until(pattern, 1, seconds)
        except TimeoutError:
            return False
        return True

    def ended(self, seconds: float = 200) -> None:
        """Wait for the end of a program that ends by itself; check that it ended cleanly."""
        assert self._process.popen.wait(seconds) == 0, f"{self.name} ended with an error"

    def _said(self) -> str:
        return self._output.decode(errors="replace")

    def _read(self) -> None:
        # Chunks, not lines: some programs end without the end of their line.
        stdout = self._process.popen.stdout
        assert stdout is not None
        while chunk := os.read(stdout.fileno(), 65536):
            self._output += chunk

    def __enter__(self) -> Example:
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.kill()
        self._reader.join(10)

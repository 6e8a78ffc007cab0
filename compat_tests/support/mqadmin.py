"""The official mqadmin as a Python object, with one JVM for all commands; and the comparison of outputs."""

from __future__ import annotations

import json
import re
import threading
from typing import NamedTuple

from compat_tests.support.artifacts import SMALL_JVM, program
from compat_tests.support.peers import Peer
from compat_tests.support.processes import Process, wait_until
from compat_tests.support.runtime import Runtime

MAIN = "compat.AdminShell"
COMMAND_SECONDS = 240
"""Of one command: the first also waits for the start of the JVM."""
ATTEMPTS = 3
"""Runs of a command whose tool does not wait for a server as long as a busy machine needs."""
TIMEOUTS = ("RemotingTimeoutException", "RemotingTooMuchRequestException", "TIMEOUT_CLEAN_QUEUE")
"""Printed by a tool that did not wait longer, or passed on from a broker that did not."""
UNCHANGEABLE = "attempt to update an unchangeable attribute"
"""Printed by updateTopic if the topic has the attribute that it is to be created with."""


class Output(NamedTuple):
    """A command's outputs, and the status it would have ended with."""

    out: str
    err: str
    exit: int

    @property
    def has_made_topic(self) -> bool:
        """If a topic was created, also by an earlier run of updateTopic that was not answered in time."""
        return "create topic to" in self.out or UNCHANGEABLE in self.err

    @property
    def timed_out(self) -> bool:
        """If the tool or a broker gave up, so that the command may be half done."""
        return any(name in self.out or name in self.err for name in TIMEOUTS)


class Mqadmin:
    """One JVM with the official tools in it."""

    def __init__(self, runtime: Runtime) -> None:
        arguments = [*SMALL_JVM, "-Djava.security.manager=allow", "-cp", program("mqadmin", "tools"), MAIN]
        self._process: Process = runtime.java(arguments)

    def run(self, *command: str) -> Output:
        """Run one command; if it times out, run it again."""
        for _ in range(ATTEMPTS - 1):
            output = self.run_once(*command)
            if not output.timed_out:
                return output
        return self.run_once(*command)

    def run_once(self, *command: str) -> Output:
        """Run one command and wait for its end; a command that hangs ends the JVM."""
        stdin, stdout = self._process.popen.stdin, self._process.popen.stdout
        assert stdin is not None
        assert stdout is not None
        guard = threading.Timer(COMMAND_SECONDS, self._process.kill)
        guard.start()
        try:
            stdin.write(json.dumps(command).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        finally:
            guard.cancel()
        if not line:
            raise RuntimeError(f"mqadmin ended during: {' '.join(command)}")
        return Output(**json.loads(line))

    def close(self) -> None:
        """End the JVM."""
        if self._process.popen.stdin is not None:
            self._process.popen.stdin.close()
        self._process.kill()


def make_batched(admin: Mqadmin, peer: Peer, topic: str, broker_address: str, queues: int) -> None:
    """Create a topic with batch queues, known to the client; the client itself cannot create it."""
    created = admin.run(
        *("updateTopic", "-n", peer.namesrv_address, "-b", broker_address, "-t", topic),
        *("-r", str(queues), "-w", str(queues), "-a", "+queue.type=BatchCQ"),
    )
    assert created.has_made_topic, created
    wait_until(lambda: peer.knows(topic, queues), 30, f"{topic} has a route")


PATTERNS = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b\d{4}-\d\d-\d\d[ #]\d\d:\d\d:\d\d([,:.]\d{1,3})?", "TIME"),
    (r"\b1\d{12}\b", "MILLIS"),
    (r"\b[0-9A-F]{32,58}\b", "ID"),
    (r"\b\d{1,3}(\.\d{1,3}){3}(:\d+|@\d+#\d+)?", "ADDRESS"),
    (r"ADDRESS@[\w.-]+", "CLIENT"),
    (r"(?<=commitLogDiskRatio_)\S+\s+[\d.]+", "PATH"),
    (r"(?<=TPS: )[\d.]+", "RATE"),
    (r"(?<=Timestamp=)\d+", "MILLIS"),
    (r"(?<=storeSize=)\d+", "SIZE"),
    (r"(?<=commitLogOffset=)\d+", "OFFSET"),
    (r"(?<=CommitLog Offset:)\s+\d+", " OFFSET"),
    (r"[ \t]+", " "),
    (r" +(?=\n)", ""),
)
"""Parts that may differ between equivalent outputs: addresses, times, ids, and column widths."""


def normalised(text: str) -> str:
    """Return a command's output in which each part that may differ is replaced by its kind."""
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    return text.strip()

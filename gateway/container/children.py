"""The process of one broker, and its messages to and from the container.

Messages are JSON, one object a line. The container writes to the child's standard input: first the settings,
later changes of them. That pipe is open as long as the container lives; its end means that the container is
gone. The child reports on its standard output that it is up, or why it failed. A thread for each child reads
its output and waits for its end; everything else runs on the event loop.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Protocol

from mqgateway.gateway.runtime.threads import ThreadedLoop

log = logging.getLogger(__name__)

LINE_MAX = 1 << 20
"""Maximum bytes of a line; longer ones are not messages and are dropped."""

Message = Mapping[str, Any]
"""A message of either side: values by name."""

LEAVING, SHORTFALL = "leaving", "shortfall"
"""Keys of messages about a stop: the names of all brokers that stop together, and why a drain was incomplete.
"""

REMOVING, REMOVAL = "removing", "removal"
"""Keys of messages about the removal of a broker: the names of the brokers that stay, empty to cancel it, and
the broker's report."""

COPYING, COPIED = "copying", "copied"
"""Keys of messages about tables for a broker that is added: its settings, and its name with the error of the
copy, empty if there was none."""

NAME_SERVERS, GRPC_PORTS = "namesrvAddr", "grpcPortsOfBrokers"
FOLLOWED = (NAME_SERVERS, GRPC_PORTS)
"""Properties of brokers that their parent changes while they run; keys of messages, with the new value."""

OnMessage = Callable[[Message], None]
OnEnd = Callable[[str], None]


class Child(Protocol):
    """A started process."""

    @property
    def pid(self) -> int:
        """Process id."""
        ...

    def send(self, message: Message) -> None:
        """Send a message. If the child is gone or does not read, the failure is logged."""
        ...

    def stop(self) -> None:
        """Request a clean stop."""
        ...

    def kill(self) -> None:
        """Kill the process."""
        ...


class Launch(Protocol):
    """Starts the process for a broker's file. Both callbacks run on the event loop. Raises `OSError`."""

    def __call__(self, path: str, first: Message, on_message: OnMessage, on_end: OnEnd) -> Child: ...


def line_of(message: Message) -> bytes:
    """Encode a message as a line."""
    return json.dumps(message).encode() + b"\n"


class Lines:
    """Splits received data into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages completed by `data`. Other lines, which a library printed, are logged."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_MAX:
            self._rest = b""
        return [message for line in lines if (message := _read(line)) is not None]


def _read(line: bytes) -> Message | None:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if isinstance(message, dict):
        return message
    log.info("%s", line.decode(errors="replace"))
    return None


def cause_of(code: int) -> str:
    """Return the reason of a process's end in words, by its exit code from `subprocess`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


class Process:
    """A `Child` in a session of its own, so that signals of a terminal reach only the parent."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        loop: ThreadedLoop,
        on_message: OnMessage,
        on_end: OnEnd,
    ) -> None:
        self._loop = loop
        self._on_message = on_message
        self._on_end = on_end
        self._popen = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            bufsize=0,
            start_new_session=True,
        )
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self._stdin: IO[bytes] = self._popen.stdin
        self._stdout: IO[bytes] = self._popen.stdout
        os.set_blocking(self._stdin.fileno(), False)
        threading.Thread(target=self._listen, name=f"child {self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def send(self, message: Message) -> None:
        line = line_of(message)
        try:
            sent = self._stdin.write(line)
        except (OSError, ValueError) as error:  # it no longer reads, or has ended
            log.warning("process %d cannot be notified: %s", self.pid, error)
            return
        if sent != len(line):
            log.warning("process %d does not listen", self.pid)

    def stop(self) -> None:
        self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._popen.kill()

    def _listen(self) -> None:
        """Read the child's output until it has ended; runs on the child's own thread."""
        lines, fd = Lines(), self._stdout.fileno()
        while data := os.read(fd, 65536):
            for message in lines.feed(data):
                self._loop.callFromThread(self._on_message, message)
        code = self._popen.wait()
        self._loop.callFromThread(self._end, code)

    def _end(self, code: int) -> None:
        self._stdin.close()
        self._stdout.close()
        self._on_end(cause_of(code))


def launcher(loop: ThreadedLoop, command: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """Return a function that starts children with this command, followed by the path of the broker's file."""

    def launch(path: str, first: Message, on_message: OnMessage, on_end: OnEnd) -> Child:
        child = Process([*command, path], environment, loop, on_message, on_end)
        child.send(first)
        return child

    return launch

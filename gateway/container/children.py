"""The process of one broker, and what is said between it and the container.

Both speak JSON, one object a line. The container writes to the child's standard input: first what the broker
runs with, later what changes. That pipe stays open as long as the container lives: its end tells the child
that it is alone. The child writes to its standard output that it is up, or why it is not. A thread for each
child reads what it says and waits for its end; everything else happens on the loop.
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
"""Bytes of a line; what is longer is no message."""

Message = Mapping[str, Any]
"""What one side says: a few names, and what is meant."""

OnMessage = Callable[[Message], None]
OnEnd = Callable[[str], None]


class Child(Protocol):
    """A process that was started."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    def tell(self, message: Message) -> None:
        """Say something; a child that is gone, or does not listen, is not told, which the log notes."""
        ...

    def stop(self) -> None:
        """Ask it to end in good order."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class Launch(Protocol):
    """Starts the process for a broker's file; both functions are called on the loop. Raises `OSError`."""

    def __call__(self, path: str, first: Message, on_message: OnMessage, on_end: OnEnd) -> Child: ...


def line_of(message: Message) -> bytes:
    """A message as it is sent."""
    return json.dumps(message).encode() + b"\n"


class Lines:
    """Cuts messages out of what arrives."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now; other lines, which some library printed, go to the log."""
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
    """Why a process ended, by its exit code as `subprocess` gives it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


class Process:
    """A `Child` of this process, in a session of its own: a terminal's signals are the parent's affair."""

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

    def tell(self, message: Message) -> None:
        line = line_of(message)
        try:
            sent = self._stdin.write(line)
        except (OSError, ValueError) as error:  # it does not read any more, or has ended
            log.warning("process %d cannot be notified: %s", self.pid, error)
            return
        if sent != len(line):
            log.warning("process %d does not listen", self.pid)

    def stop(self) -> None:
        self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._popen.kill()

    def _listen(self) -> None:
        """On the child's own thread: until it has ended."""
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
    """What starts children with this command, the path of the broker's file behind it."""

    def launch(path: str, first: Message, on_message: OnMessage, on_end: OnEnd) -> Child:
        child = Process([*command, path], environment, loop, on_message, on_end)
        child.tell(first)
        return child

    return launch

"""What a server says to who started it and watches over it: that it is up, how far it is, that it lives.

systemd gives the address of a socket in `NOTIFY_SOCKET` and how long it waits between signs of life in
`WATCHDOG_USEC`; each datagram is some lines of `NAME=value`. Without the first nobody is told anything.
Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping

from mqgateway.engine.clock import Clock

ADDRESS, INTERVAL, WATCHED = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
LONGEST_STATUS = 200
EXTENDED_SECONDS = 30
"""How much longer a start or a stop may take each time that it says how far it is."""


class Supervisor:
    """Whom these variables name, if anybody; they are taken out, as what this process starts is not what is
    watched. It is told without waiting: who does not read misses something."""

    def __init__(self, environment: MutableMapping[str, str], clock: Clock) -> None:
        address = environment.pop(ADDRESS, "")
        micros = environment.pop(INTERVAL, "")
        watched = environment.pop(WATCHED, "") or str(os.getpid())
        self._clock = clock
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        if address.startswith(("@", "/")):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        is_watched = self.is_there and micros.isdecimal() and watched == str(os.getpid())
        self.interval = int(micros) / 2e6 if is_watched else 0.0
        """How often it wants a sign of life, in seconds: half of what it waits; 0: not at all."""

    @property
    def is_there(self) -> bool:
        """Whether anybody is told."""
        return self._socket is not None

    def ready(self, status: str = "") -> None:
        """The server can be used, or goes on after a reload."""
        self._tell("READY=1", f"STATUS={_line(status)}")

    def progress(self, status: str) -> None:
        """A start or a stop is so far, and goes on."""
        self._tell(f"STATUS={_line(status)}", f"EXTEND_TIMEOUT_USEC={EXTENDED_SECONDS * 1_000_000}")

    def alive(self) -> None:
        """The loop goes round."""
        self._tell("WATCHDOG=1")

    def reloading(self) -> None:
        """Settings are read again; `ready` says that it is done."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={int(self._clock.monotonic() * 1e6)}")

    def stopping(self, status: str) -> None:
        """The server ends."""
        self._tell("STOPPING=1", f"STATUS={_line(status)}")

    def _tell(self, *lines: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return  # it went away or is too busy; the next word may reach it


def _line(status: str) -> str:
    return " ".join(status.split())[:LONGEST_STATUS]

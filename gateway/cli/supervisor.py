"""Notifications of a server to its supervisor, systemd: ready, progress, keep-alive.

systemd passes the address of a socket in `NOTIFY_SOCKET`, and the watchdog timeout in `WATCHDOG_USEC`. Each
datagram has some lines of `NAME=value`. Without `NOTIFY_SOCKET`, nothing is sent.
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
"""Extension of the start or stop timeout with each progress report."""


class Supervisor:
    """The supervisor named in the environment variables, if any.

    The variables are removed from `environment`, because child processes are not supervised. Sends do not
    block: if the supervisor does not read, datagrams are lost.
    """

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
        """Interval of keep-alives in seconds, half the watchdog timeout; 0: none."""

    @property
    def is_there(self) -> bool:
        """True if there is a supervisor."""
        return self._socket is not None

    def ready(self, status: str = "") -> None:
        """Report that the server is ready, after its start or a reload."""
        self._send("READY=1", f"STATUS={_line(status)}")

    def progress(self, status: str) -> None:
        """Report the progress of a start or a stop, and extend its timeout."""
        self._send(f"STATUS={_line(status)}", f"EXTEND_TIMEOUT_USEC={EXTENDED_SECONDS * 1_000_000}")

    def alive(self) -> None:
        """Send a keep-alive."""
        self._send("WATCHDOG=1")

    def reloading(self) -> None:
        """Report that settings are being reloaded; `ready` ends it."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={int(self._clock.monotonic() * 1e6)}")

    def stopping(self, status: str) -> None:
        """Report that the server stops."""
        self._send("STOPPING=1", f"STATUS={_line(status)}")

    def _send(self, *lines: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return  # the supervisor is gone or busy; the next datagram may arrive


def _line(status: str) -> str:
    return " ".join(status.split())[:LONGEST_STATUS]

"""Who a broker is at the controller: a number that it asked for once, kept beside its store.

Before it asks it writes down what it is going to say, so that a broker that dies in between asks for the same
once more. Both files are one line: `cluster#broker#id`, and `cluster#broker#id#address;ms`. Standard:
`BrokerMetadata`, `TempBrokerMetadata`.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.jsonfile import take_place, write_aside

FILE_NAME = "brokerIdentity"
SEPARATOR = "#"


class Identity(NamedTuple):
    """A broker's name and its id."""

    cluster: str
    broker: str
    number: int


class Application(NamedTuple):
    """An id that was asked for, with what shows that it was this broker who did: `address;ms`."""

    identity: Identity
    check_code: str


class IdentityFiles:
    """The two files at a path, of the broker of a name. Everything raises `OSError`; reading
    `ConfigError`."""

    def __init__(self, disk: Disk, path: str, cluster: str, broker: str) -> None:
        self._disk = disk
        self._path = path
        self._cluster, self._broker = cluster, broker

    def read(self) -> Identity | None:
        """Who this broker is; None as long as it has no id."""
        parts = self._read(self._path, 3)
        return None if parts is None else self._identity(self._path, parts)

    def applied(self) -> Application | None:
        """What was asked for without an answer."""
        path = f"{self._path}-temp"
        try:
            parts = self._read(path, 4)
            return None if parts is None else Application(self._identity(path, parts), parts[3])
        except ConfigError:
            return None  # cut short by a crash: it is asked for anew

    def apply(self, number: int, check_code: str) -> Application:
        """Write down what is going to be asked for."""
        identity = Identity(self._cluster, self._broker, number)
        self._write(f"{self._path}-temp", (*map(str, identity), check_code))
        return Application(identity, check_code)

    def keep(self, identity: Identity) -> None:
        """The id is this broker's."""
        self._write(self._path, tuple(map(str, identity)))
        self.give_up()

    def give_up(self) -> None:
        """What was asked for is not this broker's, or is no more to be asked for."""
        if self._disk.exists(f"{self._path}-temp"):
            self._disk.unlink(f"{self._path}-temp")
            self._disk.sync_dir(os.path.dirname(self._path))

    def _identity(self, path: str, parts: list[str]) -> Identity:
        cluster, broker, number = parts[:3]
        if (cluster, broker) != (self._cluster, self._broker):
            raise ConfigError(
                f"{path} is of the broker {broker} of the cluster {cluster}, this one is {self._broker} of "
                f"{self._cluster}: change brokerName and brokerClusterName back, or remove the file to get "
                "another id"
            )
        return Identity(cluster, broker, int(number))

    def _read(self, path: str, count: int) -> list[str] | None:
        if not self._disk.exists(path):
            return None
        text = self._disk.read_bytes(path).decode("utf-8", "replace").strip()
        parts = text.split(SEPARATOR)
        if len(parts) != count or not parts[2].isdecimal() or int(parts[2]) < 1:
            raise ConfigError(f"{path}: {text!r} is not a broker's identity such as cluster#broker#1")
        return parts

    def _write(self, path: str, parts: tuple[str, ...]) -> None:
        write_aside(self._disk, path, [SEPARATOR.join(parts).encode()])
        take_place(self._disk, path)

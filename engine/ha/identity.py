"""Identity of a broker at the controller: an id requested once, stored beside its store.

Before the request the broker writes what it will request, so that after a crash in between it requests the
same again. Both files are one line: `cluster#broker#id`, and `cluster#broker#id#address;ms`. RocketMQ:
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


class BrokerNameAndId(NamedTuple):
    """A broker's name and its id."""

    cluster: str
    broker: str
    number: int


class Application(NamedTuple):
    """A requested id, with proof that this broker requested it: `address;ms`."""

    identity: BrokerNameAndId
    check_code: str


class IdentityFiles:
    """The two files of a broker. All methods raise `OSError`; reading raises `ConfigError`."""

    def __init__(self, disk: Disk, path: str, cluster: str, broker: str) -> None:
        self._disk = disk
        self._path = path
        self._cluster, self._broker = cluster, broker

    def read(self) -> BrokerNameAndId | None:
        """Return this broker's identity; None if it has no id yet."""
        parts = self._read(self._path, 3)
        return None if parts is None else self._identity(self._path, parts)

    def applied(self) -> Application | None:
        """Return the request that was not answered; None if there is none."""
        path = f"{self._path}-temp"
        try:
            parts = self._read(path, 4)
            return None if parts is None else Application(self._identity(path, parts), parts[3])
        except ConfigError:
            return None  # cut short by a crash: it is requested again

    def apply(self, number: int, check_code: str) -> Application:
        """Write a request before it is sent."""
        identity = BrokerNameAndId(self._cluster, self._broker, number)
        self._write(f"{self._path}-temp", (*map(str, identity), check_code))
        return Application(identity, check_code)

    def keep(self, identity: BrokerNameAndId) -> None:
        """Store the id of this broker."""
        self._write(self._path, tuple(map(str, identity)))
        self.give_up()

    def give_up(self) -> None:
        """Delete the request: its id is not this broker's, or is no longer to be requested."""
        if self._disk.exists(f"{self._path}-temp"):
            self._disk.unlink(f"{self._path}-temp")
            self._disk.sync_dir(os.path.dirname(self._path))

    def _identity(self, path: str, parts: list[str]) -> BrokerNameAndId:
        cluster, broker, number = parts[:3]
        if (cluster, broker) != (self._cluster, self._broker):
            raise ConfigError(
                f"{path} is of the broker {broker} of the cluster {cluster}, this one is {self._broker} of "
                f"{self._cluster}: change brokerName and brokerClusterName back, or remove the file to get "
                "another id"
            )
        return BrokerNameAndId(cluster, broker, int(number))

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

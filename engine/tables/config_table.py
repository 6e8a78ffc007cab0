"""Base of the tables of topics and of consumer groups: entries by name, a version, and a file.

Every change raises the version and is appended to the file's journal. A table from another broker is adopted
whole, with its version. Members of the file that are unknown here, from a newer version of RocketMQ, are
kept. RocketMQ: `ConfigManager`, `SlaveSynchronize`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.journal import Change
from mqgateway.engine.tables.journaled import JournaledFile
from mqgateway.engine.tables.jsonfile import EntryTexts, in_chunks
from mqgateway.engine.worker import Worker

VERSION = "dataVersion"


class Config(Protocol):
    """An entry."""

    @property
    def key(self) -> str:
        """The name of the entry in the table."""

    def to_json(self) -> dict[str, Any]:
        """Return all fields under RocketMQ's names."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse the fields; missing ones have their defaults. Raises `ConfigError`."""


C = TypeVar("C", bound=Config)


class ConfigTable(ABC, Generic[C]):
    """Entries, by name. `load` reads the file; without one the table has the built-in entries.

    `member` is the name of the object with the entries, in the file and between brokers; `sides` are names of
    objects beside it, whose members are objects too.
    """

    entry: type[C]
    member: ClassVar[str]
    sides: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, disk: Disk, path: str, clock: Clock, worker: Worker | None, built_in: Iterable[C]
    ) -> None:
        self._clock = clock
        self._file = JournaledFile(disk, path, clock, worker)
        self._texts = EntryTexts(self._shape)
        self._others: dict[str, Any] = {}
        self._others_of: dict[str, dict[str, Any]] = {}
        self._table: dict[str, C] = {config.key: config for config in built_in}
        self._sides: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in self.sides}
        self.data_version = DataVersion(timestamp=clock.millis())

    @abstractmethod
    def _implied(self, name: str) -> C | None:
        """Return the entry that exists implicitly under a name; None for any other name."""

    def _read(self, value: Mapping[str, Any]) -> C:
        """Parse an entry from the file, or from another broker. Raises `ConfigError`."""
        return self.entry.from_json(value)

    def load(self) -> None:
        """Load the file. Raises `ConfigError` if it cannot be read."""
        table = self._file.load()
        if table is None:
            return
        values = json_members.read(table, self.member, dict[str, Any]()).values()
        configs = [self._read(value) for value in values]
        for config, value in zip(configs, values, strict=True):
            self._table[config.key] = config
            if others := json_members.others(value, config.to_json()):
                self._others_of[config.key] = others
        self._sides = self._read_sides(table)
        self._others = json_members.others(table, (VERSION, self.member, *self.sides))
        self.data_version = DataVersion.from_json(table.get(VERSION))

    def _read_sides(self, table: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
        """Parse the side objects. Raises `ConfigError`."""
        given = {side: json_members.read(table, side, dict[str, Any]()) for side in self.sides}
        return {
            side: {name: dict(json_members.read(found, name, dict[str, Any]())) for name in found}
            for side, found in given.items()
        }

    def get(self, name: str) -> C | None:
        """Return the entry of this name, or None."""
        config = self._table.get(name)
        return self._implied(name) if config is None else config

    def all(self) -> Collection[C]:
        """Return every stored entry."""
        return self._table.values()

    def names(self) -> list[str]:
        """Return the name of every stored entry."""
        return list(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table or (isinstance(name, str) and self._implied(name) is not None)

    def __len__(self) -> int:
        return len(self._table)

    def put(self, *configs: C) -> None:
        """Create or replace entries; one change of the version, one write."""
        kept = [config for config in configs if self._implied(config.key) is None]
        for config in kept:
            self._table[config.key] = config
        self._changed([config.key for config in kept])

    def delete(self, name: str) -> bool:
        """Remove an entry with its side data; return False if there is none."""
        beside = self._delete_beside(name)
        if self._table.pop(name, None) is None and not beside:
            return False
        self._texts.forget(name)
        self._others_of.pop(name, None)
        self._changed([name], beside)
        return True

    def _delete_beside(self, name: str) -> list[tuple[str, str]]:
        """Change the side data of an entry that is deleted; return the changed members, by side and name."""
        return [(side, name) for side, table in self._sides.items() if table.pop(name, None) is not None]

    def adopt(self, reported: Mapping[str, Any]) -> bool:
        """Adopt a master's table, as returned by `to_json`; return False if its version is ours.

        Raises `ConfigError`; then nothing has changed. RocketMQ: `SlaveSynchronize`.
        """
        version = DataVersion.from_json(reported.get(VERSION))
        if version == self.data_version:
            return False
        # A master elected just now may not have raised its version yet; the state version never decreases.
        version.state_version = max(version.state_version, self.data_version.state_version)
        values = json_members.read(reported, self.member, dict[str, Any]()).values()
        configs = [self._read(value) for value in values]
        self._sides = self._read_sides(reported)
        self._table = {config.key: config for config in configs}
        self._others_of.clear()
        self.data_version = version
        self._file.save(self._chunks)
        return True

    def enter_state(self, state_version: int) -> None:
        """Raise the state version, as a controller's term has begun; it never decreases."""
        if state_version > self.data_version.state_version:
            self.data_version.state_version = state_version
            self._changed()

    def to_json(self) -> dict[str, Any]:
        """Return the table and its version, as sent to name servers, slaves and tools."""
        return {
            VERSION: self.data_version.to_json(),
            **self._copied_sides(),
            self.member: {name: config.to_json() for name, config in self._table.items()},
        }

    def retry(self) -> None:
        """Write the file if it lacks changes, and a write is due; called periodically."""
        self._file.retry(self._chunks)

    def close(self) -> None:
        """Write the file synchronously if it lacks changes; called after the worker has stopped."""
        self._file.close(self._chunks)

    def _copied_sides(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {
            side: {name: dict(given) for name, given in table.items()} for side, table in self._sides.items()
        }

    def _chunks(self) -> Iterator[bytes]:
        known = {VERSION: self.data_version.to_json(), self.member: self._texts.of(self._table)}
        return in_chunks(self._others | known | self._copied_sides())

    def _shape(self, name: str, config: C) -> dict[str, Any]:
        return self._others_of.get(name, {}) | config.to_json()

    def _changed(self, names: Iterable[str] = (), sides: Iterable[tuple[str, str]] = ()) -> None:
        """Record changed or removed entries, and changed side data, by side and name."""
        self.data_version.next(self._clock.millis())
        change: Change = [([VERSION], self.data_version.to_json())]
        for name in names:
            config = self._table.get(name)
            change.append(([self.member, name], None if config is None else self._shape(name, config)))
        for side, name in sides:
            given = self._sides[side].get(name)
            change.append(([side, name], dict(given) if given else None))
        self._file.note(change, self._chunks)

    def _changed_all(self) -> None:
        """Record that so much has changed that the whole table is written."""
        self.data_version.next(self._clock.millis())
        self._file.save(self._chunks)


class StoredTable(ConfigTable[C]):
    """Table whose entries are all stored: none is built in or implied."""

    def __init__(self, disk: Disk, path: str, clock: Clock, worker: Worker | None = None) -> None:
        super().__init__(disk, path, clock, worker, ())

    def _implied(self, name: str) -> C | None:
        return None

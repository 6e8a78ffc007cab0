"""What the tables of topics and of consumer groups have in common: entries by name, a version, and a file.

Whatever changes raises the version and goes to the file's journal; a table that brokers hand from one to
another is taken over whole, with its version. What a newer version of the standard has written into the file,
and is not known here, stays in it. Standard: `ConfigManager`, `SlaveSynchronize`.
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
from mqgateway.engine.tables.jsonfile import Texts, in_pieces
from mqgateway.engine.worker import Worker

VERSION = "dataVersion"


class Config(Protocol):
    """An entry."""

    @property
    def key(self) -> str:
        """The name it is in the table by."""

    def to_json(self) -> dict[str, Any]:
        """The fields under the standard's names, always all of them."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read the fields; those that are missing have their defaults. Raises `ConfigError`."""


C = TypeVar("C", bound=Config)


class ConfigTable(ABC, Generic[C]):
    """Entries, by name. `load` takes over what the file holds; without that it has the built-in ones.

    `member` is the name of the object that has the entries, in the file and as brokers tell each other;
    `sides` are names of objects beside it, whose members are objects too.
    """

    entry: type[C]
    member: ClassVar[str]
    sides: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, disk: Disk, path: str, clock: Clock, worker: Worker | None, built_in: Iterable[C]
    ) -> None:
        self._clock = clock
        self._file = JournaledFile(disk, path, clock, worker)
        self._texts = Texts(self._shape)
        self._others: dict[str, Any] = {}
        self._others_of: dict[str, dict[str, Any]] = {}
        self._table: dict[str, C] = {config.key: config for config in built_in}
        self._sides: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in self.sides}
        self.data_version = DataVersion(timestamp=clock.millis())

    @abstractmethod
    def _implied(self, name: str) -> C | None:
        """The entry of a name that every table has without keeping it; None for any other name."""

    def _read(self, value: Mapping[str, Any]) -> C:
        """The entry that the file, or another broker, gives as this. Raises `ConfigError`."""
        return self.entry.from_json(value)

    def load(self) -> None:
        """Take over what the file holds. Raises `ConfigError` when it cannot be read."""
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
        """Raises `ConfigError`."""
        given = {side: json_members.read(table, side, dict[str, Any]()) for side in self.sides}
        return {
            side: {name: dict(json_members.read(found, name, dict[str, Any]())) for name in found}
            for side, found in given.items()
        }

    def get(self, name: str) -> C | None:
        """The entry of this name, if there is one."""
        config = self._table.get(name)
        return self._implied(name) if config is None else config

    def all(self) -> Collection[C]:
        """Every entry that is kept."""
        return self._table.values()

    def names(self) -> list[str]:
        """The name of every entry that is kept."""
        return list(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table or (isinstance(name, str) and self._implied(name) is not None)

    def __len__(self) -> int:
        return len(self._table)

    def put(self, *configs: C) -> None:
        """Create or replace entries as they are given; one change of the version, one write."""
        kept = [config for config in configs if self._implied(config.key) is None]
        for config in kept:
            self._table[config.key] = config
        self._changed([config.key for config in kept])

    def delete(self, name: str) -> bool:
        """Remove an entry with what lies beside it; false when there is none."""
        beside = self._delete_beside(name)
        if self._table.pop(name, None) is None and not beside:
            return False
        self._texts.forget(name)
        self._others_of.pop(name, None)
        self._changed([name], beside)
        return True

    def _delete_beside(self, name: str) -> list[tuple[str, str]]:
        """Change what is kept beside an entry that is deleted: the changed members, by side and name."""
        return [(side, name) for side, table in self._sides.items() if table.pop(name, None) is not None]

    def adopt(self, reported: Mapping[str, Any]) -> bool:
        """Take over a master's table, as `to_json` gives it, whole; false where it is as new as ours.

        Raises `ConfigError`, and then has taken nothing. Standard: `SlaveSynchronize`.
        """
        version = DataVersion.from_json(reported.get(VERSION))
        if version == self.data_version:
            return False
        # A master that was elected this moment has yet to say so; what has been told never goes back.
        version.state_version = max(version.state_version, self.data_version.state_version)
        values = json_members.read(reported, self.member, dict[str, Any]()).values()
        configs = [self._read(value) for value in values]
        self._sides = self._read_sides(reported)
        self._table = {config.key: config for config in configs}
        self._others_of.clear()
        self.data_version = version
        self._file.save(self._pieces)
        return True

    def enter_state(self, state_version: int) -> None:
        """A controller's term has begun: the version says so, and never an older one again."""
        if state_version > self.data_version.state_version:
            self.data_version.state_version = state_version
            self._changed()

    def to_json(self) -> dict[str, Any]:
        """The table and its version, as brokers tell name servers, slaves and tools."""
        return {
            VERSION: self.data_version.to_json(),
            **self._copied_sides(),
            self.member: {name: config.to_json() for name, config in self._table.items()},
        }

    def retry(self) -> None:
        """Write the file if it lacks changes, and it is time; for a slow beat."""
        self._file.retry(self._pieces)

    def close(self) -> None:
        """Write the file if it lacks changes, here and now; for the end, when the worker works no more."""
        self._file.close(self._pieces)

    def _copied_sides(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {
            side: {name: dict(given) for name, given in table.items()} for side, table in self._sides.items()
        }

    def _pieces(self) -> Iterator[bytes]:
        known = {VERSION: self.data_version.to_json(), self.member: self._texts.of(self._table)}
        return in_pieces(self._others | known | self._copied_sides())

    def _shape(self, name: str, config: C) -> dict[str, Any]:
        return self._others_of.get(name, {}) | config.to_json()

    def _changed(self, names: Iterable[str] = (), sides: Iterable[tuple[str, str]] = ()) -> None:
        """Note that entries are others now, or gone, and what lies beside entries: by side and name."""
        self.data_version.next(self._clock.millis())
        change: Change = [([VERSION], self.data_version.to_json())]
        for name in names:
            config = self._table.get(name)
            change.append(([self.member, name], None if config is None else self._shape(name, config)))
        for side, name in sides:
            given = self._sides[side].get(name)
            change.append(([side, name], dict(given) if given else None))
        self._file.note(change, self._pieces)

    def _changed_all(self) -> None:
        """Note that so much is other now that the table is written whole."""
        self.data_version.next(self._clock.millis())
        self._file.save(self._pieces)

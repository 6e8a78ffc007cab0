"""Assignment of queues to the clients of a group by the broker, and their mode: pull or pop.

Pure functions of ordered queues and ordered client ids; every member computes the same, or gets the same from
the broker. `RequestModes` has the modes that an administrator has set for a group in a topic.

RocketMQ: `AllocateMessageQueueAveragely`, `AllocateMessageQueueAveragelyByCircle`,
`QueryAssignmentProcessor.allocate4Pop`, `MessageRequestModeManager`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import BrokerOptions, RequestMode
from mqgateway.engine.tables.journal import Change
from mqgateway.engine.tables.journaled import JournaledFile
from mqgateway.engine.tables.jsonfile import EntryTexts, in_chunks
from mqgateway.engine.worker import Worker

Q = TypeVar("Q")


def java_order(text: str) -> bytes:
    """Return a key that sorts texts as Java's `compareTo` does: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def averagely(client: str, queues: Sequence[Q], clients: Sequence[str]) -> list[Q]:
    """Return a run of adjacent queues; runs differ in length by at most one.

    Empty if the client is not a member.
    """
    if client not in clients:
        return []
    index = clients.index(client)
    size, rest = divmod(len(queues), len(clients))
    start = index * size + min(index, rest)
    return list(queues[start : start + size + (index < rest)])


def by_circle(client: str, queues: Sequence[Q], clients: Sequence[str]) -> list[Q]:
    """Return every n-th queue, for n clients. Empty if the client is not a member."""
    return list(queues[clients.index(client) :: len(clients)]) if client in clients else []


Strategy = Callable[[str, Sequence[Q], Sequence[str]], list[Q]]

STRATEGIES: Mapping[str, Strategy[Any]] = {"AVG": averagely, "AVG_BY_CIRCLE": by_circle}
"""Strategies by the name in requests."""


def pops_everything(share: int, clients: Sequence[str]) -> bool:
    """Return True if every client pops all queues, when each shares its own with `share` others."""
    return share <= 0 or share >= len(clients) - 1


def shared(
    strategy: Strategy[Q], client: str, queues: Sequence[Q], clients: Sequence[str], share: int
) -> list[Q]:
    """Return the queues of the client and of the `share` next ones; clients may share a queue.

    With more clients than queues each gets one queue.
    """
    if client not in clients:
        return []
    index = clients.index(client)
    if len(clients) > len(queues):
        return [queues[index % len(queues)]]
    found: dict[Q, None] = {}
    for step in range(share + 1):
        other = clients[(index + step) % len(clients)]
        found.update(dict.fromkeys(strategy(other, queues, clients)))
    return list(found)


class Mode(NamedTuple):
    """Mode of a group in a topic; `share` other clients pop a client's queues too."""

    mode: RequestMode
    share: int


_MEMBER = "messageRequestModeMap"


class RequestModes:
    """Modes by topic and group, in `messageRequestMode.json`; `maxRequestModes` bounds it."""

    def __init__(
        self, options: BrokerOptions, disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        self._options = options
        self._file = JournaledFile(disk, path, clock, worker)
        self._texts = EntryTexts(_modes_to_json)
        # A topic's modes are replaced, never mutated: the file may be written from them at this moment.
        self._table: dict[str, Mapping[str, Mode]] = {}
        self._count = 0

    def load(self) -> None:
        """Load the file. Raises `ConfigError` if it cannot be read."""
        self._table = _modes(self._file.load() or {})
        self._count = sum(map(len, self._table.values()))

    def get(self, topic: str, group: str) -> Mode | None:
        """Return the mode, or None."""
        return self._table.get(topic, {}).get(group)

    def set(self, topic: str, group: str, mode: Mode) -> bool:
        """Set a mode; return False if the table is full."""
        if self.get(topic, group) is None:
            if self._count >= self._options.max_request_modes:
                return False
            self._count += 1
        self._table[topic] = {**self._table.get(topic, {}), group: mode}
        self._file.note([([_MEMBER, topic, group], _to_json(topic, group, mode))], self._chunks)
        return True

    def remove_topic(self, topic: str) -> None:
        """Remove the modes of a deleted topic."""
        if groups := self._table.pop(topic, None):
            self._count -= len(groups)
            self._texts.forget(topic)
            self._file.note([([_MEMBER, topic], None)], self._chunks)

    def remove_group(self, group: str) -> None:
        """Remove the modes of a deleted group."""
        change: Change = []
        for topic in [topic for topic, groups in self._table.items() if group in groups]:
            left = {name: mode for name, mode in self._table[topic].items() if name != group}
            if left:
                self._table[topic] = left
                change.append(([_MEMBER, topic, group], None))
            else:
                del self._table[topic]
                self._texts.forget(topic)
                change.append(([_MEMBER, topic], None))
        if change:
            self._count -= len(change)
            self._file.note(change, self._chunks)

    def __len__(self) -> int:
        return self._count

    def adopt(self, reported: Mapping[str, Any]) -> None:
        """Adopt a master's table, as returned by `to_json`.

        Raises `ConfigError`; then nothing has changed. RocketMQ: `SlaveSynchronize.syncMessageRequestMode`.
        """
        table = _modes(reported)
        if table != self._table:
            self._table = table
            self._count = sum(map(len, table.values()))
            self._file.save(self._chunks)

    def to_json(self) -> dict[str, Any]:
        """Return the table under RocketMQ's names."""
        return {_MEMBER: {topic: _modes_to_json(topic, groups) for topic, groups in self._table.items()}}

    def retry(self) -> None:
        """Write the file if it lacks changes, and a write is due; called periodically."""
        self._file.retry(self._chunks)

    def close(self) -> None:
        """Write the file synchronously if it lacks changes; called after the worker has stopped."""
        self._file.close(self._chunks)

    def _chunks(self) -> Iterator[bytes]:
        return in_chunks({_MEMBER: self._texts.of(self._table)})


def _modes_to_json(topic: str, groups: Mapping[str, Mode]) -> dict[str, Any]:
    return {group: _to_json(topic, group, mode) for group, mode in groups.items()}


def _to_json(topic: str, group: str, mode: Mode) -> dict[str, Any]:
    return {"consumerGroup": group, "mode": mode.mode.value, "popShareQueueNum": mode.share, "topic": topic}


def _mode(value: Mapping[str, Any]) -> Mode:
    mode = json_members.read_enum(value, "mode", tuple(RequestMode)) or RequestMode.PULL
    return Mode(RequestMode(mode), json_members.read(value, "popShareQueueNum", 0))


def _modes(table: Mapping[str, Any]) -> dict[str, Mapping[str, Mode]]:
    """Return the modes by topic and group. Raises `ConfigError`."""
    modes = json_members.read(table, _MEMBER, dict[str, Any]())
    return {
        topic: {group: _mode(value) for group, value in groups.items()} for topic, groups in modes.items()
    }

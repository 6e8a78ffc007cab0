"""Which queues a client of a group is given when the broker shares them out, and in which way it reads them.

Pure rules over any queues in their order and client ids in theirs; every member computes or is told the same.
`RequestModes` keeps what an administrator has chosen for a group in a topic: to pull, or to pop.
Standard: `AllocateMessageQueueAveragely`, `AllocateMessageQueueAveragelyByCircle`,
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
from mqgateway.engine.tables.jsonfile import Texts, in_pieces
from mqgateway.engine.worker import Worker

Q = TypeVar("Q")


def java_order(text: str) -> bytes:
    """A key that sorts texts as Java's `compareTo` does: by UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def averagely(client: str, queues: Sequence[Q], clients: Sequence[str]) -> list[Q]:
    """A run of neighbouring queues, as long as everybody's or one longer; none for who is no member."""
    if client not in clients:
        return []
    index = clients.index(client)
    size, rest = divmod(len(queues), len(clients))
    start = index * size + min(index, rest)
    return list(queues[start : start + size + (index < rest)])


def by_circle(client: str, queues: Sequence[Q], clients: Sequence[str]) -> list[Q]:
    """Every n-th queue, where n is the number of clients; none for who is no member."""
    return list(queues[clients.index(client) :: len(clients)]) if client in clients else []


Strategy = Callable[[str, Sequence[Q], Sequence[str]], list[Q]]

STRATEGIES: Mapping[str, Strategy[Any]] = {"AVG": averagely, "AVG_BY_CIRCLE": by_circle}
"""By the name a client asks for."""


def pops_everything(share: int, clients: Sequence[str]) -> bool:
    """Whether every client pops all queues, when each shares its own with `share` others."""
    return share <= 0 or share >= len(clients) - 1


def shared(
    strategy: Strategy[Q], client: str, queues: Sequence[Q], clients: Sequence[str], share: int
) -> list[Q]:
    """The client's own queues and those of the `share` clients after it; several clients may pop one queue.

    With more clients than queues each is given one queue.
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
    """How a group reads a topic: `share` is with how many others a client shares its queues when it pops."""

    mode: RequestMode
    share: int


_MEMBER = "messageRequestModeMap"


class RequestModes:
    """What was chosen, by topic and group, in `messageRequestMode.json`; `maxRequestModes` bounds it."""

    def __init__(
        self, options: BrokerOptions, disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        self._options = options
        self._file = JournaledFile(disk, path, clock, worker)
        self._texts = Texts(_modes_to_json)
        # A topic's modes are replaced, never changed: the file may just be written of them.
        self._table: dict[str, Mapping[str, Mode]] = {}
        self._count = 0

    def load(self) -> None:
        """Take over what the file holds. Raises `ConfigError` when it cannot be read."""
        self._table = _modes(self._file.load() or {})
        self._count = sum(map(len, self._table.values()))

    def get(self, topic: str, group: str) -> Mode | None:
        """What was chosen."""
        return self._table.get(topic, {}).get(group)

    def set(self, topic: str, group: str, mode: Mode) -> bool:
        """Choose; false when no more is kept."""
        if self.get(topic, group) is None:
            if self._count >= self._options.max_request_modes:
                return False
            self._count += 1
        self._table[topic] = {**self._table.get(topic, {}), group: mode}
        self._file.note([([_MEMBER, topic, group], _to_json(topic, group, mode))], self._pieces)
        return True

    def remove_topic(self, topic: str) -> None:
        """Forget what was chosen for a topic that is deleted."""
        if groups := self._table.pop(topic, None):
            self._count -= len(groups)
            self._texts.forget(topic)
            self._file.note([([_MEMBER, topic], None)], self._pieces)

    def remove_group(self, group: str) -> None:
        """Forget what was chosen for a group that is deleted."""
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
            self._file.note(change, self._pieces)

    def __len__(self) -> int:
        return self._count

    def adopt(self, reported: Mapping[str, Any]) -> None:
        """Take over a master's table, as `to_json` gives it.

        Raises `ConfigError`, and then has taken nothing. Standard: `SlaveSynchronize.syncMessageRequestMode`.
        """
        table = _modes(reported)
        if table != self._table:
            self._table = table
            self._count = sum(map(len, table.values()))
            self._file.save(self._pieces)

    def to_json(self) -> dict[str, Any]:
        """The table under the standard's names."""
        return {_MEMBER: {topic: _modes_to_json(topic, groups) for topic, groups in self._table.items()}}

    def retry(self) -> None:
        """Write the file if it lacks changes, and it is time; for a slow beat."""
        self._file.retry(self._pieces)

    def close(self) -> None:
        """Write the file if it lacks changes, here and now; for the end, when the worker works no more."""
        self._file.close(self._pieces)

    def _pieces(self) -> Iterator[bytes]:
        return in_pieces({_MEMBER: self._texts.of(self._table)})


def _modes_to_json(topic: str, groups: Mapping[str, Mode]) -> dict[str, Any]:
    return {group: _to_json(topic, group, mode) for group, mode in groups.items()}


def _to_json(topic: str, group: str, mode: Mode) -> dict[str, Any]:
    return {"consumerGroup": group, "mode": mode.mode.value, "popShareQueueNum": mode.share, "topic": topic}


def _mode(value: Mapping[str, Any]) -> Mode:
    mode = json_members.read_enum(value, "mode", tuple(RequestMode)) or RequestMode.PULL
    return Mode(RequestMode(mode), json_members.read(value, "popShareQueueNum", 0))


def _modes(table: Mapping[str, Any]) -> dict[str, Mapping[str, Mode]]:
    """The modes by topic and group. Raises `ConfigError`."""
    told = json_members.read(table, _MEMBER, dict[str, Any]())
    return {topic: {group: _mode(value) for group, value in groups.items()} for topic, groups in told.items()}

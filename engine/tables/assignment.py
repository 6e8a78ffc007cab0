"""Which queues a client of a group is given when the broker shares them out, and in which way it reads them.

Pure rules over any queues in their order and client ids in theirs; every member computes or is told the same.
`RequestModes` keeps what an administrator has chosen for a group in a topic: to pull, or to pop.
Standard: `AllocateMessageQueueAveragely`, `AllocateMessageQueueAveragelyByCircle`,
`QueryAssignmentProcessor.allocate4Pop`, `MessageRequestModeManager`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from mqgateway.engine import json_members
from mqgateway.engine.disk import Disk
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.options import BrokerOptions, RequestMode
from mqgateway.engine.tables.jsonfile import TableFile
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


class RequestModes:
    """What was chosen, by topic and group, in `messageRequestMode.json`; `maxRequestModes` bounds it."""

    def __init__(self, options: BrokerOptions, disk: Disk, path: str, worker: Worker | None = None) -> None:
        self._options = options
        self._file = TableFile(disk, path, worker)
        self._table: dict[str, dict[str, Mode]] = {}
        self._count = 0

    def load(self) -> None:
        """Take over what the file holds. Raises `ConfigError` when it cannot be read."""
        table = self._file.load()
        for topic, groups in json_members.read(
            table or {}, "messageRequestModeMap", dict[str, Any]()
        ).items():
            for group, value in groups.items():
                self._table.setdefault(topic, {})[group] = _mode(value)
                self._count += 1

    def get(self, topic: str, group: str) -> Mode | None:
        """What was chosen."""
        return self._table.get(topic, {}).get(group)

    def set(self, topic: str, group: str, mode: Mode) -> bool:
        """Choose; false when no more is kept."""
        if self.get(topic, group) is None:
            if self._count >= self._options.max_request_modes:
                return False
            self._count += 1
        self._table.setdefault(topic, {})[group] = mode
        self.persist()
        return True

    def remove_topic(self, topic: str) -> None:
        """Forget what was chosen for a topic that is deleted."""
        if groups := self._table.pop(topic, None):
            self._count -= len(groups)
            self.persist()

    def remove_group(self, group: str) -> None:
        """Forget what was chosen for a group that is deleted."""
        topics = [topic for topic, groups in self._table.items() if group in groups]
        for topic in topics:
            del self._table[topic][group]
            if not self._table[topic]:
                del self._table[topic]
        if topics:
            self._count -= len(topics)
            self.persist()

    def __len__(self) -> int:
        return self._count

    def adopt(self, reported: Mapping[str, Any]) -> None:
        """Take over a master's table, as `to_json` gives it.

        Raises `ConfigError`, and then has taken nothing. Standard: `SlaveSynchronize.syncMessageRequestMode`.
        """
        table: dict[str, dict[str, Mode]] = {}
        for topic, groups in json_members.read(reported, "messageRequestModeMap", dict[str, Any]()).items():
            table[topic] = {group: _mode(value) for group, value in groups.items()}
        if table != self._table:
            self._table = table
            self._count = sum(map(len, table.values()))
            self.persist()

    def to_json(self) -> dict[str, Any]:
        """The table under the standard's names."""
        return {
            "messageRequestModeMap": {
                topic: {group: _to_json(topic, group, mode) for group, mode in groups.items()}
                for topic, groups in self._table.items()
            }
        }

    def persist(self) -> None:
        """Write the file now, or after the write that is under way."""
        self._file.save(lambda: dumps(self.to_json(), indent=True))

    def retry(self) -> None:
        """Write the file again if the last write failed; for a slow beat."""
        if self._file.has_failed:
            self.persist()


def _to_json(topic: str, group: str, mode: Mode) -> dict[str, Any]:
    return {"consumerGroup": group, "mode": mode.mode.value, "popShareQueueNum": mode.share, "topic": topic}


def _mode(value: Mapping[str, Any]) -> Mode:
    mode = json_members.read_enum(value, "mode", tuple(RequestMode)) or RequestMode.PULL
    return Mode(RequestMode(mode), json_members.read(value, "popShareQueueNum", 0))

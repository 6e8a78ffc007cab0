"""Consumer offsets of each group in each queue, and their file.

A commit is one entry in a dictionary; the file is written by `persist`, which the broker calls every
`flushConsumerOffsetInterval`. In addition there are, in memory only, pull offsets (how far a group has read,
for its lag) and resets (an offset set by an administrator; taken by the group's next pull). With LMQ queues
the file is another one, in which LMQ groups are separate. RocketMQ: `ConsumerOffsetManager`,
`LmqConsumerOffsetManager`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.lenient_json import PreparedText, dumps
from mqgateway.engine.names import is_lmq
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import TableFile, in_chunks
from mqgateway.engine.tables.partition_layout import ELSEWHERE
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

SEPARATOR: Final = "@"
BROADCAST: Final = "broadcast"
"""Suffix of the name of a broadcasting group."""
UNKNOWN: Final = -1
"""Result of `query` for a queue without a commit of the group."""

Offsets = dict[int, int]
"""Offset by queue id."""

Hold = Callable[[Callable[[bool], None]], None]
"""Calls back once, now or later, with True if the write is allowed."""


class ConsumerOffsets:
    """Committed, pulled and reset offsets of all groups, and where members began to read.

    With LMQ queues `plain_path` is the file of a broker without; it is read while there is none at `path`, so
    that no group restarts.
    """

    def __init__(
        self,
        options: BrokerOptions,
        disk: Disk,
        path: str,
        clock: Clock,
        worker: Worker | None = None,
        *,
        plain_path: str = "",
    ) -> None:
        self._options = options
        self._clock = clock
        self._file = TableFile(disk, path, worker)
        self._plain_file = TableFile(disk, plain_path, worker) if plain_path else None
        self._table: dict[str, Offsets] = {}
        self._pulled: dict[str, Offsets] = {}
        self._begun: dict[str, Offsets] = {}  # of queues in `_pulled`
        self._resets: dict[str, Offsets] = {}
        self._texts: dict[str, PreparedText] = {}
        self._others: dict[str, Any] = {}
        self._dirty: set[str] = set()
        self._is_dirty = False
        self._persisted = 0
        self._count = 0
        self._pulled_count = 0
        self._commits = 0
        self.data_version = DataVersion(timestamp=clock.millis())

    def load(self) -> None:
        """Load the file. Raises `ConfigError` if it cannot be read."""
        table = self._file.load()
        if table is None and self._plain_file is not None:
            table = self._plain_file.load()
        if table is None:
            return
        for key, queues in (table.get("offsetTable") or {}).items():
            self._table[key] = {int(queue_id): offset for queue_id, offset in queues.items()}
        known = ["dataVersion", "groupTopicMap", "offsetTable"]
        if self._plain_file is not None:
            known.append("lmqOffsetTable")
            for key, offset in json_members.read(table, "lmqOffsetTable", dict[str, Any]()).items():
                if type(offset) is int:
                    self._table[key] = {0: offset}
        self._others = json_members.others(table, known)
        self._count = sum(map(len, self._table.values()))
        self.data_version = DataVersion.from_json(table.get("dataVersion"))

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        """Commit the group's next offset; return False if the table is full (`maxOffsets`)."""
        key = f"{topic}{SEPARATOR}{group}"
        queues = self._table.get(key)
        if queues is None or queue_id not in queues:
            if self._count >= self._options.max_offsets:
                log.warning("offset of %s queue %d is not stored: maxOffsets is reached", key, queue_id)
                return False
            self._count += 1
            queues = self._table.setdefault(key, {})
        elif offset < queues[queue_id]:
            log.info(
                "offset of %s queue %d moves back from %d to %d", key, queue_id, queues[queue_id], offset
            )
        queues[queue_id] = offset
        self._dirty.add(key)
        self._commits += 1
        if self._commits % self._options.consumer_offset_update_version_step == 0:
            self.data_version.next(self._clock.millis())
        return True

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """Return the group's next offset: a reset that it has not taken, else its commit, else -1."""
        key = f"{topic}{SEPARATOR}{group}"
        if self._resets and self._options.use_server_side_reset_offset:
            reset = self._resets.get(key, {}).get(queue_id)
            if reset is not None:
                return reset
        queues = self._table.get(key)
        return UNKNOWN if queues is None else queues.get(queue_id, UNKNOWN)

    def queues_of(self, group: str, topic: str) -> Offsets:
        """Return a copy of the group's commits in queues of this broker, by queue."""
        queues = self._table.get(f"{topic}{SEPARATOR}{group}", {})
        return {queue_id: offset for queue_id, offset in queues.items() if queue_id < ELSEWHERE}

    def keys_of(self, group: str, topic: str) -> list[int]:
        """Return the queues with commits of the group, and the numbers of other groups' partitions with them
        (`partition_layout.ELSEWHERE`)."""
        return list(self._table.get(f"{topic}{SEPARATOR}{group}", {}))

    def commit_pull(self, group: str, topic: str, queue_id: int, offset: int, begin: int) -> None:
        """Note how far the group has read, from `begin` on; in memory, and only while there is room."""
        key = f"{topic}{SEPARATOR}{group}"
        queues = self._pulled.get(key)
        if queues is None or queue_id not in queues:
            if self._pulled_count >= self._options.max_offsets:
                return
            self._pulled_count += 1
            queues = self._pulled.setdefault(key, {})
            if queue_id not in self._table.get(key, ()):
                self._begun.setdefault(key, {})[queue_id] = begin
        queues[queue_id] = offset

    def query_pull(self, group: str, topic: str, queue_id: int) -> int:
        """Return how far the group has read; if unknown, as `query`."""
        pulled = self._pulled.get(f"{topic}{SEPARATOR}{group}", {}).get(queue_id)
        return self.query(group, topic, queue_id) if pulled is None else pulled

    def pulled_of(self, group: str, topic: str) -> Mapping[int, int]:
        """Return how far the group has read, by known queue; read-only."""
        return self._pulled.get(f"{topic}{SEPARATOR}{group}", {})

    def begun_of(self, group: str, topic: str) -> Mapping[int, int]:
        """Return where the group began to read queues in which it had no commit then; read-only."""
        return self._begun.get(f"{topic}{SEPARATOR}{group}", {})

    def begun_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield topic and group where the group began to read and has not committed anything."""
        return _pairs([key for key in self._begun if key not in self._table])

    def assign_reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Reset the group to an offset. Takes effect on the next pull; visible to queries immediately."""
        if not topic or not group or queue_id < 0 or offset < 0:
            log.warning("reset of %s@%s queue %d to %d is refused", topic, group, queue_id, offset)
            return
        if self.commit(group, topic, queue_id, offset):
            self._resets.setdefault(f"{topic}{SEPARATOR}{group}", {})[queue_id] = offset

    def has_reset(self, group: str, topic: str, queue_id: int) -> bool:
        """Return True if a reset waits for the group's next pull."""
        return queue_id in self._resets.get(f"{topic}{SEPARATOR}{group}", ())

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Take and return the group's reset; None if there is none."""
        if not self._resets:
            return None
        key = f"{topic}{SEPARATOR}{group}"
        queues = self._resets.get(key)
        if queues is None:
            return None
        offset = queues.pop(queue_id, None)
        if not queues:
            del self._resets[key]
        return offset

    def forget_end(self, max_offset: Callable[[str, int], int]) -> None:
        """Limit the offsets to the messages that exist, after the log was truncated."""
        for key, queues in list(self._table.items()):
            topic, _, group = key.partition(SEPARATOR)
            for queue_id, offset in list(queues.items()):
                held = max_offset(topic, queue_id)
                if offset > held:
                    self.commit(group, topic, queue_id, held)
        self._pulled.clear()
        self._begun.clear()
        self._pulled_count = 0

    def clone(self, source_group: str, group: str, topic: str) -> None:
        """Copy the offsets of another group."""
        for key, offset in list(self._table.get(f"{topic}{SEPARATOR}{source_group}", {}).items()):
            self.commit(group, topic, key, offset)

    def topics_of(self, group: str) -> set[str]:
        """Return the topics that the group has committed to."""
        return {topic for topic, of in self._pairs() if of == group}

    def groups_of(self, topic: str) -> set[str]:
        """Return the groups that have committed to the topic."""
        return {group for of, group in self._pairs() if of == topic}

    def remove(self, group: str, topic: str) -> None:
        """Remove all offsets of a group in a topic."""
        key = f"{topic}{SEPARATOR}{group}"
        for table in (self._table, self._pulled, self._begun, self._resets):
            self._remove_key(table, key)

    def remove_queue(self, group: str, topic: str, queue_id: int) -> None:
        """Remove all offsets of a group in one queue."""
        key = f"{topic}{SEPARATOR}{group}"
        for table in (self._table, self._pulled, self._begun, self._resets):
            queues = table.get(key)
            if queues is None or queue_id not in queues:
                continue
            if len(queues) == 1:
                self._remove_key(table, key)
                continue
            del queues[queue_id]
            if table is self._table:
                self._count -= 1
                self._dirty.add(key)
            elif table is self._pulled:
                self._pulled_count -= 1

    def remove_group(self, group: str) -> None:
        """Remove all offsets of a group. RocketMQ: `removeOffset`."""
        self._remove(1, group)

    def remove_topic(self, topic: str) -> None:
        """Remove all offsets of a topic. RocketMQ: `cleanOffsetByTopic`."""
        self._remove(0, topic)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield topic and group of a snapshot of all commits, including LMQ groups."""
        return _pairs(list(self._table))

    def group_topics(self) -> dict[str, list[str]]:
        """Return the topics of each group, sorted."""
        return _group_topics(self._table)

    @property
    def key_count(self) -> int:
        """Number of pairs of a topic and a group, except LMQ groups.

        RocketMQ: `LmqConsumerOffsetManager`, which keeps those in a table of their own.
        """
        return sum(not is_lmq(group) for _, group in self._pairs())

    def to_json(self) -> dict[str, Any]:
        """Return the committed offsets and their version, as sent to slaves."""
        return {
            "dataVersion": self.data_version.to_json(),
            "groupTopicMap": self.group_topics(),
            **self._tables({key: dict(queues) for key, queues in self._table.items()}),
        }

    def persist(self, hold: Hold | None = None, *, inline: bool = False) -> None:
        """Write the file if anything has changed since it was written, or the last write failed.

        With `hold` the current offsets are written, but not before that allows it; `inline` writes
        synchronously even with a worker.
        """
        if not (self._dirty or self._is_dirty or self._file.has_failed):
            return
        self._is_dirty = False
        self._persisted += 1
        if hold is None:
            self._file.save(self._chunks, inline=inline)
            return
        number, chunks = self._persisted, self._chunks()

        def write(is_allowed: bool) -> None:
            if number != self._persisted:
                return
            if is_allowed:
                self._file.save(lambda: chunks)
            else:
                self._is_dirty = True

        hold(write)

    def _chunks(self) -> Iterator[bytes]:
        """Yield the file's text, of the current state; may be iterated on another thread."""
        # Only changed entries are converted to text again.
        for key in self._dirty:
            if key in self._table:
                self._texts[key] = PreparedText(dumps(self._table[key], indent=True))
        self._dirty.clear()
        shapes = {key: self._texts.get(key) or dict(queues) for key, queues in self._table.items()}
        return _in_chunks(self._others | {"dataVersion": self.data_version.to_json()}, self._tables(shapes))

    def _tables(self, shapes: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the table in the file's format: of an LMQ group only queue 0 counts."""
        if self._plain_file is None:
            return {"offsetTable": shapes}
        light = [key for key in shapes if is_lmq(key.partition(SEPARATOR)[2])]
        return {
            "lmqOffsetTable": {key: self._table[key].get(0, 0) for key in light},
            "offsetTable": {key: shape for key, shape in shapes.items() if key not in set(light)},
        }

    def _pairs(self) -> Iterator[tuple[str, str]]:
        """Yield topic and group of every key; keys of another form are kept, but skipped here."""
        return _pairs(self._table)

    def _remove(self, part: int, name: str) -> None:
        for table in (self._table, self._pulled, self._begun, self._resets):
            for key in [key for key in table if _is_part(key, part, name)]:
                self._remove_key(table, key)

    def _remove_key(self, table: dict[str, Offsets], key: str) -> None:
        queues = table.pop(key, None)
        if queues is None:
            return
        if table is self._table:
            self._count -= len(queues)
            self._texts.pop(key, None)
            self._is_dirty = True
        elif table is self._pulled:
            self._pulled_count -= len(queues)


def _pairs(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        topic, separator, group = key.partition(SEPARATOR)
        if separator and SEPARATOR not in group:
            yield topic, group


def _group_topics(keys: Iterable[str]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for topic, group in _pairs(keys):
        table.setdefault(group, []).append(topic)
    return {group: sorted(topics) for group, topics in table.items()}


def _in_chunks(others: dict[str, Any], tables: dict[str, dict[str, Any]]) -> Iterator[bytes]:
    keys = [key for table in tables.values() for key in table]
    yield from in_chunks({**others, "groupTopicMap": _group_topics(keys), **tables})


def _is_part(key: str, part: int, name: str) -> bool:
    """Return True if a key has a topic or group of this name; `group@broadcast` counts as the group."""
    parts = key.split(SEPARATOR)
    return (len(parts) == 2 or parts[2:] == [BROADCAST]) and parts[part] == name

"""The mappings of a broker's static topics, and their file `topicQueueMapping.json`.

Standard: `TopicQueueMappingManager`, `TopicQueueMappingDetail`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.static_topics.pieces import MappingRefused, Piece, check, check_follows
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import TableFile
from mqgateway.engine.worker import Worker

GLOBAL_SCOPE = "__global__"
PIECES_MAX = 1000
"""Pieces of one queue."""


@dataclass(slots=True)
class TopicMapping:
    """What one broker knows of a static topic: the pieces of queues that it has, or had, by queue."""

    topic: str
    broker_name: str
    total_queues: int
    epoch: int
    scope: str = GLOBAL_SCOPE
    queues: dict[int, list[Piece]] = field(default_factory=dict)

    @property
    def piece_count(self) -> int:
        """The pieces of all queues."""
        return sum(map(len, self.queues.values()))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises `ConfigError`."""
        topic = json_members.read_name(value, "topic")
        hosted = json_members.read(value, "hostedQueues", dict[str, Any]())
        if not all(isinstance(pieces, list) and len(pieces) <= PIECES_MAX for pieces in hosted.values()):
            raise ConfigError("the pieces of a queue are no list, or too many")
        try:
            queues = {int(key): [Piece.from_json(one) for one in pieces] for key, pieces in hosted.items()}
        except (TypeError, ValueError) as error:
            raise ConfigError(f"the number of a queue cannot be read: {error}") from None
        return cls(
            topic,
            json_members.read_name(value, "bname"),
            json_members.read(value, "totalQueues", 0),
            json_members.read(value, "epoch", 0, json_members.LONG_BITS),
            json_members.read(value, "scope", "") or GLOBAL_SCOPE,
            queues,
        )

    def to_json(self) -> dict[str, Any]:
        """All, by the standard's names; what is led is worked out for name servers only."""
        hosted = {number: [piece.to_json() for piece in pieces] for number, pieces in self.queues.items()}
        return self.info() | {"currIdMap": {}, "hostedQueues": hosted}

    def leads(self, queue_id: int) -> bool:
        """Whether the broker is the one that a queue is written to."""
        pieces = self.queues.get(queue_id)
        if not pieces:
            return False
        return pieces[-1].broker_name == self.broker_name

    def info(self) -> dict[str, Any]:
        """What name servers are told: which queues the broker leads, and where it has them."""
        return {
            "bname": self.broker_name,
            "currIdMap": {one: pieces[-1].queue_id for one, pieces in self.queues.items() if self.leads(one)},
            "dirty": False,
            "epoch": self.epoch,
            "scope": self.scope,
            "topic": self.topic,
            "totalQueues": self.total_queues,
        }


class Mappings:
    """The table."""

    def __init__(
        self, options: BrokerOptions, disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        self._options = options
        self._clock = clock
        self._file = TableFile(disk, path, worker)
        self._others: dict[str, Any] = {}
        self.piece_count = 0
        self.table: dict[str, TopicMapping] = {}
        self.data_version = DataVersion(timestamp=clock.millis())

    def load(self) -> None:
        """Take over what the file holds. Raises `ConfigError` when it cannot be read."""
        found = self._file.load()
        if found is None:
            return
        for value in json_members.read(found, "topicQueueMappingInfoMap", dict[str, Any]()).values():
            mapping = TopicMapping.from_json(value)
            self._set(mapping)
        self._others = json_members.others(found, ("dataVersion", "topicQueueMappingInfoMap"))
        self.data_version = DataVersion.from_json(found.get("dataVersion"))

    def put(self, mapping: TopicMapping, *, force: bool = False) -> None:
        """Take a mapping over; pieces that it does not tell of stay. Raises `MappingRefused`.

        Standard: `updateTopicQueueMapping`.
        """
        if mapping.broker_name != self._options.broker_name:
            raise MappingRefused(f"the mapping is for broker {mapping.broker_name}")
        for pieces in mapping.queues.values():
            check(pieces)
        old = self.table.get(mapping.topic)
        whole = mapping
        if old is not None and not force:
            self._check(mapping, old)
        if old is not None:
            whole = replace(mapping, queues={**old.queues, **mapping.queues})
        self._check_size(whole, old)
        self._set(whole)
        self._changed()

    def _check_size(self, mapping: TopicMapping, old: TopicMapping | None) -> None:
        most = self._options.max_queues_per_topic
        if any(not 0 <= number < most for number in mapping.queues):
            raise MappingRefused(
                f"the queues of a topic are numbered from 0, below {most} (maxQueuesPerTopic)"
            )
        pieces = self.piece_count + mapping.piece_count - (0 if old is None else old.piece_count)
        if pieces > self._options.max_queue_pieces:
            raise MappingRefused(f"{pieces} pieces of queues are too many (maxQueuePieces)")

    def _set(self, mapping: TopicMapping) -> None:
        old = self.table.get(mapping.topic)
        self.piece_count += mapping.piece_count - (0 if old is None else old.piece_count)
        self.table[mapping.topic] = mapping

    def _check(self, mapping: TopicMapping, old: TopicMapping) -> None:
        if mapping.epoch < old.epoch:
            raise MappingRefused(f"Can't accept data with small epoch {mapping.epoch} < {old.epoch}")
        if mapping.scope != old.scope:
            raise MappingRefused(f"Can't accept data with unmatched scope {mapping.scope} != {old.scope}")
        for number, pieces in old.queues.items():
            if number in mapping.queues:
                check_follows(pieces, mapping.queues[number], mapping.epoch == old.epoch)
            elif mapping.epoch == old.epoch:
                raise MappingRefused("Cannot accept equal epoch with null data")

    def adopt(self, reported: Mapping[str, Any]) -> bool:
        """Take over a master's table, told along with its topics, whole; false where it is as new as ours.

        Raises `ConfigError`, and then has taken nothing. Standard: `SlaveSynchronize.syncTopicConfig`.
        """
        version = DataVersion.from_json(reported.get("mappingDataVersion"))
        if version == self.data_version:
            return False
        values = json_members.read(reported, "topicQueueMappingDetailMap", dict[str, Any]()).values()
        mappings = [TopicMapping.from_json(value) for value in values]
        self.table, self.piece_count = {}, 0
        for mapping in mappings:
            self._set(mapping)
        self.data_version = version
        self._file.save(self._text)
        return True

    def delete(self, topic: str) -> None:
        """Forget a topic."""
        old = self.table.pop(topic, None)
        if old is not None:
            self.piece_count -= old.piece_count
            self._changed()

    def clean(self, topic: str, queues: Mapping[int, list[Piece]]) -> None:
        """Put what is left of queues in the place of their pieces; a queue with none is forgotten."""
        old = self.table[topic]
        left = {number: pieces for number, pieces in {**old.queues, **queues}.items() if pieces}
        self._set(replace(old, queues=left))
        self._changed()

    def _changed(self) -> None:
        self.data_version.next(self._clock.millis())
        self._file.save(self._text)

    def retry(self) -> None:
        """Write the file again if the last write failed; for a slow beat."""
        if self._file.has_failed:
            self._file.save(self._text)

    def _text(self) -> bytes:
        known = {
            "dataVersion": self.data_version.to_json(),
            "topicQueueMappingInfoMap": {topic: one.to_json() for topic, one in self.table.items()},
        }
        return dumps(self._others | known, indent=True)

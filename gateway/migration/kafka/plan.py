"""The files of a migration from Kafka: a plan, which may be edited, and the progress beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.offset_translation import OffsetTranslation
from mqgateway.gateway.migration.kafka.topics import KafkaTopic
from mqgateway.gateway.migration.plan import MigrationError

VERSION: Final = 1
KIND: Final = "kafka"


@dataclass
class KafkaPlan:
    """Addresses of both clusters, paths of the properties files to connect with, and what is moved.

    `topics` have `name`, `partitions` and `configs`; `acls` are rows of `access`. `users` are names with
    SCRAM credentials, which cannot be read from Kafka. `share_groups` are moved with their start offsets, and
    `client_quotas` are rows of `quotas`. `group_settings` are those that groups have of their own.
    """

    source: list[str]
    target: list[str]
    source_config: str = ""
    target_config: str = ""
    topics: list[dict[str, Any]] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    share_groups: list[str] = field(default_factory=list)
    acls: list[dict[str, Any]] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    client_quotas: list[dict[str, Any]] = field(default_factory=list)
    group_settings: dict[str, dict[str, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def encode(self) -> bytes:
        """Return the contents of the file."""
        shape = {"version": VERSION, "kind": KIND, **asdict(self)}
        return orjson.dumps(shape, option=orjson.OPT_INDENT_2) + b"\n"

    def kafka_topics(self) -> list[KafkaTopic]:
        """Return the topics."""
        return [KafkaTopic(one["name"], one["partitions"], one["configs"]) for one in self.topics]

    def partitions(self) -> list[Partition]:
        """Return the partitions of all topics."""
        return [Partition(one.name, index) for one in self.kafka_topics() for index in range(one.partitions)]


def decode(data: bytes, path: str) -> KafkaPlan:
    """Parse a plan. Raises `MigrationError`."""
    try:
        found = orjson.loads(data)
        if (found.pop("version"), found.pop("kind", None)) != (VERSION, KIND):
            raise MigrationError(f"{path} is not a plan of a migration from Kafka: create it again")
        plan = KafkaPlan(**found)
        plan.partitions()
        for settings in plan.group_settings.values():
            settings.items()
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise MigrationError(f"{path} is not a plan: {error}") from None
    return plan


class PartitionProgress:
    """Progress of a partition: `position`, the next offset at the source, and the offsets of the copies."""

    __slots__ = ("offsets", "position")

    def __init__(self, position: int, offsets: OffsetTranslation) -> None:
        self.position = position
        self.offsets = offsets


class KafkaProgress:
    """Progress of all partitions. `is_finished`: clients may use the target, and nothing is copied again."""

    def __init__(self) -> None:
        self.partitions: dict[Partition, PartitionProgress] = {}
        self.is_finished = False

    def begin(self, partition: Partition, source_start: int, target_end: int) -> None:
        """Note where the copy of a partition begins at both sides."""
        self.partitions[partition] = PartitionProgress(source_start, OffsetTranslation(target_end))

    def encode(self) -> bytes:
        """Return the contents of the file."""
        rows = [
            {
                "topic": partition.topic,
                "partition": partition.number,
                "position": one.position,
                "targetStart": one.offsets.target_start,
                "spans": one.offsets.spans,
            }
            for partition, one in self.partitions.items()
        ]
        return orjson.dumps({"version": VERSION, "finished": self.is_finished, "partitions": rows}) + b"\n"

    @classmethod
    def decode(cls, data: bytes, path: str) -> KafkaProgress:
        """Parse the progress; empty data is no progress. Raises `MigrationError`."""
        progress = cls()
        if not data:
            return progress
        try:
            found = orjson.loads(data)
            progress.is_finished = found["finished"]
            progress._restore(found["partitions"])
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise MigrationError(f"{path} was not written by mqgateway migrate: {error}") from None
        return progress

    def _restore(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            offsets = OffsetTranslation(row["targetStart"], row["spans"])
            partition = Partition(row["topic"], row["partition"])
            # An interrupt may come between the notes of offsets and of the position.
            position = max(row["position"], offsets.source_end)
            self.partitions[partition] = PartitionProgress(position, offsets)

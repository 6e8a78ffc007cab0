"""Topics of the other broker groups of a Kafka cluster, as their masters reported them last.

They are kept in a file, so that a broker that starts while another group is down knows what belongs to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.tables.config_table import ConfigTable
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.worker import Worker


@dataclass(frozen=True, slots=True)
class PeerTopic:
    """A topic of another group."""

    group: str
    config: TopicConfig

    @property
    def key(self) -> str:
        """See `Config`."""
        return peer_key(self.group, self.config.topic_name)

    def to_json(self) -> dict[str, Any]:
        """See `Config`."""
        return {"group": self.group, "config": self.config.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """See `Config`."""
        config = TopicConfig.from_json(json_members.read(value, "config", dict[str, Any]()))
        return cls(json_members.read_name(value, "group"), config)


def peer_key(group: str, topic: str) -> str:
    """Return the name of a group's topic in the table; names of groups have no slash."""
    return f"{group}/{topic}"


class PeerTopicTable(ConfigTable[PeerTopic]):
    """The topics of other groups."""

    entry = PeerTopic
    member = "peerTopicTable"

    def __init__(self, disk: Disk, path: str, clock: Clock, worker: Worker | None = None) -> None:
        super().__init__(disk, path, clock, worker, ())

    def _implied(self, name: str) -> PeerTopic | None:
        return None

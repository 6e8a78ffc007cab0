"""A member of a consumer group. Standard: `ConsumerGroupMember`, `MemberState`."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition

LEFT_EPOCH = -1
"""Epoch with which a member leaves."""
STATIC_LEFT_EPOCH = -2
"""Epoch with which a static member leaves for a while, and that it has until it comes back."""

Owned = dict[TopicPartition, int]
"""Partitions, with the epoch of the member in which each was assigned."""


class AssignmentState(IntEnum):
    """Progress of a member on its way to its target; the values are those of Kafka's records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class MemberPosition(NamedTuple):
    """The epoch, state and partitions of a member.

    `assigned` are the partitions that it may use, `revoking` those that it has to give up first. No other
    member is assigned either.
    """

    epoch: int
    previous_epoch: int
    state: AssignmentState
    assigned: Owned
    revoking: Owned

    @property
    def held(self) -> Collection[TopicPartition]:
        """The partitions that it has, those that it is to give up among them."""
        return self.assigned.keys() | self.revoking.keys()

    def is_at(self, epoch: int) -> bool:
        """Return True if the target of an epoch is reached."""
        return self.state is AssignmentState.STABLE and self.epoch == epoch

    def assignment_epoch(self, partition: TopicPartition) -> int | None:
        """Return the epoch in which a partition was assigned, None if it is not owned."""
        epoch = self.assigned.get(partition)
        return self.revoking.get(partition) if epoch is None else epoch


START = MemberPosition(0, 0, AssignmentState.STABLE, {}, {})
"""The position of a new member."""


class ModernMember:
    """A member. `topics` are the names it subscribes to, `regex` an expression for more, empty for none."""

    __slots__ = (
        "assignor",
        "client",
        "id",
        "instance_id",
        "position",
        "rack_id",
        "rebalance_timeout",
        "regex",
        "topics",
    )

    def __init__(
        self,
        member_id: str,
        client: RequestSender,
        *,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout: int = -1,
        topics: tuple[str, ...] = (),
        regex: str = "",
        assignor: str | None = None,
    ) -> None:
        self.id = member_id
        self.client = client
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout = rebalance_timeout
        self.topics = topics
        self.regex = regex
        self.assignor = assignor
        self.position = START

    def renamed(self, member_id: str) -> ModernMember:
        """Return a new member that says the same of itself under another id."""
        return ModernMember(
            member_id,
            self.client,
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            rebalance_timeout=self.rebalance_timeout,
            topics=self.topics,
            regex=self.regex,
            assignor=self.assignor,
        )

    @property
    def size(self) -> int:
        """Characters of what it says of itself."""
        texts = (self.id, self.instance_id, self.rack_id, self.regex, self.assignor, *self.topics)
        return sum(len(text) for text in texts if text is not None)

    @property
    def subscription(self) -> tuple[tuple[str, ...], str]:
        """Names of topics, and a regular expression."""
        return self.topics, self.regex

    @property
    def metadata(self) -> tuple[object, ...]:
        """All that it says of itself."""
        return (
            self.client,
            self.instance_id,
            self.rack_id,
            self.rebalance_timeout,
            self.subscription,
            self.assignor,
        )

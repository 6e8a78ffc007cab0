"""Describe consumer and share groups, whose partitions the broker assigns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from mqgateway.engine.steps import Steps, in_parts, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.api.groups import GroupAccess
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.assigned_group import AssignedGroup
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.group_records import by_topic
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.group_names import store_group
from mqgateway.gateway.kafka.rights import group_bits, shows_topic
from mqgateway.gateway.kafka.topics import Topic, Topics, store_name

NAMES_PART = 100
"""Topics that are checked in one step."""
MEMBERS_PART = 4
"""Members that are described in one step."""
HIDDEN_TOPICS = "The group has members subscribed to topic(s) that the client is not authorized to describe."


class Description(Protocol):
    """The description of a group, of either API."""

    error_code: int
    authorized_operations: int


D = TypeVar("D", bound=Description)
G = TypeVar("G", bound=AssignedGroup[Any])
M = TypeVar("M")
R = TypeVar("R")


class GroupDescriptions(Generic[G, D]):
    """Descriptions of the groups of one kind, which messages call `name`.

    `refused` makes the description of a group that the client gets an error for, of its code, message and id;
    `describe` makes that of a group.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        access: GroupAccess,
        kind: type[G],
        name: str,
        refused: Callable[[ErrorCode, str | None, str], D],
        describe: Callable[[G], Steps[D]],
    ) -> None:
        self._coordinator = coordinator
        self._access = access
        self._kind = kind
        self._name = name
        self._refused = refused
        self._describe = describe

    def of(self, call: KafkaCall, group_ids: Iterable[str], shows_operations: bool) -> Steps[list[D]]:
        """Return the descriptions of groups, with the operations that the client is allowed if it wants
        them."""
        groups: list[D] = []
        for group_id in group_ids:
            described = yield from self._described(call, group_id)
            if shows_operations and not described.error_code:
                described.authorized_operations = group_bits(call, store_group(group_id))
            groups.append(described)
        return groups

    def _described(self, call: KafkaCall, group_id: str) -> Steps[D]:
        yield
        error = self._access.error(call, group_id, AclOperation.DESCRIBE)
        if not error and not group_id:
            error = ErrorCode.INVALID_GROUP_ID
        if error:
            return self._refused(error, None, group_id)
        group = self._coordinator.groups.get(group_id)
        if not isinstance(group, self._kind):
            is_known = group is not None or self._coordinator.shared.has_group(group_id)
            message = f"Group {group_id} {f'is not {self._name}' if is_known else 'not found'}."
            return self._refused(ErrorCode.GROUP_ID_NOT_FOUND, message, group_id)
        if not (yield from shows_all(call, tuple(group.topics))):
            return self._refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, HIDDEN_TOPICS, group_id)
        return (yield from self._describe(group))


def described_members(members: Collection[M], describe: Callable[[M], R]) -> Steps[list[R]]:
    """Return the descriptions of members."""
    described: list[R] = []
    for part in in_parts(tuple(members), MEMBERS_PART):
        described += map(describe, part)
        yield
    return described


def shows_all(call: KafkaCall, names: Iterable[str]) -> Steps[bool]:
    """Return True if the client may see all these topics."""
    shown = yield from mapped(lambda name: shows_topic(call, store_name(name)), names, NAMES_PART)
    return all(shown)


def existing(topics: Topics, partitions: Iterable[TopicPartition]) -> Iterator[tuple[Topic, list[int]]]:
    """Yield the topics of partitions with their numbers, without topics that do not exist any more."""
    for topic_id, indexes in by_topic(partitions):
        topic = topics.by_id(topic_id)
        if topic is not None:
            yield topic, indexes

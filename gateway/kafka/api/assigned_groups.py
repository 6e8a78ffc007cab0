"""Describe consumer and share groups, whose partitions the broker assigns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol, TypeVar

from mqgateway.engine.steps import Steps, in_parts, mapped
from mqgateway.gateway.kafka.call import KafkaCall
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
M = TypeVar("M")
R = TypeVar("R")


def described_groups(
    call: KafkaCall, group_ids: Iterable[str], shows_operations: bool, describe: Callable[[str], Steps[D]]
) -> Steps[list[D]]:
    """Return the descriptions of groups, with the operations that the client is allowed if it wants them."""
    groups: list[D] = []
    for group_id in group_ids:
        described = yield from describe(group_id)
        if shows_operations and not described.error_code:
            described.authorized_operations = group_bits(call, store_group(group_id))
        groups.append(described)
    return groups


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

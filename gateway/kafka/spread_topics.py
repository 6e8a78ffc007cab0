"""Changes of topics whose partitions several broker groups have.

A topic belongs to the group of its first partition. Its master changes its own part of the topic first, and
then has the masters of the other groups make theirs equal. It repeats this until they are: a change that a
crash interrupts, or that a group misses, is completed later. A topic to be deleted gets a mark, is deleted in
the other groups, and in its own one last.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from twisted.internet.defer import (
    Deferred,
    DeferredList,
    DeferredLock,
    fail,
    gatherResults,
    maybeDeferred,
    succeed,
)
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.group_nodes import NO_NODE
from mqgateway.engine.ha.peer_groups import has_part, is_part
from mqgateway.engine.tables.attributes import KAFKA_DELETED, KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import PartitionLayout, parse_layout
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.operations import (
    OperationError,
    Operations,
    PeerOperations,
    Permit,
    Reason,
    Use,
)
from mqgateway.gateway.kafka.forwarded import together
from mqgateway.gateway.kafka.topics import Topic

log = logging.getLogger(__name__)

COMPLETE: Final = "completeTopic"
TOPIC: Final = "topic"
PERIOD_MILLIS: Final = 1000


class LeftBehind(OperationError):
    """Groups without partitions of a topic do not know its last change yet: partitions left them, or moves to
    them are cancelled. They are notified later, and the change needs none of them."""


class SpreadTopics:
    """Changes of topics of several groups, made or requested by this broker."""

    def __init__(self, operations: Operations, peers: PeerOperations) -> None:
        self._operations = operations
        self._peers = peers
        self._next = 0
        self._seen: tuple[bytes, int] | None = None
        self._left: set[str] = set()
        self._begun: set[str] = set()
        self._problems: dict[str, str] = {}
        self._locks: dict[str, DeferredLock] = {}

    def serve(self) -> None:
        """Complete changes that other groups request from now on."""
        self._peers.serve(COMPLETE, self._received)

    # Changes, each of which fires once this broker knows it. They fail with `OperationError`, also if a group
    # does not make its part of a change that is completed later.

    def create(self, permit: Permit, config: TopicConfig, layout: PartitionLayout) -> Deferred[None]:
        """Create a topic; the keys of its attributes are changes."""
        return self._changed(permit, layout.home, config, layout, is_new=True)

    def extend(self, permit: Permit, topic: Topic, layout: PartitionLayout) -> Deferred[None]:
        """Add the partitions of a topic that a layout has, or the moves of partitions."""
        owner = topic.group or self._peers.own
        return self._changed(permit, owner, _with_layout(topic.config, layout, owner), layout)

    def delete(self, permit: Permit, topic: Topic, layout: PartitionLayout) -> Deferred[None]:
        """Delete a topic."""
        marked = replace(topic.config, attributes={f"+{KAFKA_DELETED}": "true"})
        return self._changed(permit, topic.group or self._peers.own, marked, layout)

    def silent(self, layout: PartitionLayout) -> str | None:
        """Return the first group of a layout that has no leader, None if all have one."""
        others = (group for group in layout.groups if group != self._peers.own)
        return next((group for group in others if self._peers.nodes(group).leader == NO_NODE), None)

    def _changed(
        self,
        permit: Permit,
        owner: str,
        config: TopicConfig,
        layout: PartitionLayout,
        *,
        is_new: bool = False,
    ) -> Deferred[None]:
        """Change the part of a topic's own group, and then those of the others."""
        name = config.topic_name
        if owner != self._peers.own:
            put = self._peers.put_topic(permit, owner, config, is_new=is_new)
            asked = put.addCallback(lambda _: self._peers.ask(owner, COMPLETE, {TOPIC: name}))
            return asked.addCallback(self._refreshed, layout)
        heard: Deferred[None] = maybeDeferred(self._put_own, permit, config)
        return heard.addCallback(lambda _: self._complete(name).addErrback(_needed))

    def _put_own(self, permit: Permit, config: TopicConfig) -> Deferred[None]:
        known = self._operations.topics.get(config.topic_name)
        if known is not None:
            self._peers.check_newest(known)
        return self._operations.administration.put_topic(permit, config)

    def _refreshed(self, _: object, layout: PartitionLayout) -> Deferred[None]:
        others = [self._peers.refresh(group) for group in layout.groups if group != self._peers.own]
        return gatherResults(others).addCallback(lambda _: None)

    def _received(self, fields: Mapping[str, Any]) -> Deferred[Mapping[str, Any]]:
        completed = self._complete(json_members.read(fields, TOPIC, "")).addErrback(_needed)
        return completed.addCallback(lambda _: {})

    # The own group's topics

    def tick(self) -> None:
        """Complete changes of the topics of this broker's group."""
        now = elapsed_millis(self._operations.clock)
        if now < self._next or not self._operations.replicas.leads:
            return
        self._next = now + PERIOD_MILLIS
        seen = self._operations.topics.version, self._peers.changes
        if seen != self._seen:
            self._seen = seen
            self._left = {config.topic_name for config, layout in self._owned() if self._lags(config, layout)}
            self._problems = {name: text for name, text in self._problems.items() if name in self._left}
        for name in sorted(self._left - self._begun):
            self._begun.add(name)
            self._complete(name).addCallbacks(
                self._completed, self._failed, callbackArgs=(name,), errbackArgs=(name,)
            )

    def _completed(self, _: None, name: str) -> None:
        self._begun.discard(name)
        self._left.discard(name)
        self._problems.pop(name, None)

    def _failed(self, failure: Failure, name: str) -> None:
        """Note that a change is not complete yet. It is tried again in a second, and logged once."""
        self._begun.discard(name)
        if not isinstance(failure.value, OperationError):
            log.error("topic %s: %s", name, failure.getTraceback())
        problem = failure.getErrorMessage()
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            log.warning("topic %s is not the same in all broker groups yet: %s", name, problem)

    def _owned(self) -> Iterator[tuple[TopicConfig, PartitionLayout]]:
        """Yield the topics with a layout that belong to this broker's group."""
        for config in self._operations.topics.all():
            layout = self._owned_layout(config)
            if layout is not None:
                yield config, layout

    def _owned_layout(self, config: TopicConfig) -> PartitionLayout | None:
        """Return the layout of a topic that belongs to this broker's group, None for another topic.

        It belongs to another group than that of its first partition only if that one has reported that it has
        no such topic.
        """
        layout = parse_layout(config.attributes.get(KAFKA_PARTITIONS, ""))
        if layout is None or self._peers.foreign(config.topic_name) is not None:
            return None
        home, own = layout.home, self._peers.own
        return layout if home == own or self._peers.nodes(home).leader != NO_NODE else None

    def _lags(self, config: TopicConfig, layout: PartitionLayout) -> bool:
        """Return True if a change of a topic is not complete, as far as this broker knows."""
        is_deleted = KAFKA_DELETED in config.attributes
        return (
            is_deleted or self._peers.newest_layout(config) != layout or bool(self._lagging(config, layout))
        )

    def _lagging(self, config: TopicConfig, layout: PartitionLayout) -> list[tuple[str, TopicConfig]]:
        """Return the other groups whose part of a topic is to be changed, with the part."""
        lagging = []
        for group in layout.queue_numbers:  # one that partitions left removes its queues
            if group in self._peers.others:
                known = self._peers.topic_of(group, config.topic_name)
                queues = layout.queues(group)
                part = replace(config, read_queue_nums=queues, write_queue_nums=queues)
                if known is None or not is_part(part, known) or not has_part(part, known):
                    lagging.append((group, part))
        return lagging

    def _complete(self, name: str) -> Deferred[None]:
        """Have the other groups make their parts of an own topic equal. Fails with `OperationError`.

        Runs for one topic follow one another: a part must not be made after its deletion, nor a new topic of
        the name be deleted.
        """
        lock = self._locks.setdefault(name, DeferredLock())
        return lock.run(self._make_equal, name).addBoth(self._ran, name, lock)

    def _ran(self, outcome: Failure | None, name: str, lock: DeferredLock) -> Failure | None:
        if not lock.locked:
            self._locks.pop(name, None)
        return outcome

    def _make_equal(self, name: str) -> Deferred[None]:
        config = self._operations.topics.get(name)
        layout = None if config is None else self._owned_layout(config)
        if config is None or layout is None:
            return succeed(None)
        permit = self._operations.gate.internal(Use.ADMINISTER)
        if KAFKA_DELETED in config.attributes:
            silent = self.silent(layout)
            if silent is not None:
                text = f"Topic {name} is deleted once broker group {silent} has a leader."
                return fail(OperationError(Reason.SERVICE_NOT_AVAILABLE, text))
            return self._peers.delete_topic(permit, name).addCallback(self._delete_own, permit, name)
        newest = self._peers.newest_layout(config)
        if newest is not None and newest != layout:
            extended = _with_layout(config, newest, self._peers.own)
            heard = self._operations.administration.put_topic(permit, extended)
            return heard.addCallback(lambda _: self._make_equal(name))
        lagging = dict(self._lagging(config, layout))
        put = {group: self._peers.put_part(permit, group, part) for group, part in lagging.items()}
        left = [put.pop(group) for group in lagging if group not in layout.groups]
        outcomes = DeferredList([together([*put.values()]), together(left)], consumeErrors=True)
        return outcomes.addCallback(_parts_made)

    def _delete_own(self, _: None, permit: Permit, name: str) -> Deferred[None]:
        administration = self._operations.administration
        administration.delete_topic(permit, name)
        return administration.withdraw_topic(permit, name)


def _parts_made(outcomes: Sequence[tuple[bool, Any]]) -> None:
    """Raise the first error of the groups that have partitions; `LeftBehind` if only others have any."""
    (are_made, failed), (are_left_made, others_failed) = outcomes
    if not are_made:
        failed.raiseException()
    if not are_left_made:
        if not isinstance(others_failed.value, OperationError):
            others_failed.raiseException()
        raise LeftBehind(Reason.SERVICE_NOT_AVAILABLE, others_failed.getErrorMessage())


def _needed(failure: Failure) -> None:
    """Leave a group that partitions left for later, and fail for any other reason."""
    if not isinstance(failure.value, LeftBehind):
        failure.raiseException()


def _with_layout(config: TopicConfig, layout: PartitionLayout, group: str) -> TopicConfig:
    """Return the change of a group's part that makes it as a layout has it."""
    queues = layout.queues(group)
    attributes = {f"+{KAFKA_PARTITIONS}": layout.text}
    return replace(config, read_queue_nums=queues, write_queue_nums=queues, attributes=attributes)

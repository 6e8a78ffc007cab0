"""Broker groups of the same Kafka cluster: their nodes, their topics, and requests to their masters.

A request between groups takes no permit of the asked broker's: the asking one has admitted the client, and
access control admits brokers alone to the request that carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from twisted.internet.defer import Deferred, gatherResults, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine import json_members
from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.ha.group_nodes import NodesView
from mqgateway.engine.ha.peer_groups import has_part, is_part
from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import PartitionLayout, parse_layout
from mqgateway.engine.tables.peer_topics import PeerTopic
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import topics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.batch_producers import NotInTransaction, OldCoordinator, OldEpoch
from mqgateway.gateway.broker.operations.batches import BatchOperations
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.replication.group import Peers

Fields = Mapping[str, Any]

PUT_TOPIC: Final = "putTopic"
PUT_PART: Final = "putPart"
DELETE_TOPIC: Final = "deleteTopic"
WRITE_MARKER: Final = "writeMarker"
PRODUCER, EPOCH, COMMITS, COORDINATOR, QUEUE = "producer", "epoch", "commits", "coordinator", "queue"
NEW, CONFIG, TOPIC, EXISTS, GONE, REFUSED = "isNew", "config", "topic", "exists", "isGone", "refused"


class TopicExists(OperationError):
    """A topic that was to be made and is there."""


class PeerOperations:
    """The other groups of one broker's cluster."""

    def __init__(self, broker: Broker, gate: Gate, batches: BatchOperations, peers: Peers) -> None:
        self._broker = broker
        self._gate = gate
        self._batches = batches
        self._peers = peers
        self._groups = peers.groups
        self.names = peers.groups.names
        """All groups of the cluster, in their order."""
        self.own = peers.groups.own
        """The group of this broker."""
        peers.serve(PUT_TOPIC, self._put_received)
        peers.serve(PUT_PART, self._part_received)
        peers.serve(DELETE_TOPIC, self._delete_received)
        peers.serve(WRITE_MARKER, self._marker_received)

    @property
    def is_complete(self) -> bool:
        """True if the topics of all groups are known."""
        return self._groups.is_complete

    @property
    def is_current(self) -> bool:
        """True if the topics of all groups are known as they are, not as they were before a restart."""
        return self._groups.is_current(elapsed_millis(self._broker.clock))

    @property
    def others(self) -> Sequence[str]:
        """Names of the other groups."""
        return self._groups.others

    @property
    def changes(self) -> int:
        """The number of changes of the other groups' topics."""
        return self._groups.changes

    def nodes(self, group: str) -> NodesView:
        """Return the nodes of another group, as its master reported them last."""
        return self._groups.view(group, elapsed_millis(self._broker.clock))

    def foreign(self, topic: str) -> PeerTopic | None:
        """Return a topic that belongs to another group; None if it is this one's, or unknown."""
        return self._groups.foreign(topic)

    def foreign_topics(self) -> Iterator[PeerTopic]:
        """Yield all topics that belong to other groups."""
        return self._groups.foreign_topics()

    @property
    def foreign_count(self) -> int:
        """The number of topics that other groups have."""
        return self._groups.foreign_count

    def topic_of(self, group: str, topic: str) -> TopicConfig | None:
        """Return a topic as another group has it, None if it has none of the name."""
        return self._groups.topic_of(group, topic)

    def holders(self, topic: str) -> Sequence[str]:
        """Return the other groups that have a topic of a name."""
        return self._groups.holders(topic)

    def newest_layout(self, config: TopicConfig) -> PartitionLayout | None:
        """Return the layout of a topic with the longest history, of this group's and those that others
        report; None for a topic without one.

        A slave that becomes master may not have copied the last change.
        """
        newest = parse_layout(config.attributes.get(KAFKA_PARTITIONS, ""))
        for group in self.holders(config.topic_name):
            part = self.topic_of(group, config.topic_name)
            if newest is not None and part is not None and is_part(part, config):
                other = parse_layout(part.attributes.get(KAFKA_PARTITIONS, ""))
                if other is not None and other.extends(newest):
                    newest = other
        return newest

    def check_newest(self, known: TopicConfig) -> None:
        """Check that this group has the newest layout of a topic, so that no change is lost by another one.
        Raises `OperationError`."""
        newest = self.newest_layout(known)
        if newest != parse_layout(known.attributes.get(KAFKA_PARTITIONS, "")):
            text = f"Topic {known.topic_name} is being taken over after a fail-over of its group: try again."
            raise OperationError(Reason.SERVICE_NOT_AVAILABLE, text)

    def refresh(self, group: str) -> Deferred[None]:
        """Request the nodes and topics of a group now; never fails."""
        return self._peers.refresh(group)

    # Requests to masters of other groups

    def ask(self, group: str, kind: str, fields: Fields) -> Deferred[Fields]:
        """Return the answer of a group's master. Fails with `OperationError`."""
        return self._peers.ask(group, kind, fields)

    def serve(self, kind: str, serve: Callable[[Fields], Fields | Deferred[Fields]]) -> None:
        """Serve requests of a kind that other groups send to this broker."""
        self._peers.serve(kind, serve)

    def put_topic(
        self, permit: Permit, group: str, config: TopicConfig, *, is_new: bool = False
    ) -> Deferred[None]:
        """Create a topic in another group, or change its attributes and raise its number of queues; see
        `BrokerAdministration.put_topic`.

        The outcome fires once this broker knows the topic too. Fails with `OperationError`; it is
        `TopicExists` if the topic is to be new and is not, and has the reason TOPIC_NOT_EXIST if a topic that
        is to be changed was deleted.
        """
        self._gate.enter(permit, Use.ADMINISTER)

        def put(answer: Fields) -> Deferred[None]:
            if json_members.read(answer, EXISTS, False):
                raise TopicExists(Reason.INVALID_PARAMETER, f"Topic '{config.topic_name}' already exists.")
            if json_members.read(answer, GONE, False):
                raise OperationError(
                    Reason.TOPIC_NOT_EXIST, "This server does not host this topic-partition."
                )
            return self._peers.refresh(group)

        return self.ask(group, PUT_TOPIC, {CONFIG: config.to_json(), NEW: is_new}).addCallback(put)

    def put_part(self, permit: Permit, group: str, config: TopicConfig) -> Deferred[None]:
        """Have another group's part of a topic as `config` is: its queues, and its attributes.

        The outcome fires once this broker knows it too. Fails with `OperationError`, also if the group has
        another topic of the name.
        """
        self._gate.enter(permit, Use.ADMINISTER)
        put = self.ask(group, PUT_PART, {CONFIG: config.to_json()})
        return put.addCallback(self._changed, group)

    def delete_topic(self, permit: Permit, name: str) -> Deferred[None]:
        """Delete a topic in all other groups that have it. Fails with `OperationError`."""
        self._gate.enter(permit, Use.ADMINISTER)
        deleted = [
            self.ask(group, DELETE_TOPIC, {TOPIC: name}).addCallback(self._changed, group)
            for group in self._groups.holders(name)
        ]
        return gatherResults(deleted, consumeErrors=True).addCallbacks(lambda _: None, _first_error)

    def _changed(self, _: Fields, group: str) -> Deferred[None]:
        return self._peers.refresh(group)

    def write_marker(self, group: str, topic: str, queue_id: int, marker: Marker) -> Deferred[None]:
        """Write a marker in a queue of another group; see `BatchOperations.write_marker`.

        Fails with `NotInTransaction` if it has no place there, as with an old epoch or a topic that is gone.
        """
        fields = {
            TOPIC: topic,
            QUEUE: queue_id,
            PRODUCER: marker.producer_id,
            EPOCH: marker.producer_epoch,
            COMMITS: marker.commit,
            COORDINATOR: marker.coordinator_epoch,
        }

        def read(answer: Fields) -> None:
            why = json_members.read(answer, REFUSED, "")
            if why:
                raise NotInTransaction(Reason.ILLEGAL_OPERATION, why)

        return self.ask(group, WRITE_MARKER, fields).addCallback(read)

    def _marker_received(self, fields: Fields) -> Deferred[Fields]:
        marker = Marker(
            json_members.read(fields, PRODUCER, 0, json_members.LONG_BITS),
            json_members.read(fields, EPOCH, 0),
            json_members.read(fields, COMMITS, False),
            json_members.read(fields, COORDINATOR, 0),
        )
        topic, queue_id = json_members.read(fields, TOPIC, ""), json_members.read(fields, QUEUE, 0)
        permit = self._gate.internal(Use.SEND)
        written: Deferred[int] = maybeDeferred(self._batches.write_marker, permit, topic, queue_id, marker)
        return written.addCallbacks(lambda _: {}, _refused)

    def _put_received(self, fields: Fields) -> Fields | Deferred[Fields]:
        config = TopicConfig.from_json(json_members.read(fields, CONFIG, dict[str, Any]()))
        self._gate.enter(self._gate.internal(Use.ADMINISTER), Use.ADMINISTER)
        known = self._broker.tables.topics.get(config.topic_name)
        if json_members.read(fields, NEW, False):
            if known is not None:
                return {EXISTS: True}
        elif known is None:
            return {GONE: True}
        else:
            self.check_newest(known)
            check_layout(known, config)
            config = _change_of(known, config)
        return topics.update_topic(self._broker, config).addCallback(lambda _: {})

    def _part_received(self, fields: Fields) -> Fields | Deferred[Fields]:
        config = TopicConfig.from_json(json_members.read(fields, CONFIG, dict[str, Any]()))
        self._gate.enter(self._gate.internal(Use.ADMINISTER), Use.ADMINISTER)
        known = self._broker.tables.topics.get(config.topic_name)
        if known is not None and not is_part(config, known):
            text = f"group {self.own} has another topic {config.topic_name}"
            raise OperationError(Reason.INVALID_PARAMETER, text)
        if known is not None and has_part(config, known):
            return {}
        change = _part_change(known, config)
        if known is not None:
            if self.foreign(config.topic_name) is None:
                text = f"topic {config.topic_name} belongs to group {self.own}, which others follow"
                raise OperationError(Reason.INVALID_PARAMETER, text)
            check_layout(known, change)
        return topics.update_topic(self._broker, change).addCallback(lambda _: {})

    def _delete_received(self, fields: Fields) -> Fields | Deferred[Fields]:
        name = json_members.read(fields, TOPIC, "")
        self._gate.enter(self._gate.internal(Use.ADMINISTER), Use.ADMINISTER)
        if name not in self._broker.tables.topics:
            return {}
        topics.delete_topic(self._broker, name)
        return self._broker.cluster.registration.withdraw(name).addCallback(lambda _: {})


def _change_of(known: TopicConfig, wanted: TopicConfig) -> TopicConfig:
    """Return the change of a topic. The broker that asks for it may have an older configuration: what it does
    not mean to change stays, and no queue is lost."""
    return replace(
        known,
        read_queue_nums=max(known.read_queue_nums, wanted.read_queue_nums),
        write_queue_nums=max(known.write_queue_nums, wanted.write_queue_nums),
        attributes=wanted.attributes,
    )


def check_layout(known: TopicConfig, change: TopicConfig) -> None:
    """Check that a change of a topic leaves its partitions where they are. Raises `OperationError`.

    Two brokers may add partitions at the same time, and the later one does not know those of the first.
    """
    before = parse_layout(known.attributes.get(KAFKA_PARTITIONS, ""))
    after = parse_layout(change.attributes.get(f"+{KAFKA_PARTITIONS}", ""))
    if before is not None and after is not None and not after.extends(before):
        text = f"Topic {known.topic_name} has partitions {before.text} now, which {after.text} would move."
        raise OperationError(Reason.INVALID_PARAMETER, text)


def _part_change(known: TopicConfig | None, wanted: TopicConfig) -> TopicConfig:
    """Return the change that makes a part of a topic as it should be."""
    before = {} if known is None else known.attributes
    attributes = {f"-{name}": "" for name in before.keys() - wanted.attributes.keys()}
    attributes |= {
        f"+{name}": value for name, value in wanted.attributes.items() if before.get(name) != value
    }
    return _change_of(wanted if known is None else known, replace(wanted, attributes=attributes))


def _refused(failure: Failure) -> Fields:
    """Return the answer for a marker that has no place in its queue."""
    error = failure.value
    is_gone = isinstance(error, OperationError) and error.reason is Reason.TOPIC_NOT_EXIST
    if not is_gone and not isinstance(error, (NotInTransaction, OldEpoch, OldCoordinator)):
        failure.raiseException()
    return {REFUSED: str(error)}


def _first_error(failure: Any) -> None:
    raise failure.value.subFailure.value

"""AlterPartitionReassignments and ListPartitionReassignments: partitions move between broker groups.

The replicas of a partition are all members of its group, so those that a client names must be the members of
one group. Standard: `ReplicationControlManager`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.engine.tables.partition_layout import PartitionLayout
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import OperationError, Operations, Use, copy_problem
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from mqgateway.gateway.kafka.codec.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
)
from mqgateway.gateway.kafka.codec.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from mqgateway.gateway.kafka.creation import Creation, CreationRejected
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.forwarded import after, explained
from mqgateway.gateway.kafka.rights import cluster_refusal
from mqgateway.gateway.kafka.topics import Topic, Topics

UNKNOWN: Final = "The topic or the partition does not exist."


class ReassignmentRequests:
    """Requests about moves of partitions. `topics` are those of all broker groups."""

    def __init__(
        self, operations: Operations, topics: Topics, cluster: ClusterView, creation: Creation
    ) -> None:
        self._operations = operations
        self._topics = topics
        self._cluster = cluster
        self._creation = creation

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            AlterPartitionReassignmentsRequest.KEY: self.alter,
            ListPartitionReassignmentsRequest.KEY: self.ongoing,
        }

    def alter(self, call: KafkaCall, request: AlterPartitionReassignmentsRequest) -> Steps[Answer]:
        """Answer AlterPartitionReassignments, once the layouts of all topics are changed."""
        answer = AlterPartitionReassignmentsResponse(
            allow_replication_factor_change=request.allow_replication_factor_change, error_message=None
        )
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        if refusal is not None:
            answer.error_code, answer.error_message = refusal
            return answer
        changed: list[Deferred[None]] = []
        responses: list[ReassignableTopicResponse] = []
        for wanted in request.topics:
            yield
            results = self._alter(wanted, changed, request.allow_replication_factor_change)
            responses.append(ReassignableTopicResponse(wanted.name, results))
        answer.responses = responses
        return after(changed, answer)

    def _alter(
        self, wanted: ReassignableTopic, changed: list[Deferred[None]], may_resize: bool
    ) -> list[ReassignablePartitionResponse]:
        """Return the results for partitions of a topic, which are complete once those added to `changed`
        are."""
        topic = self._topics.find(wanted.name)
        layout = None if topic is None else topic.layout
        times = Counter(each.partition_index for each in wanted.partitions)
        results: list[ReassignablePartitionResponse] = []
        moved: list[ReassignablePartitionResponse] = []
        for each in wanted.partitions:
            number = each.partition_index
            result = ReassignablePartitionResponse(number, error_message=None)
            results.append(result)
            try:
                if topic is None or not 0 <= number < topic.partitions:
                    raise CreationRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN)
                if times[number] > 1:
                    text = f"Partition {number} is named {times[number]} times."
                    raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
                after_it = self._changed(topic, layout, each, may_resize)
            except CreationRejected as rejected:
                result.error_code, result.error_message = rejected.code, str(rejected)
                continue
            if after_it is not layout:
                layout = after_it
                moved.append(result)
        if topic is not None and layout is not None and moved:
            self._apply(topic, layout, moved, changed)
        return results

    def _apply(
        self,
        topic: Topic,
        layout: PartitionLayout,
        moved: Sequence[ReassignablePartitionResponse],
        changed: list[Deferred[None]],
    ) -> None:
        """Give a topic another layout, which has the moves of these results."""
        shared = ReassignablePartitionResponse(error_message=None)

        def spread_error(passed: Any) -> Any:
            for result in moved:
                result.error_code, result.error_message = shared.error_code, shared.error_message
            return passed

        permit = self._operations.gate.internal(Use.ADMINISTER)
        try:
            self._creation.check_groups(topic.name, layout)
            assert self._creation.spread is not None  # the topic has a layout
            outcome = self._creation.spread.extend(permit, topic, layout)
        except CreationRejected as rejected:
            shared.error_code, shared.error_message = rejected.code, str(rejected)
            spread_error(None)
        except OperationError as error:
            shared.error_code = error_code(error, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            shared.error_message = error.message
            spread_error(None)
        else:
            changed.append(explained(outcome, shared).addBoth(spread_error))

    def _changed(
        self, topic: Topic, layout: PartitionLayout | None, wanted: ReassignablePartition, may_resize: bool
    ) -> PartitionLayout | None:
        """Return the layout of a topic after a request for a partition; the same one if nothing is to be
        done. Raises `CreationRejected`."""
        number = wanted.partition_index
        move = None if layout is None else layout.pending.get(number)
        if wanted.replicas is None:
            if layout is None or move is None:
                text = "No partition reassignment is in progress."
                raise CreationRejected(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, text)
            return layout.cancelled(number)
        group = self._group_of(wanted.replicas)
        current = topic.place(number).group if layout is None else layout.places[number].group
        if move is not None and move.target.group == group:
            return layout
        if layout is not None and move is not None:
            layout = layout.cancelled(number)
        if group == (current or self._own):
            return layout
        replicas = (self._cluster.replicas(name).nodes for name in (current, group))
        if not may_resize and len({len(nodes) for nodes in replicas}) > 1:
            text = f"Group {group} has another number of replicas than group {current}."
            raise CreationRejected(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        problem = copy_problem(topic.config)
        if layout is None and problem is None:
            problem = f"topic {topic.name} has all partitions in one broker group (it has no layout)"
        if topic.is_internal:
            problem = f"topic {topic.name} keeps its partitions, which say where keys are coordinated"
        if problem is not None or layout is None:
            raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{problem}.")
        try:
            return layout.begun(number, group)
        except ValueError:
            text = f"Topic {topic.name} has had {len(layout.moves)} moves, and cannot have more."
            raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text) from None

    def _group_of(self, replicas: Sequence[int]) -> str:
        """Return the group whose members are these nodes. Raises `CreationRejected`."""
        group = self._cluster.group_of(replicas) if len(set(replicas)) == len(replicas) > 0 else None
        nodes = () if group is None else self._cluster.replicas(group).nodes
        if group is None or set(nodes) != set(replicas):
            ids = ", ".join(map(str, replicas))
            all_of = f"; the group has {', '.join(map(str, nodes))}" if nodes else ""
            text = f"The replicas [{ids}] are not all members of one broker group{all_of}."
            raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        return group or self._own

    @property
    def _own(self) -> str:
        """The name of this broker's group; empty if it is the only one."""
        return "" if self._operations.peers is None else self._operations.peers.own

    def ongoing(
        self, call: KafkaCall, request: ListPartitionReassignmentsRequest
    ) -> Steps[ListPartitionReassignmentsResponse]:
        """Answer ListPartitionReassignments: the moves that are neither complete nor cancelled."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE)
        if refusal is not None:
            return ListPartitionReassignmentsResponse(0, *refusal)
        asked = None
        if request.topics is not None:
            asked = {each.name: set(each.partition_indexes) for each in request.topics}
        topics: list[OngoingTopicReassignment] = []
        for topic in self._topics if asked is None else filter(None, map(self._topics.find, asked)):
            yield
            pending = {} if topic.layout is None else topic.layout.pending
            found = [
                self._shown(topic, number, move.target.group)
                for number, move in sorted(pending.items())
                if asked is None or number in asked[topic.name]
            ]
            if found:
                topics.append(OngoingTopicReassignment(topic.name, found))
        return ListPartitionReassignmentsResponse(error_message=None, topics=topics)

    def _shown(self, topic: Topic, number: int, group: str) -> OngoingPartitionReassignment:
        old = self._cluster.replicas(topic.place(number).group).nodes
        new = self._cluster.replicas(group).nodes
        return OngoingPartitionReassignment(number, (*new, *old), new, old)

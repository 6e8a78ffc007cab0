"""Metadata, DescribeTopicPartitions, DescribeCluster: topics, their partitions, and the nodes.

Standard: `KRaftMetadataCache`, `DescribeTopicPartitionsRequestHandler`, `KafkaApis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from mqgateway.engine.steps import Steps, in_parts, mapped
from mqgateway.gateway.broker.operations import Operations, Use
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView, PartitionReplicas, ReplicasByGroup
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import describe_topic_partitions_response as pages
from mqgateway.gateway.kafka.codec.messages.describe_cluster_request import DescribeClusterRequest
from mqgateway.gateway.kafka.codec.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from mqgateway.gateway.kafka.codec.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
)
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.codec.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.codec.series import Pattern, Series
from mqgateway.gateway.kafka.creation import Creation
from mqgateway.gateway.kafka.rights import NOT_ASKED, VISIBLE, cluster_bits, shows_topic, topic_bits
from mqgateway.gateway.kafka.topics import Topic, Topics, name_problem

METADATA, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = 3, 60, 75
PARTITIONS_MAX = 2000
"""Partitions in one answer to DescribeTopicPartitions (`max.request.partition.size.limit`)."""
TOPICS_A_STEP = 2
"""Topics that are made in one step of a cooperative task."""
BROKERS = 1
"""The type of endpoint that DescribeCluster is asked for; the other one is controllers."""


@lru_cache(maxsize=16)
def _partitions_of(replicas: PartitionReplicas) -> Pattern:
    """Return the partitions with these replicas, by number."""
    return Pattern(lambda number: _partition(number, replicas))


def _partition(number: int, replicas: PartitionReplicas) -> MetadataResponsePartition:
    leader, epoch = replicas.leader, replicas.epoch
    return MetadataResponsePartition(
        replicas.error, number, leader, epoch, replicas.nodes, replicas.in_sync, replicas.offline
    )


def _partitions(topic: Topic, replicas: ReplicasByGroup) -> Sequence[MetadataResponsePartition]:
    if topic.layout is None:
        return Series(_partitions_of(replicas.of(topic.group)), range(topic.partitions))
    numbers = range(topic.partitions)
    return [
        _partition(number, found)
        for number, found in zip(numbers, replicas.of_partitions(topic, numbers), strict=True)
    ]


class Metadata:
    """Metadata of the cluster's topics. `topics` are those of all groups."""

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
            METADATA: self.metadata,
            DESCRIBE_CLUSTER: self.cluster,
            DESCRIBE_TOPIC_PARTITIONS: self.partitions,
        }

    def metadata(self, call: KafkaCall, request: MetadataRequest) -> Steps[MetadataResponse]:
        """Answer Metadata; unknown topics are made if the client and the settings allow it."""
        replicas = ReplicasByGroup(self._cluster, self._topics)
        wants_all = request.topics is None or (call.version == 0 and not request.topics)
        asks = request.include_topic_authorized_operations
        if wants_all:
            topics = []
            for part in in_parts(list(self._topics)):
                shown = (topic for topic in part if shows_topic(call, topic.store_name))
                topics += [self._described(call, topic, replicas, asks) for topic in shown]
                yield
        else:
            may_create = self._cluster.leads and (request.allow_auto_topic_creation or call.version < 4)
            topics = yield from mapped(
                lambda wanted: self._wanted(call, wanted, replicas, may_create, asks),
                _asked(request.topics or ()),
                TOPICS_A_STEP,
            )
        asks_cluster = request.include_cluster_authorized_operations
        return MetadataResponse(
            brokers=[MetadataResponseBroker(*each) for each in self._cluster.nodes(call)],
            cluster_id=self._cluster.node.cluster_id,
            controller_id=self._cluster.controller_id,
            topics=topics,
            cluster_authorized_operations=(
                cluster_bits(call, self._operations) if asks_cluster else NOT_ASKED
            ),
        )

    def _wanted(
        self,
        call: KafkaCall,
        wanted: MetadataRequestTopic,
        replicas: ReplicasByGroup,
        may_create: bool,
        asks: bool,
    ) -> MetadataResponseTopic:
        name = wanted.name
        if name is None or wanted.topic_id != NO_UUID:
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, "", wanted.topic_id)
            if isinstance(place, ErrorCode):
                return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id)
            return self._described(call, place[0], replicas, asks)
        if name_problem(name) is not None:
            return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        place = self._topics.admitted(call, Use.QUERY, VISIBLE, name)
        if place is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and may_create:
            error = self._creation.create_for_client(call, name)
            if error:
                return MetadataResponseTopic(error, name)
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, name)
        if place is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not self._cluster.has_all_topics:
            place = ErrorCode.LEADER_NOT_AVAILABLE
        if isinstance(place, ErrorCode):
            return MetadataResponseTopic(place, name)
        return self._described(call, place[0], replicas, asks)

    def _described(
        self, call: KafkaCall, topic: Topic, replicas: ReplicasByGroup, asks: bool
    ) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            ErrorCode.NONE,
            topic.name,
            topic.id,
            topic.is_internal,
            _partitions(topic, replicas),
            topic_bits(call, topic.store_name) if asks else NOT_ASKED,
        )

    def cluster(self, call: KafkaCall, request: DescribeClusterRequest) -> DescribeClusterResponse:
        """Answer DescribeCluster."""
        if request.endpoint_type != BROKERS:
            return DescribeClusterResponse(
                error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
                if request.endpoint_type == BROKERS + 1
                else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
                error_message="The request was sent to an endpoint of type BROKER",
            )
        asks = request.include_cluster_authorized_operations
        return DescribeClusterResponse(
            cluster_id=self._cluster.node.cluster_id,
            controller_id=self._cluster.controller_id,
            brokers=[DescribeClusterBroker(*each) for each in self._cluster.nodes(call)],
            cluster_authorized_operations=cluster_bits(call, self._operations) if asks else NOT_ASKED,
        )

    def partitions(
        self, call: KafkaCall, request: DescribeTopicPartitionsRequest
    ) -> Steps[pages.DescribeTopicPartitionsResponse]:
        """Answer DescribeTopicPartitions: topics by name, as many partitions as one answer may have."""
        begin = request.cursor.topic_name if request.cursor is not None else ""
        names = sorted({topic.name for topic in request.topics} or {topic.name for topic in self._topics})
        left = min(max(request.response_partition_limit, 1), PARTITIONS_MAX)
        answer: list[pages.DescribeTopicPartitionsResponseTopic] = []
        cursor = None
        is_named = bool(request.topics)
        for topic, error in self._found(call, (name for name in names if name >= begin), is_named):
            yield
            if isinstance(topic, str):
                answer.append(pages.DescribeTopicPartitionsResponseTopic(error, topic, NO_UUID))
                continue
            first = request.cursor.partition_index if request.cursor and topic.name == begin else 0
            last = min(topic.partitions, first + left)
            if left == 0:
                cursor = pages.Cursor(topic.name, first)
                break
            answer.append(self._page(call, topic, range(max(first, 0), last)))
            left -= max(0, last - first)
            if last < topic.partitions:
                cursor = pages.Cursor(topic.name, last)
                break
        return pages.DescribeTopicPartitionsResponse(topics=answer, next_cursor=cursor)

    def _found(
        self, call: KafkaCall, names: Iterable[str], is_named: bool
    ) -> Iterator[tuple[Topic | str, ErrorCode]]:
        """Yield topics, or the names of those that cannot be shown, with the reason."""
        for name in names:
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, name)
            if not isinstance(place, ErrorCode):
                yield place[0], ErrorCode.NONE
            elif is_named or place is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                yield name, place

    def _page(
        self, call: KafkaCall, topic: Topic, numbers: range
    ) -> pages.DescribeTopicPartitionsResponseTopic:
        replicas = ReplicasByGroup(self._cluster, self._topics)
        return pages.DescribeTopicPartitionsResponseTopic(
            ErrorCode.NONE,
            topic.name,
            topic.id,
            topic.is_internal,
            [
                pages.DescribeTopicPartitionsResponsePartition(
                    found.error,
                    number,
                    found.leader,
                    found.epoch,
                    found.nodes,
                    found.in_sync,
                    (),
                    (),
                    found.offline,
                )
                for number, found in zip(numbers, replicas.of_partitions(topic, numbers), strict=True)
            ],
            topic_bits(call, topic.store_name),
        )


def _asked(wanted: Sequence[MetadataRequestTopic]) -> Sequence[MetadataRequestTopic]:
    """Return the topics that a request is about: if it has ids, those only.

    The Java client writes empty names beside them. Kafka: `KafkaApis.handleTopicMetadataRequest`.
    """
    return [topic for topic in wanted if topic.topic_id != NO_UUID] or wanted

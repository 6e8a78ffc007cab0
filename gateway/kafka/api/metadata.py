"""Metadata, DescribeTopicPartitions, DescribeCluster: topics, their partitions, and the nodes.

Standard: `KRaftMetadataCache`, `DescribeTopicPartitionsRequestHandler`, `KafkaApis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from mqgateway.engine.steps import Steps, in_parts, mapped
from mqgateway.gateway.broker.operations import Operations, Use
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
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
from mqgateway.gateway.kafka.node import LEADER_EPOCH, Node
from mqgateway.gateway.kafka.rights import NOT_ASKED, VISIBLE, cluster_bits, shows_topic, topic_bits
from mqgateway.gateway.kafka.topics import Topic, Topics, name_problem

METADATA, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS = 3, 60, 75
PARTITIONS_MAX = 2000
"""Partitions in one answer to DescribeTopicPartitions (`max.request.partition.size.limit`)."""
TOPICS_A_STEP = 2
"""Topics that are made in one step of a cooperative task."""
BROKERS = 1
"""The type of endpoint that DescribeCluster is asked for; the other one is controllers."""


@cache
def _partitions_on(node: int) -> Pattern:
    """Return the partitions of a node, by number."""
    nodes = (node,)
    return Pattern(lambda number: MetadataResponsePartition(0, number, node, LEADER_EPOCH, nodes, nodes))


class Metadata:
    """Metadata of one broker's topics."""

    def __init__(self, operations: Operations, topics: Topics, node: Node, creation: Creation) -> None:
        self._operations = operations
        self._topics = topics
        self._node = node
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
        node, address = self._node, self._node.address(call)
        wants_all = request.topics is None or (call.version == 0 and not request.topics)
        asks = request.include_topic_authorized_operations
        if wants_all:
            topics = []
            for part in in_parts(list(self._topics)):
                shown = (topic for topic in part if shows_topic(call, topic.store_name))
                topics += [self._described(call, topic, asks) for topic in shown]
                yield
        else:
            may_create = request.allow_auto_topic_creation or call.version < 4
            topics = yield from mapped(
                lambda wanted: self._wanted(call, wanted, may_create, asks),
                request.topics or (),
                TOPICS_A_STEP,
            )
        asks_cluster = request.include_cluster_authorized_operations
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node.id, address.host, address.port)],
            cluster_id=node.cluster_id,
            controller_id=node.id,
            topics=topics,
            cluster_authorized_operations=(
                cluster_bits(call, self._operations) if asks_cluster else NOT_ASKED
            ),
        )

    def _wanted(
        self, call: KafkaCall, wanted: MetadataRequestTopic, may_create: bool, asks: bool
    ) -> MetadataResponseTopic:
        name = wanted.name
        if name is None:
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, "", wanted.topic_id)
            if isinstance(place, ErrorCode):
                return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id)
            return self._described(call, place[0], asks)
        if name_problem(name) is not None:
            return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        place = self._topics.admitted(call, Use.QUERY, VISIBLE, name)
        if place is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and may_create:
            error = self._creation.create_for_client(call, name)
            if error:
                return MetadataResponseTopic(error, name)
            place = self._topics.admitted(call, Use.QUERY, VISIBLE, name)
        if isinstance(place, ErrorCode):
            return MetadataResponseTopic(place, name)
        return self._described(call, place[0], asks)

    def _described(self, call: KafkaCall, topic: Topic, asks: bool) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            ErrorCode.NONE,
            topic.name,
            topic.id,
            topic.is_internal,
            Series(_partitions_on(self._node.id), range(topic.partitions)),
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
        address = self._node.address(call)
        asks = request.include_cluster_authorized_operations
        return DescribeClusterResponse(
            cluster_id=self._node.cluster_id,
            controller_id=self._node.id,
            brokers=[DescribeClusterBroker(self._node.id, address.host, address.port)],
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
        nodes = (self._node.id,)
        return pages.DescribeTopicPartitionsResponseTopic(
            ErrorCode.NONE,
            topic.name,
            topic.id,
            topic.is_internal,
            [
                pages.DescribeTopicPartitionsResponsePartition(
                    0, number, self._node.id, LEADER_EPOCH, nodes, nodes, (), ()
                )
                for number in numbers
            ],
            topic_bits(call, topic.store_name),
        )

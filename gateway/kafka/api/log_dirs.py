"""DescribeLogDirs and AlterReplicaLogDirs: the folder of the partitions, its size and theirs.

All partitions are in one folder, that of the store, and stay there. A partition's size is that of its records
in the log. Standard: `ReplicaManager.describeLogDirs`, `alterReplicaLogDirs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mqgateway.engine.steps import Steps, in_parts, mapped
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from mqgateway.gateway.kafka.codec.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from mqgateway.gateway.kafka.codec.messages.describe_log_dirs_request import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from mqgateway.gateway.kafka.rights import cluster_refusal, on_cluster
from mqgateway.gateway.kafka.topics import Topic, Topics


class LogDirs:
    """The folder of one broker."""

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._operations = operations
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {DescribeLogDirsRequest.KEY: self.describe, AlterReplicaLogDirsRequest.KEY: self.alter}

    def describe(self, call: KafkaCall, request: DescribeLogDirsRequest) -> Steps[Answer]:
        """Answer DescribeLogDirs, once the sizes are added up."""
        try:
            permit = call.admit(Use.QUERY, on_cluster(self._operations, AclOperation.DESCRIBE))
        except NotAdmitted:
            return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        wanted: list[tuple[Topic, int]] = []
        for part in in_parts(self._wanted(request.topics)):
            wanted += (
                (topic, number) for topic, numbers in part for number in numbers if not topic.problem(number)
            )
            yield
        queues = [(topic.store_name, topic.queue(number)) for topic, number in wanted]

        def answer(sizes: Sequence[int]) -> DescribeLogDirsResponse:
            partitions: dict[str, list[DescribeLogDirsPartition]] = {}
            for (topic, number), size in zip(wanted, sizes, strict=True):
                partitions.setdefault(topic.name, []).append(DescribeLogDirsPartition(number, size))
            total, free = self._operations.storage.usage()
            topics = [DescribeLogDirsTopic(name, found) for name, found in partitions.items()]
            folder = self._operations.storage.folder
            return DescribeLogDirsResponse(results=[DescribeLogDirsResult(0, folder, topics, total, free)])

        return self._operations.storage.sizes(permit, queues).addCallback(answer)

    def _wanted(self, topics: Sequence[DescribableLogDirTopic] | None) -> list[tuple[Topic, Sequence[int]]]:
        if topics is None:
            return [(topic, range(topic.partitions)) for topic in self._topics]
        named = [(self._topics.find(wanted.topic), wanted.partitions) for wanted in topics]
        return [(topic, numbers) for topic, numbers in named if topic is not None]

    def alter(
        self, call: KafkaCall, request: AlterReplicaLogDirsRequest
    ) -> Steps[AlterReplicaLogDirsResponse]:
        """Answer AlterReplicaLogDirs: partitions are in the store's folder, and cannot be in another."""
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        error = ErrorCode.NONE if refusal is None else refusal[0]
        results: list[AlterReplicaLogDirTopicResult] = []
        for wanted in request.dirs:
            known = wanted.path == self._operations.storage.folder
            code = error or (ErrorCode.NONE if known else ErrorCode.LOG_DIR_NOT_FOUND)
            results += yield from mapped(partial(self._altered, code), wanted.topics, 1)
        return AlterReplicaLogDirsResponse(results=results)

    def _altered(self, code: ErrorCode, wanted: AlterReplicaLogDirTopic) -> AlterReplicaLogDirTopicResult:
        """Return the result for a topic, whose folder is refused with `code`."""
        topic = self._topics.find(wanted.name)

        def problem(number: int) -> ErrorCode:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.problem(number)

        return AlterReplicaLogDirTopicResult(
            wanted.name,
            [
                AlterReplicaLogDirPartitionResult(number, code or problem(number))
                for number in wanted.partitions
            ],
        )

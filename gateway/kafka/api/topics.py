"""CreateTopics, DeleteTopics, CreatePartitions. Standard: `ReplicationControlManager`, `KafkaApis`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps, mapped
from mqgateway.engine.tables.kafka_configs import KAFKA_CONFIGS
from mqgateway.engine.tables.partition_layout import PartitionLayout
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Permit, Use
from mqgateway.gateway.kafka.api import Answer, Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from mqgateway.gateway.kafka.codec.messages.delete_topics_response import (
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.creation import Creation, CreationRejected, default_config
from mqgateway.gateway.kafka.forwarded import after, explained
from mqgateway.gateway.kafka.quotas.enforcement import Mutations, MutationsThrottled, QuotaEnforcement
from mqgateway.gateway.kafka.rights import on_topic, shows_topic
from mqgateway.gateway.kafka.topics import Topics, store_name

CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 19, 20, 37
STRICT_SINCE = {CREATE_TOPICS: 6, DELETE_TOPICS: 5, CREATE_PARTITIONS: 3}
"""Versions from which on a request beyond the quota of its client is refused (KIP-599)."""
DEFAULT, STATIC, TOPIC = 5, 4, 1
"""Sources of a setting: Kafka's default, the broker's settings, the topic itself."""
NOT_AUTHORIZED: Final = "Topic authorization failed."


class TopicRequests:
    """Changes of topics. `topics` are those of all broker groups."""

    def __init__(
        self,
        operations: Operations,
        topics: Topics,
        cluster: ClusterView,
        creation: Creation,
        quotas: QuotaEnforcement,
    ) -> None:
        self._operations = operations
        self._quotas = quotas
        self._topics = topics
        self._cluster = cluster
        self._creation = creation

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            CREATE_TOPICS: self.create,
            DELETE_TOPICS: self.delete,
            CREATE_PARTITIONS: self.add_partitions,
        }

    def create(self, call: KafkaCall, request: CreateTopicsRequest) -> Steps[Answer]:
        """Answer CreateTopics, once the name servers know the topics."""
        times = Counter(topic.name for topic in request.topics)
        mutations = self._mutations(call)
        known: list[Deferred[None]] = []
        results: list[CreatableTopicResult] = []
        for wanted in request.topics:
            yield
            if times[wanted.name] > 1:
                message = "Duplicate topic name."
                results.append(CreatableTopicResult(wanted.name, NO_UUID, ErrorCode.INVALID_REQUEST, message))
                continue
            results.append(self._create(call, wanted, request.validate_only, known, mutations))
        return after(known, CreateTopicsResponse(mutations.throttle_time, topics=results))

    def _mutations(self, call: KafkaCall) -> Mutations:
        return self._quotas.mutations(call, STRICT_SINCE[call.header.key])

    def _create(
        self,
        call: KafkaCall,
        wanted: CreatableTopic,
        only_check: bool,
        known: list[Deferred[None]],
        mutations: Mutations,
    ) -> CreatableTopicResult:
        configs = {config.name: config.value for config in wanted.configs}
        made: Deferred[None] | None = None
        try:
            permit = self._creation.admit(call, wanted.name)
            partitions, layout = self._placed(wanted)
            self._creation.check(wanted.name, partitions, configs)
            self._creation.check_groups(wanted.name, layout)
            mutations.use(partitions)
            if not only_check:
                made = self._creation.create(permit, wanted.name, partitions, configs, layout)
        except MutationsThrottled:
            return CreatableTopicResult(wanted.name, NO_UUID, ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
        except CreationRejected as refusal:
            return CreatableTopicResult(wanted.name, NO_UUID, refusal.code, str(refusal))
        except NotAdmitted as error:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return CreatableTopicResult(wanted.name, NO_UUID, code, str(error))
        except OperationError as error:
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
            return CreatableTopicResult(wanted.name, NO_UUID, code, error.message)
        result = CreatableTopicResult(
            wanted.name,
            num_partitions=partitions,
            replication_factor=self._replicas_of(layout),
            configs=[self._effective(name, configs.get(name)) for name in KAFKA_CONFIGS],
        )

        def identify(_: None) -> None:
            topic = self._topics.find(result.name)
            result.topic_id = NO_UUID if topic is None else topic.id

        if made is not None and layout is None:
            identify(None)  # whether or not the name servers know it
            known.append(made)
        elif made is not None:
            known.append(explained(made.addCallback(identify), result))
        return result

    def _effective(self, name: str, own: str | None) -> CreatableTopicConfigs:
        """Return a setting of a topic that is made; `own` is its value if the topic sets it."""
        if own is not None:
            return CreatableTopicConfigs(name, own, False, TOPIC)
        value = default_config(self._operations, name)
        return CreatableTopicConfigs(
            name, value, False, DEFAULT if value == KAFKA_CONFIGS[name].default else STATIC
        )

    def _placed(self, wanted: CreatableTopic) -> tuple[int, PartitionLayout | None]:
        """Return the number of partitions, and where they are; see `Creation.layout`. Raises
        `CreationRejected`, also for replicas that the groups cannot have."""
        if wanted.assignments:
            groups = self._assigned_groups(wanted)
            return len(groups), None if self._operations.peers is None else PartitionLayout.of(groups)
        partitions = wanted.num_partitions
        if partitions == -1:
            partitions = self._operations.options.kafka_num_partitions
        layout = self._creation.layout(wanted.name, partitions)
        known = self._replicas_of(layout)
        if wanted.replication_factor != -1 and not 1 <= wanted.replication_factor <= known:
            text = (
                "Replication factor must be larger than 0, or -1 to use the default value."
                if wanted.replication_factor < 1
                else f"Unable to replicate the partition {wanted.replication_factor} time(s): The target "
                f"replication factor of {wanted.replication_factor} cannot be reached because only "
                f"{known} broker(s) are registered or some brokers have all their log directories cordoned."
            )
            raise CreationRejected(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        return partitions, layout

    def _replicas_of(self, layout: PartitionLayout | None) -> int:
        """Return the number of replicas of each partition of a topic, in the group that has fewest."""
        groups = [""] if layout is None else layout.groups
        return max(1, min(len(self._cluster.replicas(group).nodes) for group in groups))

    def _assigned_groups(self, wanted: CreatableTopic) -> list[str]:
        """Return the group of each partition that a client assigns replicas. Raises `CreationRejected`."""
        if wanted.num_partitions != -1 or wanted.replication_factor != -1:
            text = "A manual partition assignment was specified, but partitions or replicas were given too."
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        numbers = sorted(each.partition_index for each in wanted.assignments)
        if numbers != list(range(len(numbers))):
            text = "partitions should be a consecutive 0-based integer sequence"
            raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        assigned = sorted(wanted.assignments, key=lambda each: each.partition_index)
        return [self._group_with(each.broker_ids) for each in assigned]

    def _group_with(self, broker_ids: Sequence[int]) -> str:
        """Return the group that has these nodes. A partition always has all members of its group as replicas.
        Raises `CreationRejected` if they are not different nodes of one group."""
        is_set = 0 < len(broker_ids) == len(set(broker_ids))
        group = self._cluster.group_of(broker_ids) if is_set else None
        if group is None:
            ids = ", ".join(map(str, broker_ids))
            text = f"The manual partition assignment has [{ids}], which are no nodes of one broker group."
            raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        return group or self._own

    @property
    def _own(self) -> str:
        """The name of this broker's group; empty if it is the only one."""
        return "" if self._operations.peers is None else self._operations.peers.own

    def delete(self, call: KafkaCall, request: DeleteTopicsRequest) -> Steps[Answer]:
        """Answer DeleteTopics, once the name servers have no routes of the topics."""
        withdrawn: list[Deferred[None]] = []
        mutations = self._mutations(call)
        wanted: Sequence[DeleteTopicState] = request.topics or [
            DeleteTopicState(name) for name in request.topic_names
        ]
        results = yield from mapped(lambda each: self._delete(call, each, withdrawn, mutations), wanted, 1)
        return after(withdrawn, DeleteTopicsResponse(mutations.throttle_time, results))

    def _delete(
        self,
        call: KafkaCall,
        wanted: DeleteTopicState,
        withdrawn: list[Deferred[None]],
        mutations: Mutations,
    ) -> DeletableTopicResult:
        if wanted.name is not None and wanted.topic_id != NO_UUID:
            text = "Topic name and topic ID can not both be specified."
            return DeletableTopicResult(wanted.name, wanted.topic_id, ErrorCode.INVALID_REQUEST, text)
        if wanted.name is not None:
            topic = self._topics.find(wanted.name)
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            topic = self._topics.by_id(wanted.topic_id)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID
        known_name = (wanted.name or "") if topic is None else topic.name
        if (wanted.name is not None or topic is not None) and not shows_topic(call, store_name(known_name)):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return DeletableTopicResult(wanted.name, wanted.topic_id, code, NOT_AUTHORIZED)
        if topic is None:
            text = (
                "This server does not host this topic-partition."
                if wanted.name is not None
                else "This server does not host this topic ID."
            )
            return DeletableTopicResult(wanted.name, wanted.topic_id, unknown, text)
        try:
            permit = call.admit(Use.ADMINISTER, on_topic(topic.store_name, AclOperation.DELETE))
            mutations.use(topic.partitions)
            result = DeletableTopicResult(topic.name, topic.id)
            if topic.layout is not None and self._creation.spread is not None:
                self._creation.check_groups(topic.name, topic.layout)
                deleted = self._creation.spread.delete(permit, topic, topic.layout)
                withdrawn.append(explained(deleted, result))
            else:
                self._delete_everywhere(permit, topic.store_name, result, withdrawn)
        except MutationsThrottled:
            code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
            return DeletableTopicResult(topic.name, topic.id, code, None)
        except NotAdmitted as error:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            return DeletableTopicResult(topic.name, topic.id, code, str(error))
        except CreationRejected as refusal:
            return DeletableTopicResult(topic.name, topic.id, refusal.code, str(refusal))
        except OperationError as error:
            return DeletableTopicResult(topic.name, topic.id, ErrorCode.INVALID_REQUEST, error.message)
        return result

    def _delete_everywhere(
        self, permit: Permit, name: str, result: DeletableTopicResult, withdrawn: list[Deferred[None]]
    ) -> None:
        """Delete a topic in every group that has one of its name. Raises `OperationError`."""
        administration, peers = self._operations.administration, self._operations.peers
        if peers is None or name in self._operations.topics:
            administration.delete_topic(permit, name)
            withdrawn.append(administration.withdraw_topic(permit, name))
        if peers is not None:
            withdrawn.append(explained(peers.delete_topic(permit, name), result))

    def add_partitions(self, call: KafkaCall, request: CreatePartitionsRequest) -> Steps[Answer]:
        """Answer CreatePartitions, once the name servers know the topics."""
        times = Counter(topic.name for topic in request.topics)
        mutations = self._mutations(call)
        known: list[Deferred[None]] = []
        results: list[CreatePartitionsTopicResult] = []
        for wanted in request.topics:
            yield
            try:
                if times[wanted.name] > 1:
                    raise CreationRejected(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                result = CreatePartitionsTopicResult(wanted.name)
                self._add_partitions(call, wanted, request.validate_only, known, mutations, result)
                results.append(result)
            except MutationsThrottled:
                code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
                results.append(CreatePartitionsTopicResult(wanted.name, code, None))
            except CreationRejected as refusal:
                results.append(CreatePartitionsTopicResult(wanted.name, refusal.code, str(refusal)))
            except NotAdmitted as error:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                results.append(CreatePartitionsTopicResult(wanted.name, code, str(error)))
            except OperationError as error:
                code = ErrorCode.INVALID_PARTITIONS
                results.append(CreatePartitionsTopicResult(wanted.name, code, error.message))
        return after(known, CreatePartitionsResponse(mutations.throttle_time, results))

    def _add_partitions(
        self,
        call: KafkaCall,
        wanted: CreatePartitionsTopic,
        only_check: bool,
        known: list[Deferred[None]],
        mutations: Mutations,
        result: CreatePartitionsTopicResult,
    ) -> None:
        topic = self._topics.find(wanted.name)
        if topic is None:
            text = "This server does not host this topic-partition."
            raise CreationRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        permit = call.admit(Use.ADMINISTER, on_topic(topic.store_name, AclOperation.ALTER))
        if wanted.count == topic.partitions:
            text = f"Topic already has {topic.partitions} partition(s)."
            raise CreationRejected(ErrorCode.INVALID_PARTITIONS, text)
        if wanted.count < topic.partitions:
            text = (
                f"The topic {topic.name} currently has {topic.partitions} partition(s); {wanted.count} would "
                "not be an increase."
            )
            raise CreationRejected(ErrorCode.INVALID_PARTITIONS, text)
        groups: list[str] = []
        if wanted.assignments is not None:
            groups = [self._group_with(each.broker_ids) for each in wanted.assignments]
            if len(groups) != wanted.count - topic.partitions:
                text = f"Each of the {wanted.count - topic.partitions} new partitions needs an assignment."
                raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
            if topic.layout is None and any(group != (topic.group or self._own) for group in groups):
                text = f"All partitions of topic {topic.name} are in the broker group of its first one."
                raise CreationRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        layout = self._creation.extended(topic, wanted.count, groups)
        self._creation.check_groups(topic.name, layout)
        mutations.use(wanted.count - topic.partitions)
        if only_check:
            return
        if layout is not None and self._creation.spread is not None:
            known.append(explained(self._creation.spread.extend(permit, topic, layout), result))
        else:
            config = replace(
                topic.config, read_queue_nums=wanted.count, write_queue_nums=wanted.count, attributes={}
            )
            peers = self._operations.peers
            if peers is not None and topic.group:
                known.append(explained(peers.put_topic(permit, topic.group, config), result))
            else:
                known.append(self._operations.administration.put_topic(permit, config))

"""The APIs of one broker, put together."""

from __future__ import annotations

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.meters import TelemetryFigures
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.api import Handler
from mqgateway.gateway.kafka.api.acls import AclRequests
from mqgateway.gateway.kafka.api.client_quotas import ClientQuotaRequests
from mqgateway.gateway.kafka.api.cluster import ClusterRequests
from mqgateway.gateway.kafka.api.config_resources import ConfigResources
from mqgateway.gateway.kafka.api.configs import Configs
from mqgateway.gateway.kafka.api.consumer_groups import ConsumerGroupRequests
from mqgateway.gateway.kafka.api.delegation_tokens import DelegationTokenRequests
from mqgateway.gateway.kafka.api.delete_records import DeleteRecords
from mqgateway.gateway.kafka.api.fetch import Fetch
from mqgateway.gateway.kafka.api.groups import GroupAccess, Groups
from mqgateway.gateway.kafka.api.list_offsets import ListOffsets
from mqgateway.gateway.kafka.api.log_dirs import LogDirs
from mqgateway.gateway.kafka.api.metadata import Metadata
from mqgateway.gateway.kafka.api.offsets import OffsetRequests
from mqgateway.gateway.kafka.api.produce import Produce
from mqgateway.gateway.kafka.api.producer_ids import ProducerIds
from mqgateway.gateway.kafka.api.reassignments import ReassignmentRequests
from mqgateway.gateway.kafka.api.replicas import ReplicaRequests
from mqgateway.gateway.kafka.api.sasl import SaslRequests
from mqgateway.gateway.kafka.api.share_acknowledge import ShareAcknowledge
from mqgateway.gateway.kafka.api.share_fetch import ShareFetch
from mqgateway.gateway.kafka.api.share_group_offsets import ShareGroupOffsetRequests
from mqgateway.gateway.kafka.api.share_groups import ShareGroupRequests
from mqgateway.gateway.kafka.api.share_requests import ShareRequests
from mqgateway.gateway.kafka.api.single_produce import SingleProduce
from mqgateway.gateway.kafka.api.telemetry import TelemetryRequests
from mqgateway.gateway.kafka.api.topics import TopicRequests
from mqgateway.gateway.kafka.api.transaction_markers import TransactionMarkers
from mqgateway.gateway.kafka.api.transactional_offsets import TransactionalOffsets
from mqgateway.gateway.kafka.api.transactions import TransactionRequests
from mqgateway.gateway.kafka.api.user_credentials import UserCredentials
from mqgateway.gateway.kafka.api.versions import Versions
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.coordination import Coordination
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorTopics
from mqgateway.gateway.kafka.coordinator_view import KafkaView
from mqgateway.gateway.kafka.creation import Creation
from mqgateway.gateway.kafka.leader_only import led
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.partition_moves import PartitionMoves
from mqgateway.gateway.kafka.peer_transactions import verification
from mqgateway.gateway.kafka.quotas.enforcement import QuotaEnforcement
from mqgateway.gateway.kafka.share_coordination import ShareCoordination
from mqgateway.gateway.kafka.share_reads import ShareReads
from mqgateway.gateway.kafka.spread_topics import SpreadTopics
from mqgateway.gateway.kafka.topics import Shown, Topics
from mqgateway.gateway.kafka.transaction_coordination import TransactionCoordination


class KafkaService:
    """The functions for Kafka clients. `handlers` are the functions by API key.

    `quotas` are those of its clients.
    `repeated` is given Produce requests before their handler; None if each has to be checked by itself:
    for its rights, or because its topic may become another group's.
    """

    def __init__(self, operations: Operations, node: Node) -> None:
        self.topics = topics = Topics(operations)
        everywhere = topics.everywhere
        self._spread = None if operations.peers is None else SpreadTopics(operations, operations.peers)
        self._moves: PartitionMoves | None = None
        if operations.peers is not None and self._spread is not None:
            self._spread.serve()
            self._moves = PartitionMoves(operations, operations.peers, self._spread, everywhere)
            self._moves.serve()
        creation, cluster = Creation(operations, everywhere, self._spread), ClusterView(operations, node)
        clock = operations.clock
        self.quotas = quotas = QuotaEnforcement(operations.client_quotas, lambda: elapsed_millis(clock))
        whole = Topics(operations, Shown.WHOLE)
        self._coordination = Coordination(operations, whole)
        self._coordinator_topics = CoordinatorTopics(operations, everywhere, creation)
        coordinator, partitions = self._coordination.coordinator, self._coordination.partitions
        access = GroupAccess(operations, coordinator, partitions)
        self._transactions = transactions = TransactionCoordination(operations, everywhere, coordinator)
        self._shares = shares = ShareCoordination(operations, whole, coordinator)
        operations.coordinated.attach(
            KafkaView(
                operations, coordinator, shares, transactions.coordinator, transactions.hanging, everywhere
            )
        )
        sharing = ShareRequests(shares.table, shares.settings, access, whole)
        requests = TransactionRequests(operations, transactions, access, everywhere)
        verify = verification(operations, everywhere, transactions.partitions, transactions.verify)
        self._telemetry = TelemetryRequests(operations)
        handlers: dict[int, Handler] = {
            **Versions(node, lambda: self.handlers, self._telemetry.note_software).handlers(),
            **self._telemetry.handlers(),
            **AclRequests(operations).handlers(),
            **SaslRequests().handlers(),
            **UserCredentials(operations).handlers(),
            **DelegationTokenRequests(operations).handlers(),
            **Metadata(operations, everywhere, cluster, creation).handlers(),
            **TopicRequests(operations, everywhere, cluster, creation, quotas).handlers(),
            **ClientQuotaRequests(operations, quotas.refresh).handlers(),
            **ClusterRequests(operations, cluster).handlers(),
            **ReplicaRequests(operations, everywhere).handlers(),
            **ReassignmentRequests(operations, everywhere, cluster, creation).handlers(),
            **ConfigResources(operations, everywhere, node).handlers(),
            **Configs(operations, everywhere, node).handlers(),
            **DeleteRecords(operations, topics).handlers(),
            **LogDirs(operations, topics).handlers(),
            **ProducerIds(operations, topics, requests.init).handlers(),
            **requests.handlers(),
            **TransactionMarkers(operations, topics, coordinator.transactional, partitions).handlers(),
            **Produce(operations, topics, cluster, verify).handlers(),
            **Fetch(operations, topics, cluster, quotas).handlers(),
            **ShareFetch(sharing, ShareReads(operations, shares)).handlers(),
            **ShareAcknowledge(sharing).handlers(),
            **ListOffsets(operations, topics, cluster).handlers(),
            **Groups(
                operations, coordinator, access, cluster, partitions, transactions.partitions
            ).handlers(),
            **ConsumerGroupRequests(coordinator, access, everywhere).handlers(),
            **ShareGroupRequests(coordinator, access, whole).handlers(),
            **ShareGroupOffsetRequests(coordinator.shares, access, whole).handlers(),
            **OffsetRequests(coordinator, access, everywhere).handlers(),
            **TransactionalOffsets(coordinator, transactions, access, everywhere, verify).handlers(),
        }
        self.handlers = led(handlers, cluster)
        is_checked = operations.gate.has_access_control or operations.peers is not None
        self.repeated = None if is_checked else SingleProduce(operations, topics)

    def telemetry(self) -> TelemetryFigures | None:
        """Return the figures of the metrics of clients; None if none are received."""
        return self._telemetry.telemetry.figures() if self._telemetry.handlers() else None

    def tick(self) -> None:
        """Do what is due; called ten times a second."""
        self._telemetry.tick()
        if self._spread is not None:
            self._spread.tick()
        if self._moves is not None:
            self._moves.tick()
        self._coordinator_topics.tick()
        self.quotas.refresh()
        self._coordination.tick()
        self._transactions.tick()
        self._shares.tick()

    def stop(self) -> None:
        """Answer what waits for other clients: the broker stops, and nothing is due any more."""
        self._coordination.stop()
        self._shares.stop()

"""Operations of the broker: the only part of it that a protocol front end imports.

    gate            admission: principal, rights, lease, role; the end of a turn
    produce         sends, replies, recalls
    consume         pulls
    batches         record batches of Kafka; with `batch_producers` and `batch_queues`
    time_search     records of Kafka by timestamp
    offsets         committed offsets, ends of queues, offsets of times
    pop             popped messages
    transactions    ends of transactions
    clients         members of groups, their queues and locks, lite subscriptions
    lite            lite topics, their groups and the progress of these
    queries         messages by key and by position, consume queues, delayed messages
    storage         the store: its folders, its log, sizes
    other_brokers   questions to the other brokers of the cluster
    coordinated     groups and transactions that a front end coordinates itself
    administration  changes of topics, groups, offsets and settings; role, health and figures of the broker
    tables          topics and groups as they are configured
    replicas        nodes of the group of replicas, its leader and its epochs
    peers           other groups of the same Kafka cluster; None if there are none

`Operations` holds one object a subject. A method takes a `Permit` and values, and returns a value or a
Deferred of one. It raises `OperationError`. A method that shows no message and changes nothing may do without
a permit: the front end answers for the rights. Names of other packages of the broker that front ends
need are exported here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from mqgateway.engine.lazy import lazy_names
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.clients import ClientOperations, Consumers, GroupMember
from mqgateway.gateway.broker.operations.consume import Consume
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Principal, Runner, TurnState
from mqgateway.gateway.broker.operations.offsets import OffsetOperations, QueueProgress
from mqgateway.gateway.broker.operations.pop import Pop
from mqgateway.gateway.broker.operations.produce import ProduceOperations
from mqgateway.gateway.broker.operations.replicas import ReplicaOperations
from mqgateway.gateway.broker.operations.transactions import HalfPlace, TransactionOperations
from mqgateway.gateway.broker.operations.uses import Use

if TYPE_CHECKING:
    from mqgateway.gateway.access.administration import AccessAdministration
    from mqgateway.gateway.access.callers import CallerAccess
    from mqgateway.gateway.access.errors import NotAdmitted
    from mqgateway.gateway.broker.admin.progress import Restart
    from mqgateway.gateway.broker.broker import Broker
    from mqgateway.gateway.broker.clients.assignment import Assignment, AssignmentQuery
    from mqgateway.gateway.broker.clients.members import (
        CLUSTERING,
        CONSUME_ACTIVELY,
        CONSUME_PASSIVELY,
        GroupClient,
    )
    from mqgateway.gateway.broker.clients.outgoing import (
        ClientAnswer,
        DirectConsumption,
        NotAnswered,
        OffsetReset,
        PushedReply,
    )
    from mqgateway.gateway.broker.connection import ClientConnection, MayUse
    from mqgateway.gateway.broker.consume.pull_request import (
        PullForbidden,
        PullOutcome,
        PullOutcomeStatus,
        PullRequest,
    )
    from mqgateway.gateway.broker.coordinated import (
        CoordinatedGroup,
        CoordinatedMember,
        CoordinatedTransaction,
        HangingTransaction,
        SharedPartition,
    )
    from mqgateway.gateway.broker.lite.pop import LiteFind, PopLiteOutcome, ReceiveLite
    from mqgateway.gateway.broker.lite.state import LiteClient
    from mqgateway.gateway.broker.lite.subscriptions import LiteTopicChange, SubscriptionChange
    from mqgateway.gateway.broker.new_message import ANY_QUEUE, NewMessage
    from mqgateway.gateway.broker.operations.administration import BrokerAdministration, BrokerFigures
    from mqgateway.gateway.broker.operations.batch_copies import NotCopied, copy_problem
    from mqgateway.gateway.broker.operations.batch_producers import (
        NotInTransaction,
        OldCoordinator,
        OldEpoch,
        OutOfOrder,
    )
    from mqgateway.gateway.broker.operations.batch_queues import (
        BatchTooLarge,
        Ends,
        NotEnoughReplicas,
        OffsetOutOfRange,
    )
    from mqgateway.gateway.broker.operations.batches import (
        Appended,
        BatchOperations,
        ReadBatches,
        ReadPosition,
    )
    from mqgateway.gateway.broker.operations.client_metrics import ClientMetricsOperations
    from mqgateway.gateway.broker.operations.client_quotas import ClientQuotaOperations
    from mqgateway.gateway.broker.operations.coordinated import CoordinatedOperations
    from mqgateway.gateway.broker.operations.lite import Lite, LiteGroup, LiteParent
    from mqgateway.gateway.broker.operations.other_brokers import OtherBrokerOperations
    from mqgateway.gateway.broker.operations.peers import PeerOperations, TopicExists
    from mqgateway.gateway.broker.operations.queries import Queries
    from mqgateway.gateway.broker.operations.storage import LogSegment, StorageOperations
    from mqgateway.gateway.broker.operations.tables import GroupOperations, TopicOperations
    from mqgateway.gateway.broker.operations.time_search import TimedOffset
    from mqgateway.gateway.broker.polling import PollingStatus
    from mqgateway.gateway.broker.pop.acks import CheckpointAcks
    from mqgateway.gateway.broker.pop.pop import PopFind, PopOutcome
    from mqgateway.gateway.broker.pop.questions import NotificationOutcome, Peek, PeekOutcome, Watch
    from mqgateway.gateway.broker.pop.reading import Receive
    from mqgateway.gateway.broker.produce.put import SendOutcome, Sent
    from mqgateway.gateway.broker.produce.reply import ReplyNotTaken, ReplyOutcome
    from mqgateway.gateway.broker.produce.send_back import SendBack
    from mqgateway.gateway.broker.produce.timers import RecallOutcome
    from mqgateway.gateway.broker.receipts import Delivery
    from mqgateway.gateway.broker.replication.group import Peers
    from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd
else:
    __getattr__ = lazy_names(
        globals(),
        {
            "gateway.access.errors": ("NotAdmitted",),
            "gateway.broker.admin.progress": ("Restart",),
            "gateway.broker.clients.assignment": ("Assignment", "AssignmentQuery"),
            "gateway.broker.clients.members": (
                "CLUSTERING",
                "CONSUME_ACTIVELY",
                "CONSUME_PASSIVELY",
                "GroupClient",
            ),
            "gateway.broker.clients.outgoing": (
                "ClientAnswer",
                "DirectConsumption",
                "NotAnswered",
                "OffsetReset",
                "PushedReply",
            ),
            "gateway.broker.connection": ("ClientConnection", "MayUse"),
            "gateway.broker.consume.pull_request": (
                "PullForbidden",
                "PullOutcome",
                "PullOutcomeStatus",
                "PullRequest",
            ),
            "gateway.broker.coordinated": (
                "CoordinatedGroup",
                "CoordinatedMember",
                "CoordinatedTransaction",
                "HangingTransaction",
                "SharedPartition",
            ),
            "gateway.broker.lite.pop": ("LiteFind", "PopLiteOutcome", "ReceiveLite"),
            "gateway.broker.lite.state": ("LiteClient",),
            "gateway.broker.lite.subscriptions": ("LiteTopicChange", "SubscriptionChange"),
            "gateway.broker.new_message": ("ANY_QUEUE", "NewMessage"),
            "gateway.broker.operations.administration": ("BrokerFigures",),
            "gateway.broker.operations.batch_copies": ("NotCopied", "copy_problem"),
            "gateway.broker.operations.batch_producers": (
                "NotInTransaction",
                "OldCoordinator",
                "OldEpoch",
                "OutOfOrder",
            ),
            "gateway.broker.operations.batch_queues": (
                "BatchTooLarge",
                "Ends",
                "NotEnoughReplicas",
                "OffsetOutOfRange",
            ),
            "gateway.broker.operations.batches": (
                "Appended",
                "BatchOperations",
                "ReadBatches",
                "ReadPosition",
            ),
            "gateway.broker.operations.lite": ("LiteGroup", "LiteParent"),
            "gateway.broker.operations.peers": ("PeerOperations", "TopicExists"),
            "gateway.broker.operations.storage": ("LogSegment",),
            "gateway.broker.operations.time_search": ("TimedOffset",),
            "gateway.broker.polling": ("PollingStatus",),
            "gateway.broker.pop.acks": ("CheckpointAcks",),
            "gateway.broker.pop.pop": ("PopFind", "PopOutcome"),
            "gateway.broker.pop.questions": ("NotificationOutcome", "Peek", "PeekOutcome", "Watch"),
            "gateway.broker.pop.reading": ("Receive",),
            "gateway.broker.produce.put": ("SendOutcome", "Sent"),
            "gateway.broker.produce.reply": ("ReplyNotTaken", "ReplyOutcome"),
            "gateway.broker.produce.send_back": ("SendBack",),
            "gateway.broker.produce.timers": ("RecallOutcome",),
            "gateway.broker.receipts": ("Delivery",),
            "gateway.broker.transactions.ends": ("Resolution", "TransactionEnd"),
        },
    )

__all__ = [
    "ANY_QUEUE",
    "CLUSTERING",
    "CONSUME_ACTIVELY",
    "CONSUME_PASSIVELY",
    "Appended",
    "Assignment",
    "AssignmentQuery",
    "BatchOperations",
    "BatchTooLarge",
    "BrokerFigures",
    "CheckpointAcks",
    "ClientAnswer",
    "ClientConnection",
    "ClientOperations",
    "Consumers",
    "CoordinatedGroup",
    "CoordinatedMember",
    "CoordinatedTransaction",
    "Delivery",
    "DirectConsumption",
    "Ends",
    "GroupClient",
    "GroupMember",
    "HalfPlace",
    "HangingTransaction",
    "LiteClient",
    "LiteFind",
    "LiteGroup",
    "LiteParent",
    "LiteTopicChange",
    "LogSegment",
    "MayUse",
    "NewMessage",
    "NotAdmitted",
    "NotAnswered",
    "NotCopied",
    "NotEnoughReplicas",
    "NotInTransaction",
    "NotificationOutcome",
    "OffsetOutOfRange",
    "OffsetReset",
    "OldCoordinator",
    "OldEpoch",
    "OperationError",
    "Operations",
    "OutOfOrder",
    "Peek",
    "PeekOutcome",
    "PeerOperations",
    "Permit",
    "PollingStatus",
    "PopFind",
    "PopLiteOutcome",
    "PopOutcome",
    "Principal",
    "PullForbidden",
    "PullOutcome",
    "PullOutcomeStatus",
    "PullRequest",
    "PushedReply",
    "QueueProgress",
    "ReadBatches",
    "ReadPosition",
    "Reason",
    "RecallOutcome",
    "Receive",
    "ReceiveLite",
    "ReplyNotTaken",
    "ReplyOutcome",
    "Resolution",
    "Restart",
    "SendBack",
    "SendOutcome",
    "Sent",
    "SharedPartition",
    "SubscriptionChange",
    "TimedOffset",
    "TopicExists",
    "TransactionEnd",
    "Use",
    "Watch",
    "copy_problem",
]


class Operations:
    """The operations of one broker, by subject.

    `runner` runs cooperative tasks, those of front ends too; see `Gate` for the other arguments. `address` is
    where remoting clients reach the broker. `clock` and `steady` are the broker's, `options` and
    `store_options` its settings. Subjects that only some clients use are loaded on first use.
    """

    def __init__(
        self,
        broker: Broker,
        runner: Runner,
        *,
        admission: CallerAccess | None = None,
        turn: TurnState | None = None,
        end_turn: Callable[[], None] | None = None,
    ) -> None:
        self.runner = runner
        self.gate = gate = Gate(broker, admission=admission, turn=turn, end_turn=end_turn)
        self.options, self.store_options = broker.options, broker.store_options
        self.clock, self.steady = broker.clock, broker.store.steady
        self.produce = ProduceOperations(broker, gate, runner)
        self.consume = Consume(broker, gate)
        self.offsets = OffsetOperations(broker, gate)
        self.pop = Pop(broker, gate)
        self.transactions = TransactionOperations(broker, gate)
        self.clients = ClientOperations(broker, gate)
        self.replicas = ReplicaOperations(broker)
        self._broker = broker
        self.peers = None if broker.peers is None else self._make_peers(broker.peers)

    def _make_peers(self, peers: Peers) -> PeerOperations:
        from mqgateway.gateway.broker.operations.peers import PeerOperations

        return PeerOperations(self._broker, self.gate, self.batches, peers)

    @property
    def address(self) -> str:
        """The address at which remoting clients reach the broker."""
        return self._broker.environment.address

    @property
    def access(self) -> AccessAdministration | None:
        """Users and policies, None for a broker without access control."""
        return self._broker.access

    @cached_property
    def batches(self) -> BatchOperations:
        """Record batches of Kafka."""
        from mqgateway.gateway.broker.operations.batches import BatchOperations

        return BatchOperations(self._broker, self.gate, self.runner)

    @cached_property
    def lite(self) -> Lite:
        """Lite topics."""
        from mqgateway.gateway.broker.operations.lite import Lite

        return Lite(self._broker, self.runner)

    @cached_property
    def queries(self) -> Queries:
        """Messages by key and by position."""
        from mqgateway.gateway.broker.operations.queries import Queries

        return Queries(self._broker, self.gate, self.runner)

    @cached_property
    def storage(self) -> StorageOperations:
        """The store."""
        from mqgateway.gateway.broker.operations.storage import StorageOperations

        return StorageOperations(self._broker, self.gate, self.runner)

    @cached_property
    def coordinated(self) -> CoordinatedOperations:
        """Groups and transactions that a front end coordinates."""
        from mqgateway.gateway.broker.operations.coordinated import CoordinatedOperations

        return CoordinatedOperations(self._broker)

    @cached_property
    def administration(self) -> BrokerAdministration:
        """Changes and figures of the broker."""
        from mqgateway.gateway.broker.operations.administration import BrokerAdministration

        return BrokerAdministration(self._broker, self.gate)

    @cached_property
    def other_brokers(self) -> OtherBrokerOperations:
        """Questions to the other brokers of the cluster."""
        from mqgateway.gateway.broker.operations.other_brokers import OtherBrokerOperations

        return OtherBrokerOperations(self._broker, self.gate)

    @cached_property
    def client_metrics(self) -> ClientMetricsOperations:
        """Metrics that are wanted of clients."""
        from mqgateway.gateway.broker.operations.client_metrics import ClientMetricsOperations

        return ClientMetricsOperations(self._broker, self.gate)

    @cached_property
    def client_quotas(self) -> ClientQuotaOperations:
        """Quotas of clients."""
        from mqgateway.gateway.broker.operations.client_quotas import ClientQuotaOperations

        return ClientQuotaOperations(self._broker, self.gate)

    @cached_property
    def topics(self) -> TopicOperations:
        """Topics as they are configured."""
        from mqgateway.gateway.broker.operations.tables import TopicOperations

        return TopicOperations(self._broker)

    @cached_property
    def groups(self) -> GroupOperations:
        """Consumer groups as they are configured."""
        from mqgateway.gateway.broker.operations.tables import GroupOperations

        return GroupOperations(self._broker)

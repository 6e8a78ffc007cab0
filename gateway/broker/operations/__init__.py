"""Operations of the broker: the only part of it that a protocol front end imports.

    gate            admission: principal, rights, lease, role; the end of a turn
    messages        messages as front ends hand them over
    produce         sends and recalls
    consume         pulls
    offsets         committed offsets, ends of queues, offsets of times
    pop             popped messages
    transactions    ends of transactions
    clients         members of groups, lite subscriptions
    queries         messages by key and by position
    administration  changes of topics, groups, offsets and settings
    tables          topics and groups as they are configured

`Operations` holds one object a subject. A method takes a `Permit` and values, and returns a value or a
Deferred of one. It raises `OperationError`. Names of other packages of the broker that are part of a
signature are exported here.
"""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.gateway.access.asker import Admission
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.broker.admin.progress import Restart
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.outgoing import (
    ClientAnswer,
    DirectConsumption,
    NotAnswered,
    OffsetReset,
    PushedReply,
)
from mqgateway.gateway.broker.clients.table import (
    CLUSTERING,
    CONSUME_ACTIVELY,
    CONSUME_PASSIVELY,
    GRPC,
    Client,
)
from mqgateway.gateway.broker.connection import ClientConnection, MayUse
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullStatus
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.lite.pop import LiteFind, PopLiteOutcome, ReceiveLite
from mqgateway.gateway.broker.lite.state import LiteClient
from mqgateway.gateway.broker.lite.subscriptions import Action, SubscriptionChange
from mqgateway.gateway.broker.operations.administration import Administration
from mqgateway.gateway.broker.operations.clients import Clients
from mqgateway.gateway.broker.operations.consume import Consume, Fetch
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Principal, Runner, Use
from mqgateway.gateway.broker.operations.messages import ANY_QUEUE, NewMessage
from mqgateway.gateway.broker.operations.offsets import Offsets
from mqgateway.gateway.broker.operations.pop import Pop
from mqgateway.gateway.broker.operations.produce import Produce
from mqgateway.gateway.broker.operations.queries import Queries
from mqgateway.gateway.broker.operations.tables import Groups, Topics
from mqgateway.gateway.broker.operations.transactions import HalfPlace, Transactions
from mqgateway.gateway.broker.outcomes import then
from mqgateway.gateway.broker.polling import PollingStatus
from mqgateway.gateway.broker.pop.acks import BatchAck
from mqgateway.gateway.broker.pop.pop import PopFind, PopOutcome
from mqgateway.gateway.broker.pop.questions import NotificationOutcome, Peek, PeekOutcome, Watch
from mqgateway.gateway.broker.pop.reading import Receive
from mqgateway.gateway.broker.produce.send import SendOutcome, Sent
from mqgateway.gateway.broker.produce.timers import RecallOutcome
from mqgateway.gateway.broker.receipts import Delivery
from mqgateway.gateway.broker.transactions.ends import Resolution, TransactionEnd

__all__ = [
    "ANY_QUEUE",
    "CLUSTERING",
    "CONSUME_ACTIVELY",
    "CONSUME_PASSIVELY",
    "GRPC",
    "Action",
    "Administration",
    "BatchAck",
    "Client",
    "ClientAnswer",
    "ClientConnection",
    "Clients",
    "Consume",
    "Delivery",
    "DirectConsumption",
    "Fetch",
    "Gate",
    "Groups",
    "HalfPlace",
    "LiteClient",
    "LiteFind",
    "MayUse",
    "NewMessage",
    "NotAdmitted",
    "NotAnswered",
    "NotificationOutcome",
    "OffsetReset",
    "Offsets",
    "OperationError",
    "Operations",
    "Peek",
    "PeekOutcome",
    "Permit",
    "PollingStatus",
    "Pop",
    "PopFind",
    "PopLiteOutcome",
    "PopOutcome",
    "Principal",
    "Produce",
    "PullOutcome",
    "PullStatus",
    "PushedReply",
    "Queries",
    "Reason",
    "RecallOutcome",
    "Receive",
    "ReceiveLite",
    "Resolution",
    "Restart",
    "Runner",
    "SendOutcome",
    "Sent",
    "SubscriptionChange",
    "Topics",
    "TransactionEnd",
    "Transactions",
    "Use",
    "Watch",
    "then",
]


class Operations:
    """The operations of one broker, by subject.

    `runner` runs cooperative tasks; see `Gate` for the other arguments. `address` is where remoting clients
    reach the broker. `clock` and `steady` are the broker's, `options` and `store_options` its settings.
    """

    def __init__(
        self,
        broker: Broker,
        runner: Runner,
        *,
        admission: Admission | None = None,
        is_turn: Callable[[], bool] = lambda: False,
        end_turn: Callable[[], None] | None = None,
    ) -> None:
        self.gate = gate = Gate(broker, admission=admission, is_turn=is_turn, end_turn=end_turn)
        self.options, self.store_options = broker.options, broker.store_options
        self.clock, self.steady = broker.clock, broker.store.steady
        self.produce = Produce(broker, gate, runner)
        self.consume = Consume(broker, gate)
        self.offsets = Offsets(broker, gate)
        self.pop = Pop(broker, gate)
        self.transactions = Transactions(broker, gate)
        self.clients = Clients(broker, gate)
        self.queries = Queries(broker, gate)
        self.administration = Administration(broker, gate)
        self.topics = Topics(broker)
        self.groups = Groups(broker)
        self._environment = broker.environment

    @property
    def address(self) -> str:
        """The address at which remoting clients reach the broker."""
        return self._environment.address

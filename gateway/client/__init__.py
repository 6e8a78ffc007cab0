"""The client: producers and consumers for any RocketMQ server.

What is exported here is the face that blocks (`blocking`); `aio` has the same names for asyncio, `deferred`
for Twisted. All three are one core.

The way through it, from what decides to what acts:

    message       messages, results; `errors` what goes wrong, `options` every setting, `settings` the same as
                  types
    routes        who has which topic; `publishing` whose turn it is, `faults` whom to avoid
    sending       a message as it goes out: checked, named, compressed (`compression`), in a batch
    (`batches`), within a namespace (`namespaces`), signed; `selectors` choose a queue
    allocation    how a group shares queues; `rebalance` what that means for a member
    process_queue what was pulled and is not done with; `offsets` how far everything is consumed
    reading       from the bytes of a reply to messages; `subscriptions` what is wanted
    identity      client ids and message ids

All of that is pure. Then, with Deferreds over `gateway.remoting`:

    schedule      timers; nobody else sets any
    asking        one request; `calls` the typed ones, `name_servers` those that name servers get
    client        what producers and consumers of one client id share; `members` what it wants of them
    producer      sends, by `tries`; `transactions` with a transaction, `requests` that wait for a reply
    consumer      a member of a group: subscriptions, queues that come and go, offsets; `pulling` one pull
    push          pulls by itself and gives what comes to a listener (`listening`): all at once
                  (`consuming`) or in order (`ordered`); `returning` hands back what failed, `running` counts
    lite_pull     pulls ahead and is polled (`assigned` queues, `waiters` for messages); `iterating` what a
                  loop goes through
    simple        receives and acknowledges, by what `popping` asks
    popping       is given messages by the broker instead of pulling (`receipts` are what they are
                  acknowledged with)
    admin         asks what administrators ask (`admin_question`): name servers (`admin_names`), brokers
                  about `admin_topics`, `admin_groups`, `admin_consumers`, `admin_messages`, `admin_lite`,
                  `admin_access`, `admin_replicas` and themselves (`admin_broker`)
    trace         records of what was sent and consumed, if wanted
    served        what brokers ask of clients
    begin_times   where a group begins in time; `locks` on queues that are consumed in order
    arguments     checks of what programs pass; `send_arguments` those of sends
    loop          the thread that `blocking` and `aio` run the core in (bases in `blocking_face`, `aio_face`);
                  `signals` end what waits there
    blocking_classes, aio_classes
                  generated from the core's classes by `scripts/client_apis.py`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqgateway.engine.tables.groups import SubscriptionGroupConfig
    from mqgateway.engine.tables.topics import TopicConfig
    from mqgateway.gateway.client.blocking import (
        Admin,
        LitePullConsumer,
        Producer,
        PullConsumer,
        PushConsumer,
        SimpleConsumer,
        TransactionListener,
        TransactionProducer,
    )
    from mqgateway.gateway.client.errors import (
        BadArgument,
        BrokerError,
        ClientError,
        NoBroker,
        NoRoute,
        NotRunning,
        ReplyTimedOut,
        SendFailed,
        TimedOut,
        TooBusy,
        Unreachable,
    )
    from mqgateway.gateway.client.listening import Consumed, Context
    from mqgateway.gateway.client.message import (
        Message,
        PullResult,
        PullStatus,
        ReceivedMessage,
        SendResult,
        SendStatus,
        TransactionResult,
        TransactionState,
    )
    from mqgateway.gateway.client.subscriptions import Sql
    from mqgateway.gateway.codec.bodies import MessageQueue
__all__ = [
    "Admin",
    "BadArgument",
    "BrokerError",
    "ClientError",
    "Consumed",
    "Context",
    "LitePullConsumer",
    "Message",
    "MessageQueue",
    "NoBroker",
    "NoRoute",
    "NotRunning",
    "Producer",
    "PullConsumer",
    "PullResult",
    "PullStatus",
    "PushConsumer",
    "ReceivedMessage",
    "ReplyTimedOut",
    "SendFailed",
    "SendResult",
    "SendStatus",
    "SimpleConsumer",
    "Sql",
    "SubscriptionGroupConfig",
    "TimedOut",
    "TooBusy",
    "TopicConfig",
    "TransactionListener",
    "TransactionProducer",
    "TransactionResult",
    "TransactionState",
    "Unreachable",
]

_PLACES = {
    "gateway.client.blocking": (
        "Admin",
        "LitePullConsumer",
        "Producer",
        "PullConsumer",
        "PushConsumer",
        "SimpleConsumer",
        "TransactionListener",
        "TransactionProducer",
    ),
    "gateway.client.errors": (
        "BadArgument",
        "BrokerError",
        "ClientError",
        "NoBroker",
        "NoRoute",
        "NotRunning",
        "ReplyTimedOut",
        "SendFailed",
        "TimedOut",
        "TooBusy",
        "Unreachable",
    ),
    "gateway.client.listening": (
        "Consumed",
        "Context",
    ),
    "gateway.client.message": (
        "Message",
        "PullResult",
        "PullStatus",
        "ReceivedMessage",
        "SendResult",
        "SendStatus",
        "TransactionResult",
        "TransactionState",
    ),
    "gateway.client.subscriptions": ("Sql",),
    "gateway.codec.bodies": ("MessageQueue",),
    "engine.tables.groups": ("SubscriptionGroupConfig",),
    "engine.tables.topics": ("TopicConfig",),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a part when one of its names is first asked for: administration can do without Twisted."""
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"mqgateway.{_PLACE_OF[name]}"), name)
    globals()[name] = value
    return value

"""Client library: producers, consumers and administration for any RocketMQ server.

This package exports the blocking API (`blocking`). `aio` has the same names for asyncio, `deferred` for
Twisted. All three share one core.

Modules without I/O:

    message       messages and results; `errors` the exceptions, `options` every setting, `settings` the
                  settings as types
    routes        brokers and queues by topic; `publishing` queues in round-robin order, `faults` brokers to
                  avoid
    sending       a message prepared for sending: checked, given an id, compressed (`compression`), put in a
                  batch (`batches`) and in a namespace (`namespaces`), signed; `selectors` choose a queue
    allocation    strategies that share queues in a group; `rebalance` the resulting changes of a member
    process_queue messages pulled but not yet consumed; `offsets` consumed offsets
    reading       decoding of pull replies into messages; `subscriptions` filter expressions
    identity      client ids and message ids

Modules that do I/O, with Deferreds over `gateway.remoting`:

    schedule      timers; no other module sets any
    asking        a single request; `calls` typed requests to brokers, `name_servers` those to name servers
    client        state shared by the producers and consumers of a client id; `members` the interface that it
                  requires of them
    producer      sends, with retries (`tries`); `transactions` transactional sends, `requests`
                  request-reply
    consumer      a member of a group: subscriptions, queue allocation, offsets; `pulling` a single pull
    push          prefetches and passes messages to a listener (`listening`), concurrently (`consuming`) or
                  in order (`ordered`); `returning` sends failed messages back, `running` keeps statistics
    lite_pull     prefetches and is polled (`assigned` queues, `waiters` for messages); `iterating` batches
                  that a loop iterates over
    simple        receives and acknowledges single messages with the requests of `pop_consumption`
    pop_consumption
                  POP consumption: the broker hands out messages (`receipts` acknowledge them)
    admin         administration requests (`admin_question`): to name servers (`admin_names`) and to brokers
                  (`admin_topics`, `admin_groups`, `admin_consumers`, `admin_messages`, `admin_lite`,
                  `admin_access`, `admin_replicas`, `admin_broker`)
    trace         message traces, if enabled
    served        requests that brokers send to clients
    begin_times   initial position of a group by time; `locks` on queues consumed in order
    arguments     checks of arguments; `send_arguments` those of sends
    loop          the thread in which `blocking` and `aio` run the core (base classes in `blocking_facade` and
                  `aio_facade`); `signals` interrupt waiting calls
    blocking_classes, aio_classes
                  generated from the core's classes by `scripts/client_apis.py`
"""

from typing import TYPE_CHECKING

from mqgateway.engine.lazy import lazy_names

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
else:
    __getattr__ = lazy_names(
        globals(),
        {
            "engine.tables.groups": ("SubscriptionGroupConfig",),
            "engine.tables.topics": ("TopicConfig",),
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
            "gateway.client.listening": ("Consumed", "Context"),
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
        },
    )

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

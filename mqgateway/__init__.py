"""mqgateway: a RocketMQ name server, broker and client.

    from mqgateway import Message, Producer

    with Producer("my-producers", "127.0.0.1:9876") as producer:
        producer.send(Message("TopicTest", "hello"))

What programs use has short names here; each module below is the public API of one part:

    mqgateway             producers, consumers and their errors, for programs that block
    mqgateway.aio         the same for asyncio; `mqgateway.deferred` for Twisted
    mqgateway.admin       what administrators ask
    mqgateway.allocation  how a group shares queues; `mqgateway.selectors` which queue a message goes to
    mqgateway.spark       a Spark session that knows the formats (with `mqgateway[spark]`)
    mqgateway.testing     a server for tests

Everything else lies in `mqgateway.engine`, `mqgateway.gateway` and `mqgateway.pipeline`, and may change.
Nothing is loaded before it is used, so that a program pays for what it needs only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqgateway.gateway.client import (
        Admin,
        BadArgument,
        BrokerError,
        ClientError,
        Consumed,
        Context,
        LitePullConsumer,
        Message,
        MessageQueue,
        NoBroker,
        NoRoute,
        NotRunning,
        Producer,
        PullConsumer,
        PullResult,
        PullStatus,
        PushConsumer,
        ReceivedMessage,
        ReplyTimedOut,
        SendFailed,
        SendResult,
        SendStatus,
        SimpleConsumer,
        Sql,
        SubscriptionGroupConfig,
        TimedOut,
        TooBusy,
        TopicConfig,
        TransactionListener,
        TransactionProducer,
        TransactionResult,
        TransactionState,
        Unreachable,
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


def __getattr__(name: str) -> Any:
    """Load the client when one of its names is first asked for."""
    if name in __all__:
        return getattr(import_module("mqgateway.gateway.client"), name)
    raise AttributeError(f"module 'mqgateway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))

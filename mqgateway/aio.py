"""Producers, consumers and administration for asyncio; see `mqgateway.gateway.client.aio`."""

from mqgateway.gateway.client.aio import (
    Admin,
    LitePullConsumer,
    Message,
    Producer,
    PullConsumer,
    PushConsumer,
    TransactionListener,
    TransactionProducer,
)

__all__ = [
    "Admin",
    "LitePullConsumer",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "TransactionListener",
    "TransactionProducer",
]

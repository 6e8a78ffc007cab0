"""The client for programs that have a Twisted reactor; see `mqgateway.gateway.client.deferred`."""

from mqgateway.gateway.client.deferred import (
    Admin,
    Client,
    LitePullConsumer,
    Message,
    Producer,
    PullConsumer,
    PushConsumer,
    SimpleConsumer,
    TransactionProducer,
    environment,
)

__all__ = [
    "Admin",
    "Client",
    "LitePullConsumer",
    "Message",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "SimpleConsumer",
    "TransactionProducer",
    "environment",
]

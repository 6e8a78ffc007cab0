"""Interfaces that a client requires of its producers and consumers.

RocketMQ: `MQProducerInner`, `MQConsumerInner`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, Protocol

from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import (
    ConsumeMessageDirectlyResult,
    ConsumerData,
    ConsumerRunningInfo,
    MessageQueue,
    TopicRouteData,
)
from mqgateway.gateway.codec.headers import CheckTransactionStateRequestHeader


class ProducerMember(Protocol):
    """Producer group of a client."""

    @property
    def group(self) -> str:
        """Group name with namespace, as brokers know it."""
        ...

    def topics(self) -> Iterable[str]:
        """Return the topics that the group sends to."""
        ...

    def route_known(self, topic: str, route: TopicRouteData) -> None:
        """Handle a fetched route, which may be unchanged or of a topic that the group does not use."""
        ...

    def check_transaction(
        self, address: str, message: ReceivedMessage, header: CheckTransactionStateRequestHeader
    ) -> None:
        """Handle a transaction check of a half message by the broker at `address`."""
        ...


class ConsumerMember(Protocol):
    """Consumer group of a client."""

    @property
    def group(self) -> str:
        """Group name with namespace, as brokers know it."""
        ...

    def topics(self) -> Iterable[str]:
        """Return the subscribed topics."""
        ...

    def route_known(self, topic: str, route: TopicRouteData) -> None:
        """Handle a fetched route, which may be unchanged or of a topic that the group does not use."""
        ...

    def consumer_data(self) -> ConsumerData:
        """Return the heartbeat data of the group."""
        ...

    def rebalance(self) -> Coroutine[Any, Any, bool]:
        """Reallocate the queues. Returns True if this member holds all queues it was allocated."""
        ...

    def commit_offsets(self, *, wait: bool = False) -> Coroutine[Any, Any, None]:
        """Commit the consumed offsets to the brokers or the local file."""
        ...

    def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> Coroutine[Any, Any, None]:
        """Continue from other offsets."""
        ...

    def consumed(self, topic: str | None) -> dict[MessageQueue, int]:
        """Return the consumed offsets, of one topic or of all."""
        ...

    def running_info(self) -> Coroutine[Any, Any, ConsumerRunningInfo]:
        """Return the state of the consumer for administrators."""
        ...

    def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> Coroutine[Any, Any, ConsumeMessageDirectlyResult]:
        """Consume one message now, on an administrator's request."""
        ...

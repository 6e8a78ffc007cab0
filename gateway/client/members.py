"""What a client wants of the producers and consumers that share it. Standard: `MQProducerInner`,
`MQConsumerInner`."""

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
    """A producer group of a client."""

    @property
    def group(self) -> str:
        """Its name, as brokers know it."""
        ...

    def topics(self) -> Iterable[str]:
        """What it sends to."""
        ...

    def route_known(self, topic: str, route: TopicRouteData) -> None:
        """A route was looked up; it may be of no interest, or the same as before."""
        ...

    def check_transaction(
        self, address: str, message: ReceivedMessage, header: CheckTransactionStateRequestHeader
    ) -> None:
        """The broker at `address` asks what became of a half message."""
        ...


class ConsumerMember(Protocol):
    """A consumer group of a client."""

    @property
    def group(self) -> str:
        """Its name, as brokers know it."""
        ...

    def topics(self) -> Iterable[str]:
        """What it subscribes to."""
        ...

    def route_known(self, topic: str, route: TopicRouteData) -> None:
        """A route was looked up; it may be of no interest, or the same as before."""
        ...

    def consumer_data(self) -> ConsumerData:
        """What brokers are told with heartbeats."""
        ...

    def rebalance(self) -> Coroutine[Any, Any, bool]:
        """Share the queues anew; whether we have now what we should have."""
        ...

    def commit_offsets(self, *, wait: bool = False) -> Coroutine[Any, Any, None]:
        """Tell, or write down, how far everything is consumed."""
        ...

    def reset_offsets(self, topic: str, offsets: dict[MessageQueue, int]) -> Coroutine[Any, Any, None]:
        """Go on elsewhere."""
        ...

    def consumed(self, topic: str | None) -> dict[MessageQueue, int]:
        """How far queues are consumed."""
        ...

    def running_info(self) -> Coroutine[Any, Any, ConsumerRunningInfo]:
        """What it does, for administrators."""
        ...

    def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> Coroutine[Any, Any, ConsumeMessageDirectlyResult]:
        """Consume one message now, because an administrator wants it."""
        ...

"""Queues of static topics: their list, and the broker that leads each.

Such a queue keeps its number and offsets while it moves from broker to broker. Clients call its broker
`__syslo__global__` and send requests to its current leader, according to the topic's route. Offsets in
answers are the queue's own. Records carry their position in a broker's queue, and the answer has the
difference. RocketMQ: `MQClientInstance.topicRouteData2EndpointsForStaticTopic`, `TopicQueueMappingUtils`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mqgateway.engine import json_members
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.client.routes import MASTER, Endpoint
from mqgateway.gateway.codec.bodies import MessageQueue, TopicRouteData

PREFIX = "__syslo__"
GLOBAL_SCOPE = "__global__"


class _Info(NamedTuple):
    """A broker's report on a static topic: the name that stands for all brokers, and the queues it leads."""

    broker_name: str
    stands_for: str
    epoch: int
    total: int
    leads: list[int]


def is_static(queue: MessageQueue) -> bool:
    """Return True if a queue belongs to a static topic."""
    return queue.broker_name.startswith(PREFIX)


def static_queues(topic: str, route: TopicRouteData) -> set[MessageQueue]:
    """Return the queues of a static topic; none if the topic is not static."""
    return {
        MessageQueue(topic, info.stands_for, number) for info in _infos(route) for number in range(info.total)
    }


def leader(queue: MessageQueue, route: TopicRouteData) -> str | None:
    """Return the broker that leads a queue, by the newest report of those that claim to; None if none
    does."""
    claims = [
        info
        for info in _infos(route)
        if info.stands_for == queue.broker_name and queue.queue_id in info.leads
    ]
    return max(claims, key=lambda info: info.epoch).broker_name if claims else None


def _infos(route: TopicRouteData) -> Iterator[_Info]:
    for name, mapping in (route.topic_queue_mapping_by_broker or {}).items():
        if not isinstance(mapping, Mapping):
            continue
        scope = json_members.read(mapping, "scope", "") or GLOBAL_SCOPE
        yield _Info(
            name,
            PREFIX + scope.removeprefix("__"),
            json_members.read(mapping, "epoch", 0, json_members.LONG_BITS),
            json_members.read(mapping, "totalQueues", 0),
            list(map(int, json_members.read(mapping, "currIdMap", dict[str, Any]()))),
        )


class QueueDirectory:
    """Addresses of brokers, for queues of either kind; a `gateway.client.calls.Directory`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def place_of(
        self, queue: MessageQueue, broker_id: int = MASTER, only_this: bool = False
    ) -> Endpoint:
        """Return the endpoint for requests about a queue. Raises `NoBroker`."""
        if not is_static(queue):
            return await self._client.place_of(queue, broker_id, only_this)
        name = self._leader(queue)
        if name is None:
            await self._client.update_route(queue.topic)
            name = self._leader(queue)
        if name is None:
            raise NoBroker(f"no broker leads queue {queue.queue_id} of the static topic {queue.topic}")
        real = MessageQueue(queue.topic, name, queue.queue_id)
        return await self._client.place_of(real, broker_id, only_this)

    async def any_broker(self, topic: str) -> str:
        """Return the address of a broker of a topic. Raises `NoBroker`."""
        return await self._client.any_broker(topic)

    def _leader(self, queue: MessageQueue) -> str | None:
        route = self._client.routes.route(queue.topic)
        return None if route is None else leader(queue, route)

"""Known routes of topics; no I/O.

`RouteTable` keeps the last route of each topic and the addresses of all brokers in them. The queues to send
to and to read from are derived from a route. RocketMQ: `MQClientInstance` (`topicRouteData2TopicPublishInfo`,
`findBrokerAddressIn*`, `cleanOfflineBroker`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from mqgateway.gateway.codec.bodies import MessageQueue, TopicRouteData

MASTER: Final = 0
"""Broker id of a master."""
READABLE: Final = 4
WRITABLE: Final = 2


class Endpoint(NamedTuple):
    """Address of a broker."""

    address: str
    is_slave: bool


class KnownBroker(NamedTuple):
    """Known broker."""

    broker_name: str
    broker_id: int
    address: str


class RouteTable:
    """Routes by topic, and addresses by broker name and id."""

    def __init__(self) -> None:
        self._routes: dict[str, TopicRouteData] = {}
        self._addresses: dict[str, dict[int, str]] = {}

    def route(self, topic: str) -> TopicRouteData | None:
        """Return the last route of a topic."""
        return self._routes.get(topic)

    def update(self, topic: str, route: TopicRouteData) -> bool:
        """Store a route. Returns True if it differs from the previous one."""
        route = _in_order(route)
        for broker in route.broker_datas:
            self._addresses[broker.broker_name] = dict(broker.broker_addrs)
        if self._routes.get(topic) == route:
            return False
        self._routes[topic] = route
        return True

    def forget(self, topic: str) -> None:
        """Remove the route of a topic; addresses stay until `forget_absent`."""
        self._routes.pop(topic, None)

    def forget_absent(self) -> None:
        """Remove the addresses that are no longer in any route."""
        present = {
            address
            for route in self._routes.values()
            for broker in route.broker_datas
            for address in broker.broker_addrs.values()
        }
        for name, known in list(self._addresses.items()):
            kept = {number: address for number, address in known.items() if address in present}
            if kept:
                self._addresses[name] = kept
            else:
                del self._addresses[name]

    def members(self) -> Iterator[KnownBroker]:
        """Yield every known broker."""
        for name, known in list(self._addresses.items()):
            for number, address in sorted(known.items()):
                yield KnownBroker(name, number, address)

    def master(self, broker_name: str) -> str | None:
        """Return the master's address of a broker group; only masters accept messages."""
        return self._addresses.get(broker_name, {}).get(MASTER)

    def reader(self, broker_name: str, broker_id: int = MASTER, only_this: bool = False) -> Endpoint | None:
        """Return the broker to read from.

        It is the one with this id, for a slave also the next id, else any of the group.
        """
        known = self._addresses.get(broker_name)
        if not known:
            return None
        ids = [broker_id] if broker_id == MASTER else [broker_id, broker_id + 1]
        if not only_this:
            ids += sorted(known)
        for number in ids:
            if number in known:
                return Endpoint(known[number], number != MASTER)
        return None

    def anybody(self, topic: str, random: Random) -> str | None:
        """Return any broker of a topic, preferably a master, for requests that each of them can answer."""
        route = self._routes.get(topic)
        brokers = [broker for broker in route.broker_datas if broker.broker_addrs] if route else []
        if not brokers:
            return None
        addresses = random.choice(brokers).broker_addrs
        return addresses.get(MASTER) or random.choice(sorted(addresses.values()))


def queues_to_send(topic: str, route: TopicRouteData) -> list[MessageQueue]:
    """Return the queues to send to, in RocketMQ's order.

    They are those of an ordered topic's configuration, else those of the writable brokers with a master, by
    name.
    """
    if route.order_topic_conf:
        return list(_ordered_queues(topic, route.order_topic_conf))
    masters = {broker.broker_name for broker in route.broker_datas if MASTER in broker.broker_addrs}
    return [
        MessageQueue(topic, queues.broker_name, number)
        for queues in sorted(route.queue_datas, key=lambda one: one.broker_name)
        if queues.perm & WRITABLE and queues.broker_name in masters
        for number in range(queues.write_queue_nums)
    ]


def queues_to_read(topic: str, route: TopicRouteData) -> set[MessageQueue]:
    """Return the readable queues."""
    return {
        MessageQueue(topic, queues.broker_name, number)
        for queues in route.queue_datas
        if queues.perm & READABLE
        for number in range(queues.read_queue_nums)
    }


def as_new_topic(route: TopicRouteData, queue_nums: int) -> TopicRouteData:
    """Derive the route of a new topic from that of its template.

    It has at most `queue_nums` queues on each broker.
    """
    queue_datas = []
    for queues in route.queue_datas:
        count = min(queue_nums, queues.read_queue_nums)
        queue_datas.append(replace(queues, read_queue_nums=count, write_queue_nums=count))
    return replace(route, queue_datas=queue_datas)


def _ordered_queues(topic: str, configuration: str) -> Iterator[MessageQueue]:
    """Parse `broker-a:4;broker-b:2`; malformed parts are ignored."""
    for part in configuration.split(";"):
        name, _, count = part.partition(":")
        if name and count.isascii() and count.isdigit():
            for number in range(int(count)):
                yield MessageQueue(topic, name, number)


def _in_order(route: TopicRouteData) -> TopicRouteData:
    """Return the route with sorted content, so that equal routes compare equal."""
    return replace(
        route,
        queue_datas=sorted(route.queue_datas, key=lambda one: one.broker_name),
        broker_datas=sorted(route.broker_datas, key=lambda one: one.broker_name),
    )

"""QueryRoute and QueryAssignment: the queues of a topic, and the endpoints of their brokers.

Clients get this broker's endpoint as they reached it: the host that they named, with the port they used, or
an advertised address. Another broker is reached at the host it is registered with, on the same port, or the
one that `grpcPortsOfBrokers` lists.
RocketMQ: `RouteActivity`, `ProxyTopicRouteData`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence

from twisted.internet.defer import Deferred

from mqgateway.engine.options.grpc import ports_by_broker
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.codec.bodies import QueueData, TopicRouteData
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import GrpcCall
from mqgateway.gateway.grpc.service.names import checked_group, checked_topic
from mqgateway.gateway.grpc.service.status import OK, CallRefused, Code, topic_not_found

MASTER_ID = 0
ANY_QUEUE = -1
MESSAGE_TYPE = "message.type"
MIXED = "MIXED"
UNSPECIFIED, LITE, NORMAL = "UNSPECIFIED", "LITE", "NORMAL"

_Type = v2.MessageType
ACCEPTED: dict[str, Sequence[v2.MessageType]] = {
    NORMAL: [_Type.NORMAL],
    "FIFO": [_Type.FIFO],
    "DELAY": [_Type.DELAY],
    "TRANSACTION": [_Type.TRANSACTION],
    LITE: [_Type.LITE],
    "PRIORITY": [_Type.PRIORITY],
    MIXED: [_Type.NORMAL, _Type.FIFO, _Type.DELAY, _Type.TRANSACTION],
}
"""Message types of a topic, by the text of its attribute."""


def type_of(config: TopicConfig | None) -> str:
    """Return the type of a topic; NORMAL if it has no attribute."""
    return UNSPECIFIED if config is None else config.attributes.get(MESSAGE_TYPE, NORMAL)


class Routes:
    """Answers for one broker; `port` returns the port on which it serves gRPC."""

    def __init__(self, operations: Operations, port: Callable[[], int]) -> None:
        self._operations = operations
        self._port = port
        self._listed, self._ports = "", dict[str, int]()

    def query_route(self, request: v2.QueryRouteRequest, call: GrpcCall) -> Deferred[v2.QueryRouteResponse]:
        """Return every queue of a topic, on every broker that has it."""
        topic = checked_topic(request.topic)
        accepted = ACCEPTED.get(type_of(self._operations.topics.get(topic)), [_Type.MESSAGE_TYPE_UNSPECIFIED])

        def answered(route: TopicRouteData | None) -> v2.QueryRouteResponse:
            brokers = self._brokers(_there(route, topic), request.endpoints, call)
            queues = [
                v2.MessageQueue(
                    topic=request.topic,
                    id=queue_id,
                    permission=permission,
                    broker=broker,
                    accept_message_types=accepted,
                )
                for data in _there(route, topic).queue_datas
                for broker in brokers.get(data.broker_name, {}).values()
                for queue_id, permission in enumerate(_permissions(data))
            ]
            return v2.QueryRouteResponse(status=OK, message_queues=queues)

        return self._operations.topics.route(topic).addCallback(answered)

    def query_assignment(
        self, request: v2.QueryAssignmentRequest, call: GrpcCall
    ) -> Deferred[v2.QueryAssignmentResponse]:
        """Return a consumer's sources: each master, or each queue if the group consumes in order."""
        topic, name = checked_topic(request.topic), checked_group(request.group)
        group = self._operations.groups.get(name)
        in_order = group is not None and group.consume_message_orderly
        by_queue = in_order and self._operations.groups.bound_topic(name) is None

        def answered(route: TopicRouteData | None) -> v2.QueryAssignmentResponse:
            brokers = self._brokers(_there(route, topic), request.endpoints, call)
            queues = [
                v2.MessageQueue(
                    topic=request.topic, id=queue_id, permission=_permission(data.perm), broker=master
                )
                for data in _there(route, topic).queue_datas
                if data.perm & PERM_READ and data.read_queue_nums > 0
                if (master := brokers.get(data.broker_name, {}).get(MASTER_ID)) is not None
                for queue_id in (range(data.read_queue_nums) if by_queue else [ANY_QUEUE])
            ]
            if not queues:
                raise CallRefused(Code.FORBIDDEN, "no readable queue")
            assignments = [v2.Assignment(message_queue=queue) for queue in queues]
            return v2.QueryAssignmentResponse(status=OK, assignments=assignments)

        return self._operations.topics.route(topic).addCallback(answered)

    def _brokers(
        self, route: TopicRouteData, requested: v2.Endpoints, call: GrpcCall
    ) -> dict[str, dict[int, v2.Broker]]:
        """Return the brokers of a route by name and id, with the endpoints that clients reach."""
        own = self._own_endpoints(requested, call)
        port, ports = own.addresses[0].port, self._ports_of_brokers()
        found: dict[str, dict[int, v2.Broker]] = {}
        for data in route.broker_datas:
            others = ports.get(data.broker_name, port)
            for broker_id, address in data.broker_addrs.items():
                is_own = self._is_own(data.broker_name, broker_id, address)
                endpoints = own if is_own else _endpoints([(address.rpartition(":")[0], others)])
                broker = v2.Broker(name=data.broker_name, id=broker_id, endpoints=endpoints)
                found.setdefault(data.broker_name, {})[broker_id] = broker
        return found

    def _ports_of_brokers(self) -> dict[str, int]:
        """Return the ports of other brokers by name; the setting changes when a broker is added."""
        listed = self._operations.options.grpc_ports_of_brokers
        if listed != self._listed:
            self._listed, self._ports = listed, ports_by_broker(listed)
        return self._ports

    def _is_own(self, name: str, broker_id: int, address: str) -> bool:
        options = self._operations.options
        is_named = (name, broker_id) == (options.broker_name, options.broker_id)
        return is_named or address == self._operations.address

    def _own_endpoints(self, requested: v2.Endpoints, call: GrpcCall) -> v2.Endpoints:
        """Return the endpoints at which this client reaches this broker."""
        options = self._operations.options
        advertised = _host_and_port(options.grpc_advertised_address)
        if advertised is not None:
            return _endpoints([advertised])
        pairs = [(address.host, address.port) for address in requested.addresses if address.host.strip()]
        if not pairs:
            meant = _host_and_port(call.authority)
            pairs = [meant or (call.peer.local_host, call.peer.local_port)]
        if not options.use_endpoint_port_from_request:
            pairs = [(host, self._port()) for host, _ in pairs]
        return _endpoints(pairs)


def _there(route: TopicRouteData | None, topic: str) -> TopicRouteData:
    if route is None:
        raise topic_not_found(topic)
    return route


def _permission(perm: int) -> v2.Permission:
    if perm & PERM_READ:
        return v2.Permission.READ_WRITE if perm & PERM_WRITE else v2.Permission.READ
    return v2.Permission.WRITE if perm & PERM_WRITE else v2.Permission.NONE


def _permissions(data: QueueData) -> Iterator[v2.Permission]:
    """Yield the permissions of the queues of one broker, in the order of their numbers.

    RocketMQ: `RouteActivity.genMessageQueueFromQueueData`, which counts read-only queues first.
    """
    reads = data.read_queue_nums if data.perm & PERM_READ else 0
    writes = data.write_queue_nums if data.perm & PERM_WRITE else 0
    both = min(reads, writes)
    yield from [v2.Permission.READ] * (reads - both)
    yield from [v2.Permission.WRITE] * (writes - both)
    yield from [v2.Permission.READ_WRITE] * both
    if not data.perm & (PERM_READ | PERM_WRITE):
        yield from [v2.Permission.NONE] * max(1, data.read_queue_nums, data.write_queue_nums)


def _host_and_port(text: str) -> tuple[str, int] | None:
    """Split `host:port`; None for another text."""
    host, _, port = text.strip().rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        return None
    return host.strip("[]"), int(port)


def _endpoints(pairs: Sequence[tuple[str, int]]) -> v2.Endpoints:
    """Return endpoints; the first address decides on their scheme."""
    addresses = [v2.Address(host=host.strip("[]"), port=port) for host, port in pairs]
    return v2.Endpoints(scheme=_scheme(addresses[0].host), addresses=addresses)


def _scheme(host: str) -> v2.AddressScheme:
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return v2.AddressScheme.DOMAIN_NAME
    return v2.AddressScheme.IPv4 if version == 4 else v2.AddressScheme.IPv6
